package repdef

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/internal/encoding/values"
)

// A Path leads from a field of a table down to one of its leaves. Each path is one column of a data
// file, except in version 2.0, where the fields on the way are columns, too.
type Path struct {
	Steps []Step // outermost first; none when the field is the leaf
	Leaf  Leaf
}

// RowItems returns the number of a page's items per row of the field: more than one below
// fixed-size lists of structs.
func (p *Path) RowItems() int {
	n := 1
	for _, step := range p.Steps {
		if step.Kind == FixedListStep {
			n *= step.Size
		}
	}
	return n
}

// A Step goes from a nested field to one of its children.
type Step struct {
	Kind     StepKind
	Child    int    // StructStep: position of the member
	Member   string // StructStep: its name
	Size     int    // FixedListStep: items of each list
	Name     string // the nested field, for errors
	Nullable bool   // whether the nested field may be null
}

// A StepKind is the kind of the nested field that a Step starts from.
type StepKind int

// The kinds of steps. A map is a list whose items are structs of a key and a value.
const (
	StructStep    StepKind = iota + 1 // to a member of a struct
	ListStep                          // to the items of a list, large list or map
	FixedListStep                     // to the items of a fixed-size list of structs
)

func (step *Step) mismatch(arr arrow.Array) error {
	return fmt.Errorf("field %q: array of type %s does not fit the schema", step.Name, arr.DataType())
}

// A Leaf is the field at the end of a Path.
type Leaf struct {
	Type     arrow.DataType // storage type; no list, struct or map
	Name     string         // for errors
	Nullable bool
	Packed   bool              // a struct whose rows are stored whole
	Blob     bool              // a packed struct of positions and sizes, in a blob page; for writing 2.1 only
	Metadata map[string]string // storage options of the field; for writing only
}

// CheckLeaf returns an error unless an array has the type of the leaf. An array of string views
// counts as an array of strings.
func CheckLeaf(arr arrow.Array, leaf *Leaf) error {
	if values.SameLeafType(arr.DataType(), leaf.Type) {
		return nil
	}
	return fmt.Errorf("field %q: array of type %s does not fit the schema's %s", leaf.Name, arr.DataType(), leaf.Type)
}

// MaxSteps keeps the number of definition levels below 256.
const MaxSteps = 64
