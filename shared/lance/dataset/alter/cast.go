package alter

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/schema"
)

// CastFields casts columns, or members within them, to the types of fields, which are
// laid out alike: structs stay structs.
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
