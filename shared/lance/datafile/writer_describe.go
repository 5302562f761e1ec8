package datafile

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

// describe stores the blobs of a column and returns the column with descriptions in their place. A
// column without blobs is returned unchanged. live marks the rows that are reachable, neither below
// a null nor left out of a list; only their blobs are stored. A nil live means all rows.
func (w *blobWriter) describe(f *schema.Field, column arrow.Array, live []bool) (arrow.Array, error) {
	if f.IsBlob() {
		return w.describeBlobs(f, column, live)
	}
	if !f.HoldsBlobs() {
		return column, nil
	}
	column = storageArray(column)
	switch c := column.(type) {
	case *array.Struct:
		return w.describeMembers(f, c, live)
	case array.ListLike:
		return w.describeItems(f, c, live)
	}
	return nil, fmt.Errorf("field %q: array of type %s does not hold blobs", f.Name, column.DataType())
}

func storageArray(a arrow.Array) arrow.Array {
	for {
		ext, ok := a.(array.ExtensionArray)
		if !ok {
			return a
		}
		a = ext.Storage()
	}
}

// describeMembers replaces the blobs in a struct's members. Members of null structs count as null.
func (w *blobWriter) describeMembers(f *schema.Field, s *array.Struct, live []bool) (arrow.Array, error) {
	if s.NumField() != len(f.Children) {
		return nil, fmt.Errorf("field %q: array of type %s does not fit the schema", f.Name, s.DataType())
	}
	live = liveRows(s, live)
	members := make([]arrow.ArrayData, s.NumField())
	fields := make([]arrow.Field, s.NumField())
	for i, child := range f.Children {
		member, err := w.describe(child, s.Field(i), live)
		if err != nil {
			return nil, err
		}
		members[i] = member.Data()
		fields[i] = arrow.Field{Name: child.Name, Type: member.DataType(), Nullable: true}
	}
	// The members begin at the struct's first row; so does its validity.
	var valid *memory.Buffer
	if s.NullN() > 0 {
		bits := make([]byte, bitutil.BytesForBits(int64(s.Len())))
		bitutil.CopyBitmap(s.NullBitmapBytes(), s.Data().Offset(), s.Len(), bits, 0)
		valid = memory.NewBufferBytes(bits)
	}
	data := array.NewData(arrow.StructOf(fields...), s.Len(), []*memory.Buffer{valid}, members, s.NullN(), 0)
	return array.NewStructData(data), nil
}

// describeItems replaces the blobs in the items of lists. Items that no live list contains count as
// null.
func (w *blobWriter) describeItems(f *schema.Field, list array.ListLike, live []bool) (arrow.Array, error) {
	live = liveRows(list, live)
	items := list.ListValues()
	liveItems := make([]bool, items.Len())
	for i := range list.Len() {
		if live != nil && !live[i] {
			continue
		}
		from, to := list.ValueOffsets(i)
		for k := from; k < to; k++ {
			liveItems[k] = true
		}
	}
	described, err := w.describe(f.Children[0], items, liveItems)
	if err != nil {
		return nil, err
	}
	var t arrow.DataType = arrow.ListOf(described.DataType())
	if list.DataType().ID() == arrow.LARGE_LIST {
		t = arrow.LargeListOf(described.DataType())
	}
	d := list.Data()
	return array.MakeFromData(array.NewData(t, d.Len(), d.Buffers(), []arrow.ArrayData{described.Data()}, list.NullN(), d.Offset())), nil
}

// liveRows returns live without the rows in which a is null.
func liveRows(a arrow.Array, live []bool) []bool {
	if a.NullN() == 0 {
		return live
	}
	out := make([]bool, a.Len())
	for i := range out {
		out[i] = a.IsValid(i) && (live == nil || live[i])
	}
	return out
}

// describeBlobs stores the values of a blob column and returns their descriptions.
func (w *blobWriter) describeBlobs(f *schema.Field, column arrow.Array, live []bool) (arrow.Array, error) {
	limits, err := limitsOf(f)
	if err != nil {
		return nil, err
	}
	column = storageArray(column)
	in, err := newBlobInput(f, column)
	if err != nil {
		return nil, err
	}
	out := array.NewStructBuilder(memory.DefaultAllocator, f.Described().Type.(*arrow.StructType))
	out.Reserve(column.Len())
	for i := range column.Len() {
		b := Blob{Null: column.IsNull(i) || live != nil && !live[i]}
		if !b.Null {
			if b, err = in.write(w, i, limits); err != nil {
				return nil, fmt.Errorf("field %q: row %d: write blob: %w", f.Name, i, err)
			}
		}
		w.appendDescription(out, b)
	}
	return out.NewArray(), nil
}

