package dataset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// DropColumns commits that d lacks columns, or members of structs, named by their paths.
// Their values stay in the files. A struct that loses its last member goes too. Indices
// on what is dropped are dropped.
func (d *Dataset) DropColumns(ctx context.Context, paths []string) (*Dataset, error) {
	gone := map[int32]bool{}
	for _, path := range paths {
		chain, err := d.Schema().Resolve(path)
		if err != nil {
			return nil, d.NoColumn(path)
		}
		dropField(chain, gone)
	}
	fields := d.Schema().PB()
	left := slices.DeleteFunc(fields, func(f *pb.Field) bool {
		gone[f.ID] = gone[f.ID] || gone[f.ParentID] // parents come first
		return gone[f.ID]
	})
	return d.Commit(ctx, &pb.Project{Schema: left, PreservesNullability: true})
}

// dropField marks the last field of a path as gone, and those around it that then have
// no member.
func dropField(chain []*schema.Field, gone map[int32]bool) {
	for i := len(chain) - 1; i >= 0; i-- {
		gone[chain[i].ID] = true
		if i == 0 || slices.ContainsFunc(chain[i-1].Children, func(f *schema.Field) bool { return !gone[f.ID] }) {
			return
		}
	}
}

// An Alteration changes a column, or a member of a struct.
type Alteration struct {
	Path     string
	Rename   string         // the new name within its struct; empty keeps it
	Nullable *bool          // nil keeps it
	Type     arrow.DataType // nil keeps it; else all values are cast and written anew
}

// A Cast returns the values of an array as another type, or an error for one that has no
// place in it. Nulls stay null.
type Cast func(ctx context.Context, values arrow.Array, to arrow.DataType) (arrow.Array, error)

// AlterColumns commits alterations of d, together. cast is needed when some change types.
//
// It is operation.ErrInvalid to forbid nulls in a column that has some, to forbid nulls
// and cast in one call, and to cast a column that has an index: drop that first.
func (d *Dataset) AlterColumns(ctx context.Context, alterations []Alteration, cast Cast) (*Dataset, error) {
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return nil, err
	}
	a := &altering{dataset: d, fields: d.Schema().PB(), highest: d.Manifest().MaxFieldID()}
	for _, alteration := range alterations {
		if err := a.alter(ctx, alteration); err != nil {
			return nil, err
		}
	}
	if err := a.recastWhole(); err != nil {
		return nil, err
	}
	s, err := a.schema()
	if err != nil {
		return nil, err
	}
	if len(a.casts) == 0 {
		return d.Commit(ctx, &pb.Project{Schema: a.fields, PreservesNullability: !a.tightened})
	}
	if a.tightened {
		return nil, fmt.Errorf("%w: to forbid nulls and to cast are two calls: cast first", operation.ErrInvalid)
	}
	return a.commitCasts(ctx, s, cast)
}

// altering is a schema while it is altered.
type altering struct {
	dataset   *Dataset
	fields    []*pb.Field
	highest   int32           // field id in use
	casts     map[int32]int32 // ids of fields with a new type: from the old to the new
	tightened bool            // a column may not be null any more
}

func (a *altering) alter(ctx context.Context, alteration Alteration) error {
	chain, err := a.dataset.Schema().Resolve(alteration.Path)
	if err != nil {
		return a.dataset.NoColumn(alteration.Path)
	}
	was := chain[len(chain)-1]
	at := slices.IndexFunc(a.fields, func(f *pb.Field) bool { return f.ID == was.ID })
	if at < 0 {
		return fmt.Errorf("%w: column %s is cast twice", operation.ErrInvalid, alteration.Path)
	}
	f := a.fields[at]
	if alteration.Rename != "" {
		f.Name = alteration.Rename
	}
	if alteration.Nullable != nil {
		if was.Nullable && !*alteration.Nullable {
			if err := a.dataset.refuseNulls(ctx, alteration.Path); err != nil {
				return err
			}
			a.tightened = true
		}
		f.Nullable = *alteration.Nullable
	}
	switch {
	case alteration.Type == nil:
		return nil
	case was.HoldsBlobs():
		return fmt.Errorf("%w: cast column %s, which holds blobs", lance.ErrUnsupported, alteration.Path)
	}
	return a.retype(at, was, alteration.Type)
}

