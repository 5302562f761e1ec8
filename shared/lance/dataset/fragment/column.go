package fragment

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// A part is the set of leaves of a column that one file holds. Most columns have one part; struct
// members that were added later lie in files of their own.
type part struct {
	file  *File
	field *schema.Field // restricted to these leaves if there are other parts
	array arrow.Array   // set once read
}

// Read returns one array per field. It reads each file once, all files in parallel, and takes
// cached columns from the cache.
func (f *Fragment) Read(ctx context.Context, fields []*schema.Field, set Selection) ([]arrow.Array, error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	parts := make([][]part, len(fields))
	wanted := map[*File][]*part{}
	for i, field := range fields {
		var err error
		if parts[i], err = f.parts(field); err != nil {
			return nil, err
		}
		for j := range parts[i] {
			p := &parts[i][j]
			if column, ok := p.file.cached(p.field, set); ok {
				p.array = column
			} else {
				wanted[p.file] = append(wanted[p.file], p)
			}
		}
	}
	group, reading := errgroup.WithContext(ctx) // ends with the group
	for file, parts := range wanted {
		read := func() (err error) {
			defer lance.Contain(func(e error) { err = e })
			return f.readParts(reading, file, parts, set)
		}
		if len(wanted) > 1 {
			group.Go(read)
		} else if err := read(); err != nil {
			return nil, err
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	columns := make([]arrow.Array, len(fields))
	for i, field := range fields {
		err := takeNulls(ctx, field, parts[i], set)
		if err != nil {
			return nil, err
		}
		if columns[i], err = f.join(ctx, field, parts[i], set); err != nil {
			return nil, fmt.Errorf("column %s of fragment %d: %w", field.Name, f.Meta.ID, err)
		}
	}
	return columns, nil
}

// takeNulls reserves memory for the null values of members that no file holds.
func takeNulls(ctx context.Context, field *schema.Field, parts []part, set Selection) error {
	if len(parts) == 1 && parts[0].field == field {
		return nil
	}
	if err := datafile.CheckWidth(field); err != nil {
		return err
	}
	return memory.FromContext(ctx).Take(ctx, int64(datafile.FixedWidth(field.Type)*float64(set.len())))
}

// readParts reads the parts that one file holds.
func (f *Fragment) readParts(ctx context.Context, file *File, parts []*part, set Selection) error {
	if set.Single != nil {
		var err error
		if parts, err = f.takeParts(ctx, file, parts, set); len(parts) == 0 || err != nil {
			return err
		}
	}
	fields := make([]*schema.Field, len(parts))
	for i, p := range parts {
		fields[i] = p.field
	}
	read, err := file.read(ctx, f.Rows, fields, set)
	if err != nil {
		return err
	}
	for i, p := range parts {
		p.array = read[i]
		file.keep(p.field, set, read[i])
	}
	return nil
}

// takeParts fills the parts that are cached as a whole, or should be, and returns the others.
func (f *Fragment) takeParts(ctx context.Context, file *File, parts []*part, set Selection) (others []*part, err error) {
	for _, p := range parts {
		if p.array, err = f.takeWhole(ctx, file, p.field, set.Single); err != nil {
			return nil, err
		}
		if p.array == nil {
			others = append(others, p)
		}
	}
	return others, nil
}

// join makes one array from the parts of a field. In deleted rows the parts may disagree: a member
// added after a deletion is null there. To combine the lists of two files, join therefore drops
// deleted rows and afterwards puts arbitrary values in their place.
func (f *Fragment) join(ctx context.Context, field *schema.Field, parts []part, set Selection) (arrow.Array, error) {
	if len(parts) < 2 || set.Single != nil {
		return join(field, parts, set.len())
	}
	deleted, err := f.Deletions(ctx)
	if err != nil {
		return nil, err
	}
	live := deleted.LivePositions(set.From, set.To)
	switch {
	case live == nil:
		return join(field, parts, set.len())
	case len(live) == 0:
		return take.Nulls(field.Type, set.len()), nil
	}
	alive := slices.Clone(parts)
	for i, p := range parts {
		if alive[i].array, err = take.Array(p.array, live); err != nil {
			return nil, err
		}
	}
	joined, err := join(field, alive, len(live))
	if err != nil {
		return nil, err
	}
	// Deleted rows repeat row 0 of the joined rows.
	back := make([]int32, set.len())
	for i, row := range live {
		back[row] = int32(i)
	}
	return take.Array(joined, back)
}

// join makes one array of n rows from the parts of a field. A field without parts is null.
func join(field *schema.Field, parts []part, n int) (arrow.Array, error) {
	switch {
	case len(parts) == 0 && !field.Nullable && n > 0:
		return nil, fmt.Errorf("%w: %s is not nullable and in no data file", lance.ErrCorrupt, field.Name)
	case len(parts) == 0:
		return take.Nulls(field.Type, n), nil
	case len(parts) == 1 && parts[0].field == field:
		return parts[0].array, nil
	case field.IsLeaf():
		return nil, fmt.Errorf("%w: in several files", lance.ErrCorrupt)
	}
	// Every file stores the structure (validity and offsets) around its leaves, and all files agree
	// on it. The first part provides that of the column.
	for _, p := range parts {
		if p.array.Len() != n {
			return nil, fmt.Errorf("%w: %d and %d rows in its files", lance.ErrCorrupt, n, p.array.Len())
		}
	}
	switch first := parts[0].array.(type) {
	case *array.Struct:
		return joinMembers(field, parts, n)
	case array.ListLike:
		return joinItems(field, parts, first)
	}
	return nil, fmt.Errorf("%w: a column of type %s in several files", lance.ErrUnsupported, field.Type)
}

// joinItems joins the items of lists. All parts must have lists of the same lengths.
func joinItems(field *schema.Field, parts []part, first array.ListLike) (arrow.Array, error) {
	items := make([]part, len(parts))
	for i, p := range parts {
		lists, ok := p.array.(array.ListLike)
		if !ok || !sameLists(first, lists) {
			return nil, fmt.Errorf("%w: lists differ in length between its files", lance.ErrCorrupt)
		}
		items[i] = part{file: p.file, field: p.field.Children[0], array: lists.ListValues()}
	}
	values, err := join(field.Children[0], items, first.ListValues().Len())
	if err != nil {
		return nil, err
	}
	return withChildren(field.Type, first, []arrow.Array{values}), nil
}

// joinMembers joins each struct member from the parts that hold its leaves.
func joinMembers(field *schema.Field, parts []part, n int) (arrow.Array, error) {
	members := make([]arrow.Array, len(field.Children))
	for i, child := range field.Children {
		var here []part
		for _, p := range parts {
			at := slices.IndexFunc(p.field.Children, func(c *schema.Field) bool { return c.ID == child.ID })
			if at >= 0 {
				here = append(here, part{p.file, p.field.Children[at], p.array.(*array.Struct).Field(at)})
			}
		}
		var err error
		if members[i], err = join(child, here, n); err != nil {
			return nil, fmt.Errorf("%s: %w", child.Name, err)
		}
	}
	return withChildren(field.Type, parts[0].array, members), nil
}

// sameLists reports whether two list arrays have equal lengths and nulls, so that their items
// correspond.
func sameLists(a, b array.ListLike) bool {
	for i := range a.Len() {
		aFrom, aTo := a.ValueOffsets(i)
		bFrom, bTo := b.ValueOffsets(i)
		if aFrom != bFrom || aTo != bTo || a.IsNull(i) != b.IsNull(i) {
			return false
		}
	}
	return a.ListValues().Len() == b.ListValues().Len()
}

// withChildren returns an array with the validity and offsets of like and new children.
func withChildren(t arrow.DataType, like arrow.Array, children []arrow.Array) arrow.Array {
	data := make([]arrow.ArrayData, len(children))
	for i, c := range children {
		data[i] = c.Data()
	}
	d := like.Data()
	return array.MakeFromData(array.NewData(t, d.Len(), d.Buffers(), data, d.NullN(), d.Offset()))
}
