package snapshot

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/schema"
	account "tiltyard/shared/process/memory"
)

// blobBatchBytes bounds the blob bytes in a batch of ScanValues. A row with more is a batch by
// itself.
const blobBatchBytes = 32 << 20

// ScanValues scans rows in the form in which they can be written again: blob columns hold values
// instead of descriptions. External blobs stay references, so the rows must be written as Trusted.
// opts.Columns must name whole columns. In a table with blobs, the blob bytes limit the size of a
// batch.
func (s *Snapshot) ScanValues(ctx context.Context, opts ScanOptions) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error) {
	v, err := s.newBlobValues(opts.Columns)
	if err != nil {
		return nil, nil, err
	}
	if !v.any() {
		return s.Scan(ctx, opts)
	}
	opts.Columns = append(slices.Clip(v.names), RowAddr)
	_, batches, err := s.Scan(ctx, opts)
	return v.schema, v.fill(ctx, batches), err
}

// FragmentValues returns all columns and live rows of some fragments like ScanValues, in the order
// of fragments.
func (s *Snapshot) FragmentValues(ctx context.Context, fragments []*fragment.Fragment) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error) {
	v, err := s.newBlobValues(nil)
	if err != nil {
		return nil, nil, err
	}
	names := v.names
	if v.any() {
		names = append(slices.Clip(names), RowAddr)
	}
	p, err := s.Project(names)
	if err != nil {
		return nil, nil, err
	}
	batches, err := s.scanFragments(ctx, p, fragments)
	if v.any() {
		batches = v.fill(ctx, batches)
	}
	return v.schema, batches, err
}

// TakeValues takes rows in the form of ScanValues. All of them are in memory at once; see
// FitValues.
func (s *Snapshot) TakeValues(ctx context.Context, columns []string, addresses []uint64) (arrow.RecordBatch, error) {
	v, err := s.newBlobValues(columns)
	if err != nil {
		return nil, err
	}
	batch, err := s.Take(ctx, columns, addresses)
	if err != nil || !v.any() {
		return batch, err
	}
	return v.values(ctx, batch, addresses)
}

// FitValues returns how many of the first addresses one call of TakeValues may take, at least one,
// so that their blobs fit blobBatchBytes.
func (s *Snapshot) FitValues(ctx context.Context, columns []string, addresses []uint64) (int, error) {
	v, err := s.newBlobValues(columns)
	if err != nil || !v.any() || len(addresses) == 0 {
		return len(addresses), err
	}
	batch, err := s.Take(ctx, columns, addresses)
	if err != nil {
		return 0, err
	}
	sizes, err := v.sizes(batch)
	return fitting(sizes), err
}

// blobValues replaces blob descriptions by values.
type blobValues struct {
	snapshot *Snapshot
	names    []string
	fields   []*schema.Field // nil: a row column
	schema   *arrow.Schema   // with values instead of descriptions
}

// newBlobValues resolves whole columns by name (nil: all) and rejects blobs that cannot be read.
func (s *Snapshot) newBlobValues(names []string) (*blobValues, error) {
	if names == nil {
		for _, f := range s.Schema().Fields {
			names = append(names, f.Name)
		}
	}
	v := &blobValues{snapshot: s, names: names}
	all := s.Schema().BlobValues()
	var fields []arrow.Field
	for _, name := range names {
		f := s.Schema().Field(name)
		v.fields = append(v.fields, f)
		if f == nil {
			field, err := s.Column(name)
			if err != nil {
				return nil, err
			}
			fields = append(fields, field)
			continue
		}
		if err := checkBlobs(f, name); err != nil {
			return nil, err
		}
		fields = append(fields, all.Field(all.FieldIndices(name)[0]))
	}
	metadata := all.Metadata()
	v.schema = arrow.NewSchema(fields, &metadata)
	return v, nil
}

// checkBlobs rejects fields with blob metadata whose type holds no bytes. Any writer can put
// metadata on any field, and such values cannot be read.
func checkBlobs(f *schema.Field, name string) error {
	kind := arrow.LARGE_BINARY
	if f.IsBlobV2() {
		kind = arrow.STRUCT
	}
	if f.IsBlob() && f.Type.ID() != kind {
		return fmt.Errorf("%w: column %s of type %s has metadata that makes blobs of its values: remove the metadata", lance.ErrUnsupported, name, f.Type)
	}
	for _, child := range f.Children {
		if err := checkBlobs(child, name+"."+child.Name); err != nil {
			return err
		}
	}
	return nil
}

// any reports whether a column holds blobs.
func (v *blobValues) any() bool { return slices.ContainsFunc(v.fields, holdsBlobs) }