// refuseNulls returns an error when a column has nulls.
func (d *Dataset) refuseNulls(ctx context.Context, path string) error {
	_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{path}})
	if err != nil {
		return err
	}
	for batch, err := range batches {
		if err != nil {
			return err
		}
		if batch.Column(0).NullN() > 0 {
			return fmt.Errorf("%w: column %s holds nulls", operation.ErrInvalid, path)
		}
	}
	return nil
}

// retype replaces a field and what is below it by one of another type, with new ids: who
// has the old schema must not take the new values for the old type's.
func (a *altering) retype(at int, was *schema.Field, to arrow.DataType) error {
	f := a.fields[at]
	if err := a.refuseIndexed(was); err != nil {
		return err
	}
	retyped, err := schema.FromArrowAbove(arrow.NewSchema([]arrow.Field{{Name: f.Name, Type: to, Nullable: f.Nullable}}, nil), a.highest)
	if err != nil {
		return err
	}
	a.highest = retyped.MaxFieldID()
	fresh := retyped.PB()
	fresh[0].ParentID = f.ParentID
	below := 0
	for range (&schema.Schema{Fields: []*schema.Field{was}}).All() {
		below++
	}
	a.fields = slices.Replace(a.fields, at, at+below, fresh...)
	if a.casts == nil {
		a.casts = map[int32]int32{}
	}
	a.casts[was.ID] = fresh[0].ID
	return nil
}

// recastWhole makes of casts of members in legacy data files casts of the columns that they are
// in, with new ids for all fields of those: native readers find no single member of a column
// whose members are in several legacy files, nor pages of files of which a field was replaced.
func (a *altering) recastWhole() error {
	if version, err := a.dataset.Manifest().FileVersion(); err != nil || version != lance.Legacy {
		return err
	}
	for _, column := range a.dataset.Schema().Fields {
		members := &schema.Schema{Fields: column.Children}
		inside := false
		for f := range members.All() {
			_, cast := a.casts[f.ID]
			inside = inside || cast
			delete(a.casts, f.ID)
		}
		if !inside {
			continue
		}
		for f := range (&schema.Schema{Fields: []*schema.Field{column}}).All() {
			if err := a.refuseIndexed(f); err != nil {
				return err
			}
		}
		a.casts[column.ID] = a.renew(column.ID)
	}
	return nil
}

// renew gives new ids to a field and all fields below it, and returns its own.
func (a *altering) renew(id int32) int32 {
	renewed := map[int32]int32{}
	for _, f := range a.fields { // those above come first
		parent, below := renewed[f.ParentID]
		if f.ID != id && !below {
			continue
		}
		a.highest++
		renewed[f.ID] = a.highest
		f.ID = a.highest
		if below {
			f.ParentID = parent
		}
	}
	return renewed[id]
}

// refuseIndexed returns an error when an index depends on a field.
func (a *altering) refuseIndexed(f *schema.Field) error {
	indices, err := a.dataset.Manifest().Indices()
	if err != nil {
		return err
	}
	for _, x := range indices {
		if slices.Contains(x.Fields, f.ID) {
			return fmt.Errorf("%w: column %s has the index %s; drop it before the type is changed", operation.ErrInvalid, f.Name, x.Name)
		}
	}
	return nil
}

// schema returns the altered schema, when it is one.
func (a *altering) schema() (*schema.Schema, error) {
	s, err := schema.FromFields(a.fields, a.dataset.Schema().Metadata)
	if err != nil {
		return nil, err
	}
	for f := range s.All() {
		beside := s.Fields
		if parent := s.ByID(f.ParentID); parent != nil {
			beside = parent.Children
		}
		for _, other := range beside {
			if other != f && other.Name == f.Name {
				return nil, fmt.Errorf("%w: two fields would be %s", operation.ErrInvalid, s.Path(f.ID))
			}
		}
		if f.Name == "" || f.ParentID == -1 && strings.ContainsAny(f.Name, ".`") {
			return nil, fmt.Errorf("%w: %q is not a name for a column", operation.ErrInvalid, f.Name)
		}
		if f.PrimaryKey && f.Nullable {
			return nil, fmt.Errorf("%w: column %s is in the primary key and may not be null", operation.ErrInvalid, s.Path(f.ID))
		}
	}
	return s, nil
}

