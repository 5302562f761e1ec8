package alter

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/schema"
)

// CastFields casts columns, or their members, to the types of fields. Structs stay structs, also
// inside lists.
func CastFields(ctx context.Context, columns []arrow.Array, fields []*schema.Field, cast Cast) ([]arrow.Array, error) {
	out := make([]arrow.Array, len(columns))
	for i, column := range columns {
		var err error
		from, isStruct := column.(*array.Struct)
		switch {
		case arrow.TypeEqual(column.DataType(), fields[i].Type):
			out[i] = column
		case isStruct && fields[i].Type.ID() == arrow.STRUCT:
			out[i], err = castMembers(ctx, from, fields[i], cast)
		case isListOfStructs(column.DataType()) && column.DataType().ID() == fields[i].Type.ID():
			out[i], err = castElements(ctx, column.(array.ListLike), fields[i], cast)
		default:
			out[i], err = cast(ctx, column, fields[i].Type)
		}
		if err != nil {
			return nil, fmt.Errorf("cast column %s: %w", fields[i].Name, err)
		}
	}
	return out, nil
}

// isListOfStructs reports whether a type is a list of structs, at any list depth.
func isListOfStructs(t arrow.DataType) bool {
	if id := t.ID(); id != arrow.LIST && id != arrow.LARGE_LIST {
		return false
	}
	elem := t.(arrow.ListLikeType).Elem()
	return elem.ID() == arrow.STRUCT || isListOfStructs(elem)
}

// castElements casts the elements of lists and keeps the list structure. It casts only elements
// that a list refers to.
func castElements(ctx context.Context, from array.ListLike, field *schema.Field, cast Cast) (arrow.Array, error) {
	var first, end int64
	if n := from.Len(); n > 0 {
		first, _ = from.ValueOffsets(0)
		_, end = from.ValueOffsets(n - 1)
	}
	elements, err := CastFields(ctx, []arrow.Array{array.NewSlice(from.ListValues(), first, end)}, field.Children, cast)
	if err != nil {
		return nil, err
	}
	// The sliced elements begin at 0, so offsets are relative to first.
	valid := make([]byte, bitutil.BytesForBits(int64(from.Len())))
	var offsets []byte
	add := func(offset int64) {
		if field.Type.ID() == arrow.LARGE_LIST {
			offsets = binary.LittleEndian.AppendUint64(offsets, uint64(offset-first))
		} else {
			offsets = binary.LittleEndian.AppendUint32(offsets, uint32(offset-first))
		}
	}
	add(first)
	for i := range from.Len() {
		bitutil.SetBitTo(valid, i, from.IsValid(i))
		_, to := from.ValueOffsets(i)
		add(to)
	}
	buffers := []*memory.Buffer{memory.NewBufferBytes(valid), memory.NewBufferBytes(offsets)}
	data := array.NewData(field.Type, from.Len(), buffers, []arrow.ArrayData{elements[0].Data()}, from.NullN(), 0)
	return array.MakeFromData(data), nil
}

// castMembers casts the members of structs and keeps their validity.
func castMembers(ctx context.Context, from *array.Struct, field *schema.Field, cast Cast) (arrow.Array, error) {
	members := make([]arrow.Array, from.NumField())
	for i := range members {
		members[i] = from.Field(i)
	}
	members, err := CastFields(ctx, members, field.Children, cast)
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