// appendDescription appends the description of a blob in the form of the file's version. In version
// 2.0 descriptions are never null; a null value has size 0 and position 1.
func (w *blobWriter) appendDescription(out *array.StructBuilder, b Blob) {
	if b.Null && w.file.version != lance.V2_0 {
		out.AppendNull()
		return
	}
	if b.Null {
		b = Blob{Position: 1}
	}
	out.Append(true)
	if out.NumField() == 5 {
		out.FieldBuilder(0).(*array.Uint8Builder).Append(uint8(b.Kind))
		out.FieldBuilder(1).(*array.Uint64Builder).Append(b.Position)
		out.FieldBuilder(2).(*array.Uint64Builder).Append(b.Size)
		out.FieldBuilder(3).(*array.Uint32Builder).Append(b.ID)
		out.FieldBuilder(4).(*array.StringBuilder).Append(b.URI)
		return
	}
	out.FieldBuilder(0).(*array.Uint64Builder).Append(b.Position)
	out.FieldBuilder(1).(*array.Uint64Builder).Append(b.Size)
}

// A blobInput gives access to the values of a blob column in the forms that callers pass: large
// binaries (or, in version 2.2, binaries), or in version 2.2 structs of
//
//	data large_binary, uri string [, position uint64, size uint64]
//
// In each row either data or uri is set; with a uri, position and size may name a part of that
// object.
type blobInput struct {
	data           arrow.Array
	uri            *array.String // nil: all is data
	position, size *array.Uint64 // nil: no row has them
}

// newBlobInput returns the input for a column, or an error if its type cannot hold blobs.
func newBlobInput(f *schema.Field, column arrow.Array) (blobInput, error) {
	in := blobInput{}
	bad := fmt.Errorf("field %q: array of type %s does not hold blobs", f.Name, column.DataType())
	switch c := column.(type) {
	case *array.LargeBinary:
		in.data = c
		return in, nil
	case *array.Binary:
		in.data = c
		if f.IsBlobV2() {
			return in, nil
		}
	case *array.Struct:
		if f.IsBlobV2() && in.members(c) {
			return in, nil
		}
	}
	return in, bad
}

// members sets the members of a struct. It is false for a struct that does not hold blobs.
func (in *blobInput) members(s *array.Struct) bool {
	for i, member := range s.DataType().(*arrow.StructType).Fields() {
		ok := false
		switch values := s.Field(i); member.Name {
		case "data":
			in.data = values
			_, ok = values.(*array.LargeBinary)
		case "uri":
			in.uri, ok = values.(*array.String)
		case "position":
			in.position, ok = values.(*array.Uint64)
		case "size":
			in.size, ok = values.(*array.Uint64)
		}
		if !ok {
			return false
		}
	}
	return in.data != nil && in.uri != nil && (in.position == nil) == (in.size == nil)
}

// bytes returns the i-th value, which must have data.
func (in *blobInput) bytes(i int) []byte {
	if large, ok := in.data.(*array.LargeBinary); ok {
		return large.Value(i)
	}
	return in.data.(*array.Binary).Value(i)
}

// write stores the i-th value, which is not null, and returns its description.
func (in *blobInput) write(w *blobWriter, i int, l blobLimits) (Blob, error) {
	if in.uri == nil {
		return w.put(in.bytes(i), l)
	}
	position, size := uint64(0), uint64(0)
	hasData, hasPart := in.data.IsValid(i), in.position != nil && in.position.IsValid(i)
	if hasPart {
		position, size = in.position.Value(i), in.size.Value(i)
	}
	switch {
	case hasData == in.uri.IsValid(i):
		return Blob{}, fmt.Errorf("%w: it has data and a uri, or neither", schema.ErrMismatch)
	case in.size != nil && in.size.IsValid(i) != hasPart, hasPart && (hasData || size == 0):
		return Blob{}, fmt.Errorf("%w: position and size go together, with a uri, and size is not 0", schema.ErrMismatch)
	case hasData:
		return w.put(in.bytes(i), l)
	}
	return w.external(in.uri.Value(i), position, size)
}