// commitCasts writes the columns of new types to new files.
func (a *altering) commitCasts(ctx context.Context, s *schema.Schema, cast Cast) (*Dataset, error) {
	d := a.dataset
	reads, writes, nullable, err := a.columns(s)
	if err != nil {
		return nil, err
	}
	files, err := d.writeColumns(ctx, writes, snapshot.ProjectionOf(reads.Fields), func(batch arrow.RecordBatch) ([]arrow.Array, error) {
		return castFields(ctx, batch.Columns(), writes.Fields, cast)
	})
	if err != nil {
		return nil, err
	}
	op := &pb.Merge{Schema: a.fields, SchemaMetadata: d.Schema().Metadata, PreservesNullability: nullable}
	op.Fragments = replaceFields(d.Manifest().Fragments, files.files, s)
	return d.table.commit(ctx, &change{read: d, operation: op, wait: files.puts.Wait})
}

// columns returns what is read and what is written to cast, in one order, and whether all
// of it may be null.
func (a *altering) columns(s *schema.Schema) (reads, writes *schema.Schema, nullable bool, err error) {
	d := a.dataset
	version, err := d.Manifest().FileVersion()
	if err != nil {
		return nil, nil, false, err
	}
	var from, to []string
	nullable = true
	for f := range d.Schema().All() {
		id, ok := a.casts[f.ID]
		if !ok {
			continue
		}
		was, is := f, s.ByID(id)
		top := is
		for top.ParentID >= 0 {
			top = s.ByID(top.ParentID)
		}
		nullable = nullable && is.Nullable && top.Nullable
		if version == lance.V2_0 && top != is {
			// A struct is a column of its own in these files, and its members in one file.
			was, is = d.Schema().ByID(top.ID), top
		}
		from, to = append(from, d.Schema().Path(was.ID)), append(to, s.Path(is.ID))
	}
	if reads, err = d.Schema().Project(from); err != nil {
		return nil, nil, false, err
	}
	writes, err = s.Project(to)
	return reads, writes, nullable, err
}

// replaceFields adds a file to each fragment and leaves out those without a field of s.
// What the new file has of the old fields it has instead of the old files.
func replaceFields(fragments []*pb.Fragment, files []pb.DataFile, s *schema.Schema) []*pb.Fragment {
	const replaced = -2 // in the place of a field's id
	out := make([]*pb.Fragment, len(fragments))
	for i, f := range fragments {
		again := *f
		again.Files = nil
		for _, file := range f.Files {
			file.Fields = slices.Clone(file.Fields) // lists are shared
			for j, id := range file.Fields {
				if slices.Contains(files[i].Fields, id) {
					file.Fields[j] = replaced
				}
			}
			if slices.ContainsFunc(file.Fields, func(id int32) bool { return s.ByID(id) != nil }) {
				again.Files = append(again.Files, file)
			}
		}
		again.Files = append(again.Files, files[i])
		out[i] = &again
	}
	return out
}

// castFields casts columns, or members within them, to the types of fields, which are
// laid out alike: structs stay structs.
func castFields(ctx context.Context, columns []arrow.Array, fields []*schema.Field, cast Cast) ([]arrow.Array, error) {
	out := make([]arrow.Array, len(columns))
	for i, column := range columns {
		var err error
		from, isStruct := column.(*array.Struct)
		switch {
		case arrow.TypeEqual(column.DataType(), fields[i].Type):
			out[i] = column
		case isStruct && fields[i].Type.ID() == arrow.STRUCT:
			out[i], err = castMembers(ctx, from, fields[i], cast)
		default:
			out[i], err = cast(ctx, column, fields[i].Type)
		}
		if err != nil {
			return nil, fmt.Errorf("cast column %s: %w", fields[i].Name, err)
		}
	}
	return out, nil
}

func castMembers(ctx context.Context, from *array.Struct, field *schema.Field, cast Cast) (arrow.Array, error) {
	members := make([]arrow.Array, from.NumField())
	for i := range members {
		members[i] = from.Field(i)
	}
	members, err := castFields(ctx, members, field.Children, cast)
	if err != nil {
		return nil, err
	}
	data := make([]arrow.ArrayData, len(members))
	for i, m := range members {
		data[i] = m.Data()
	}
	valid := make([]byte, bitutil.BytesForBits(int64(from.Len())))
	for i := range from.Len() {
		bitutil.SetBitTo(valid, i, from.IsValid(i))
	}
	return array.NewStructData(array.NewData(field.Type, from.Len(), []*memory.Buffer{memory.NewBufferBytes(valid)}, data, from.NullN(), 0)), nil
}