func holdsBlobs(f *schema.Field) bool { return f != nil && f.HoldsBlobs() }

// fill replaces descriptions by values. Its batches have the row addresses as an extra last column.
func (v *blobValues) fill(ctx context.Context, batches iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range batches {
			var sizes []int64
			if err == nil {
				sizes, err = v.sizes(batch)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for from := 0; from < len(sizes); {
				n := fitting(sizes[from:])
				part := batch.NewSlice(int64(from), int64(from+n))
				addresses := part.Column(len(v.names)).(*array.Uint64).Uint64Values()
				hold, err := account.Take(ctx, 2*sum(sizes[from:from+n])) // the bytes read and their copy in the batch
				var values arrow.RecordBatch
				if err == nil {
					values, err = v.values(ctx, part, addresses)
				}
				more := yield(values, err)
				hold.Release()
				if !more || err != nil {
					return
				}
				from += n
			}
		}
	}
}

// fitting returns how many rows with these blob sizes make a batch.
func fitting(sizes []int64) int {
	total := int64(0)
	for i, size := range sizes {
		if total += size; total > blobBatchBytes && i > 0 {
			return i
		}
	}
	return len(sizes)
}

func sum(sizes []int64) int64 {
	total := int64(0)
	for _, n := range sizes {
		total += n
	}
	return total
}

// sizes returns the blob bytes of each row of a batch. External blobs count zero.
func (v *blobValues) sizes(batch arrow.RecordBatch) ([]int64, error) {
	sizes := make([]int64, batch.NumRows())
	rows := make([]int, batch.NumRows())
	for i := range rows {
		rows[i] = i
	}
	for i, f := range v.fields {
		if err := addSizes(f, batch.Column(i), rows, sizes); err != nil {
			return nil, fmt.Errorf("column %s: %w", v.names[i], err)
		}
	}
	return sizes, nil
}

// addSizes adds the sizes of the blobs in a column to sizes. The i-th value belongs to row rows[i],
// or to no row if that is negative.
func addSizes(f *schema.Field, column arrow.Array, rows []int, sizes []int64) error {
	if !holdsBlobs(f) {
		return nil
	}
	if f.IsBlob() {
		blobs, err := datafile.Blobs(column)
		if err != nil {
			return err
		}
		for i, b := range blobs {
			if b.Null || b.Kind == datafile.ExternalBlob || rows[i] < 0 {
				continue
			}
			if b.Size > maxBlobBytes {
				return fmt.Errorf("%w: a blob of %d bytes", lance.ErrUnsupported, b.Size)
			}
			sizes[rows[i]] += int64(b.Size)
		}
		return nil
	}
	switch c := column.(type) {
	case *array.Struct:
		for i, child := range f.Children {
			if err := addSizes(child, c.Field(i), rows, sizes); err != nil {
				return err
			}
		}
	case array.ListLike:
		return addSizes(f.Children[0], c.ListValues(), itemRows(c, rows), sizes)
	}
	return nil
}

// maxBlobBytes bounds the size of a blob that is read as a whole.
const maxBlobBytes = 1 << 40

// itemRows maps each item of a list column to the row of its list, or to −1 if no list contains it.
func itemRows(lists array.ListLike, rows []int) []int {
	out := make([]int, lists.ListValues().Len())
	for i := range out {
		out[i] = -1
	}
	for i := range lists.Len() {
		from, to := lists.ValueOffsets(i)
		for k := from; k < to && lists.IsValid(i); k++ {
			out[k] = rows[i]
		}
	}
	return out
}

// values returns the columns of v with values in place of descriptions. Further columns of the
// batch are dropped.
func (v *blobValues) values(ctx context.Context, batch arrow.RecordBatch, addresses []uint64) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(v.fields))
	rows := make([]int, len(addresses))
	for i := range rows {
		rows[i] = i
	}
	for i, f := range v.fields {
		var err error
		if columns[i], err = v.valuesOf(ctx, f, v.schema.Field(i).Type, batch.Column(i), rows, addresses); err != nil {
			return nil, fmt.Errorf("column %s: %w", v.names[i], err)
		}
	}
	return array.NewRecordBatch(v.schema, columns, batch.NumRows()), nil
}

