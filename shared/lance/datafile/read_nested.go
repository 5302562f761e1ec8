package datafile

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/schema"
)

// plan plans the read of a field of version 2.1 or 2.2. There only leaves are columns, and the
// levels of each leaf hold the structure of all fields around it. The steps in above lead down to
// the field.
func (r *fileRead) plan(field *schema.Field, above []repdef.Step) (fieldRead, error) {
	if !field.IsLeaf() {
		return r.planNested(field, above)
	}
	c, err := r.file.columnOf(field, above, r.room)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nullField{field.Type, r.room}, nil
	}
	path := &repdef.Path{
		Steps: append([]repdef.Step(nil), above...),
		Leaf:  repdef.Leaf{Type: field.Type, Name: field.Name, Nullable: field.Nullable},
	}
	task, err := newLeafTask(r.file, c, path, r.rows, r.count)
	if err != nil {
		return nil, err
	}
	task.room = r.room
	r.tasks = append(r.tasks, task)
	return task, nil
}

// planNested plans the children of a nested field and takes its structure from the first leaf that
// has a column.
func (r *fileRead) planNested(field *schema.Field, above []repdef.Step) (fieldRead, error) {
	step, err := stepFrom(field)
	if err != nil {
		return nil, err
	}
	nested := &nestedField{field: field, kind: step.Kind, size: step.Size, depth: len(above)}
	for i, child := range field.Children {
		step.Child, step.Member = i, child.Name
		read, err := r.plan(child, append(above, step))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", child.Name, err)
		}
		nested.children = append(nested.children, read)
	}
	nested.leaf = firstLeaf(nested.children)
	if nested.leaf == nil {
		return nullField{field.Type, r.room}, nil
	}
	nested.leaf.structure = true
	return nested, nil
}

// stepFrom returns the step from a field with children to one of them.
func stepFrom(field *schema.Field) (repdef.Step, error) {
	step := repdef.Step{Name: field.Name, Nullable: field.Nullable}
	switch t := storageType(field.Type).(type) {
	case *arrow.StructType:
		step.Kind = repdef.StructStep
	case *arrow.ListType, *arrow.LargeListType, *arrow.MapType:
		step.Kind = repdef.ListStep
	case *arrow.FixedSizeListType:
		step.Kind, step.Size = repdef.FixedListStep, int(t.Len())
	default:
		return step, fmt.Errorf("%w: field %q of type %s with children", lance.ErrUnsupported, field.Name, field.Type)
	}
	return step, nil
}

// A nullField is a field without a column in the file; all its rows are null.
type nullField struct {
	t    arrow.DataType
	room values.Room
}

// array returns n nulls and charges their memory.
func (f nullField) array(n int) (arrow.Array, error) {
	if err := takeWidth(f.room, f.t, n); err != nil {
		return nil, err
	}
	return take.Nulls(f.t, n), nil
}

// A nestedField is a field with children, at least one of which has a column in the file. The first
// such leaf provides the structure of the field.
type nestedField struct {
	field    *schema.Field
	kind     repdef.StepKind
	size     int // of fixed-size lists
	depth    int // fields around it
	children []fieldRead
	leaf     *leafTask
}

// firstLeaf returns the first leaf among fields that the file has.
func firstLeaf(fields []fieldRead) *leafTask {
	for _, f := range fields {
		switch f := f.(type) {
		case *leafTask:
			return f
		case *nestedField:
			return f.leaf
		}
	}
	return nil
}

// array assembles the field from its children: n lists, structs or fixed-size lists with the
// offsets and validity of the first leaf.
func (f *nestedField) array(n int) (arrow.Array, error) {
	node := f.leaf.result.Nodes[f.depth]
	if node.Len != n {
		return nil, fmt.Errorf("%w: column %d has %d items where others have %d", lance.ErrCorrupt, f.leaf.column.index, node.Len, n)
	}
	items := n
	switch f.kind {
	case repdef.ListStep:
		items = int(node.Offsets[n])
	case repdef.FixedListStep:
		items = n * f.size
	}
	children := make([]arrow.ArrayData, len(f.children))
	for i, child := range f.children {
		a, err := child.array(items)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", f.field.Children[i].Name, err)
		}
		children[i] = a.Data()
	}
	if storageType(f.field.Type).ID() == arrow.MAP && hasNullKeys(children[0]) {
		return nil, fmt.Errorf("%w: column %d: map with a null entry or key", lance.ErrCorrupt, f.leaf.column.index)
	}
	return nestedArray(f.field.Type, &node, children), nil
}

// hasNullKeys reports whether entries of a map, or their keys, are null.
func hasNullKeys(entries arrow.ArrayData) bool {
	return entries.NullN() > 0 || len(entries.Children()) != 2 || entries.Children()[0].NullN() > 0
}

// nestedArray returns an array of structs, lists, maps or fixed-size lists.
func nestedArray(t arrow.DataType, node *repdef.Node, children []arrow.ArrayData) arrow.Array {
	buffers := []*memory.Buffer{nil}
	if node.Valid != nil {
		buffers[0] = memory.NewBufferBytes(node.Valid)
	}
	switch storageType(t).(type) {
	case *arrow.ListType, *arrow.MapType:
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(node.Offsets)))
	case *arrow.LargeListType:
		wide := make([]int64, len(node.Offsets))
		for i, offset := range node.Offsets {
			wide[i] = int64(offset)
		}
		buffers = append(buffers, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(wide)))
	}
	return array.MakeFromData(array.NewData(t, node.Len, buffers, children, node.Nulls, 0))
}
