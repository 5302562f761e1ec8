package schema

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// ErrMismatch means that incoming data do not have the schema of the table.
var ErrMismatch = errors.New("schema mismatch")

// A Match maps the columns of incoming Arrow data to fields of a table.
type Match struct {
	// Schema holds the table's fields that occur in the data, in table order and with the table's
	// ids. The other fields, all nullable, read as null.
	Schema *Schema

	columns []source // one per field of Schema
}

// A source is the place of a field's values: their position among the incoming columns, or
// among the members of the incoming struct.
type source struct {
	at       int
	children []source // one per child of the field, when it has any
}

// Match maps an incoming schema to the fields of the table. It matches columns and members
// of structs by name, in any order. A nullable field may be absent. Names of list items,
// metadata, and nullability may differ, and JSON may be any text; [Match.Columns] finds
// nulls where the table allows none. A field that is unknown or occurs twice, an absent
// field that is not nullable, or another type is [ErrMismatch]; the error names the field
// and both types.
func (s *Schema) Match(incoming *arrow.Schema) (*Match, error) {
	return s.match(incoming, false, false)
}

// MatchSome matches new values of existing rows. Any column and any struct member may be absent.
func (s *Schema) MatchSome(incoming *arrow.Schema) (*Match, error) {
	return s.match(incoming, true, true)
}

// MatchMembers matches rows, some of which exist. Any struct member may be absent, but no required
// column.
func (s *Schema) MatchMembers(incoming *arrow.Schema) (*Match, error) {
	return s.match(incoming, false, true)
}

// match maps incoming columns to fields. The flags allow absent columns and absent members.
func (s *Schema) match(incoming *arrow.Schema, someColumns, someMembers bool) (*Match, error) {
	fields, sources, err := matchFields("", s.Fields, incoming.Fields(), someColumns, someMembers)
	if err != nil {
		return nil, err
	}
	return &Match{
		Schema:  &Schema{Fields: fields, Metadata: cloneMetadata(s.Metadata)},
		columns: sources,
	}, nil
}

// matchFields matches the members of the table's field at path, or its columns. If some is true,
// required fields may be absent; if members is true, so may required fields below them.
func matchFields(path string, want []*Field, have []arrow.Field, some, members bool) ([]*Field, []source, error) {
	at := make(map[string]int, len(have))
	for i, h := range have {
		if _, doubled := at[h.Name]; doubled {
			return nil, nil, fmt.Errorf("%w: two fields %s", ErrMismatch, join(path, h.Name))
		}
		if byName(want, h.Name) == nil {
			return nil, nil, fmt.Errorf("%w: the table has no field %s (the data has it as %s)", ErrMismatch, join(path, h.Name), h.Type)
		}
		at[h.Name] = i
	}
	var fields []*Field
	var sources []source
	for _, w := range want {
		i, ok := at[w.Name]
		if !ok {
			if !w.Nullable && !some {
				return nil, nil, fmt.Errorf("%w: field %s is missing and cannot be null", ErrMismatch, join(path, w.Name))
			}
			continue
		}
		f, children, err := matchField(join(path, w.Name), w, have[i], members)
		if err != nil {
			return nil, nil, err
		}
		fields = append(fields, f)
		sources = append(sources, source{at: i, children: children})
	}
	return fields, sources, nil
}

func join(path, name string) string {
	if path == "" {
		return FormatPath(name)
	}
	return path + "." + FormatPath(name)
}

// matchField matches one field, and returns it with the children that the data have.
func matchField(path string, want *Field, have arrow.Field, members bool) (*Field, []source, error) {
	have = storageField(have)
	differ := func() error {
		return fmt.Errorf("%w: field %s is %s in the table and %s in the data", ErrMismatch, path, describe(want), have.Type)
	}
	if want.IsBlobV2() {
		if !holdsBlobs(have) {
			return nil, nil, differ()
		}
		return want, nil, matchBlobSizes(path, want, have)
	}
	name, ok := logicalName(have.Type)
	isText := have.Type.ID() == arrow.STRING || have.Type.ID() == arrow.LARGE_STRING
	if want.IsJSON() && isText || isJSON(have) && !isText {
		name = "json" // also of text that is not marked as JSON, as clients send it
	}
	if want.HoldsBlobsV2() {
		name, ok = logicalName(blobV2(have).Type)
	}
	if !ok || name != want.LogicalType || hasView(have.Type) {
		return nil, nil, differ()
	}
	if len(want.Children) == 0 {
		return want, nil, nil
	}
	found := *want
	var sources []source
	var err error
	if want.LogicalType == "struct" {
		found.Children, sources, err = matchFields(path, want.Children, arrowChildren(have.Type), members, members)
	} else {
		found.Children, sources, err = matchItem(path, want, arrowChildren(have.Type)[0], members)
	}
	if err != nil {
		return nil, nil, err
	}
	if len(found.Children) == 0 {
		return nil, nil, differ()
	}
	return &found, sources, found.resolve()
}

// matchItem matches the one child of a list or map, whatever its name, and likewise the two
// members of a map's entries.
func matchItem(path string, want *Field, have arrow.Field, members bool) ([]*Field, []source, error) {
	item := want.Children[0]
	if entries, ok := have.Type.(*arrow.StructType); ok && want.LogicalType == "map" {
		members := entries.Fields()
		for i := range members {
			members[i].Name = item.Children[i].Name
		}
		have.Type = arrow.StructOf(members...)
	}
	f, below, err := matchField(join(path, item.Name), item, have, members)
	return []*Field{f}, []source{{children: below}}, err
}

// hasView reports whether values of the type are stored as views. Views have the logical type of
// strings and binaries, but other buffers.
func hasView(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.StringViewType, *arrow.BinaryViewType:
		return true
	case *arrow.DictionaryType:
		return hasView(t.ValueType)
	}
	return false
}

func describe(f *Field) string {
	if f.IsJSON() {
		return "json"
	}
	return f.Type.String()
}