// valuesOf converts one column to type t, which has values in place of descriptions. rows is as in
// addSizes.
func (v *blobValues) valuesOf(ctx context.Context, f *schema.Field, t arrow.DataType, column arrow.Array, rows []int, addresses []uint64) (arrow.Array, error) {
	if !holdsBlobs(f) {
		return column, nil
	}
	if f.IsBlob() {
		return v.read(ctx, f, t, column, rows, addresses)
	}
	d := column.Data()
	switch c := column.(type) {
	case *array.Struct:
		members := make([]arrow.ArrayData, len(f.Children))
		for i, child := range f.Children {
			member, err := v.valuesOf(ctx, child, t.(*arrow.StructType).Field(i).Type, c.Field(i), rows, addresses)
			if err != nil {
				return nil, err
			}
			members[i] = member.Data()
		}
		return array.NewStructData(array.NewData(t, c.Len(), []*memory.Buffer{validity(c)}, members, c.NullN(), 0)), nil
	case array.ListLike:
		items, err := v.valuesOf(ctx, f.Children[0], t.(arrow.ListLikeType).Elem(), c.ListValues(), itemRows(c, rows), addresses)
		if err != nil {
			return nil, err
		}
		return array.MakeFromData(array.NewData(t, d.Len(), d.Buffers(), []arrow.ArrayData{items.Data()}, c.NullN(), d.Offset())), nil
	}
	return nil, fmt.Errorf("%w: blobs in a column of type %s", lance.ErrUnsupported, column.DataType())
}

// validity copies an array's validity bits so that they start at its first row. Nil means no nulls.
func validity(a arrow.Array) *memory.Buffer {
	if a.NullN() == 0 {
		return nil
	}
	bits := make([]byte, bitutil.BytesForBits(int64(a.Len())))
	bitutil.CopyBitmap(a.NullBitmapBytes(), a.Data().Offset(), a.Len(), bits, 0)
	return memory.NewBufferBytes(bits)
}

// read reads the blobs described by a column.
func (v *blobValues) read(ctx context.Context, f *schema.Field, t arrow.DataType, column arrow.Array, rows []int, addresses []uint64) (arrow.Array, error) {
	described, err := datafile.Blobs(column)
	if err != nil {
		return nil, err
	}
	blobs := make([]Blob, len(described))
	inside := make([]Blob, len(described)) // external blobs are null here, because they are not read
	for i, b := range described {
		blobs[i] = Blob{Blob: b, snapshot: v.snapshot}
		blobs[i].Null = b.Null || rows[i] < 0
		if !blobs[i].Null {
			blobs[i].file = v.snapshot.Fragment(addresses[rows[i]] >> 32).FileOf(f)
			blobs[i].Null = blobs[i].file == nil
		}
		inside[i] = blobs[i]
		inside[i].Null = blobs[i].Null || b.Kind == datafile.ExternalBlob
	}
	contents, err := v.snapshot.Contents(ctx, inside)
	if err != nil {
		return nil, err
	}
	if t.ID() == arrow.STRUCT {
		return v.structs(t.(*arrow.StructType), blobs, contents)
	}
	out := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.LargeBinary)
	for i, content := range contents {
		if blobs[i].Null {
			out.AppendNull()
		} else {
			out.Append(content)
		}
	}
	return out.NewArray(), nil
}

// structs builds a blob v2 column as it is written: structs of data, uri, position and size.
func (v *blobValues) structs(t *arrow.StructType, blobs []Blob, contents [][]byte) (arrow.Array, error) {
	out := array.NewStructBuilder(memory.DefaultAllocator, t)
	data, uri := out.FieldBuilder(0).(*array.BinaryBuilder), out.FieldBuilder(1).(*array.StringBuilder)
	position, size := out.FieldBuilder(2).(*array.Uint64Builder), out.FieldBuilder(3).(*array.Uint64Builder)
	for i, b := range blobs {
		switch {
		case b.Null:
			out.AppendNull()
			continue
		case b.Kind != datafile.ExternalBlob:
			data.Append(contents[i])
			uri.AppendNull()
		default:
			at, err := v.uri(b)
			if err != nil {
				return nil, err
			}
			data.AppendNull()
			uri.Append(at)
		}
		out.Append(true)
		if b.Kind != datafile.ExternalBlob || b.Position == 0 && b.Size == 0 {
			position.AppendNull()
			size.AppendNull()
		} else {
			position.Append(b.Position)
			size.Append(b.Size)
		}
	}
	return out.NewArray(), nil
}

// uri returns the absolute URI of an external blob.
func (v *blobValues) uri(b Blob) (string, error) {
	if b.ID == 0 {
		return b.URI, nil
	}
	for _, base := range v.snapshot.manifest.BasePaths {
		if base.ID == b.ID {
			return strings.TrimSuffix(base.Path, "/") + "/" + b.URI, nil
		}
	}
	return "", fmt.Errorf("%w: a blob below base path %d, which does not exist", lance.ErrCorrupt, b.ID)
}
