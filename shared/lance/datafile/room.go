package datafile

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// maxRowBytes bounds the least number of bytes that a row of one field takes. A hostile schema can
// claim any.
const maxRowBytes = 1 << 28

// roomOf returns a values.Room that charges the context's memory budget. After the end of the
// context it denies every request, which ends the decoding.
func roomOf(ctx context.Context) values.Room {
	share := memory.FromContext(ctx)
	return func(bytes int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return share.Take(ctx, int64(bytes))
	}
}

// takeFixed takes the memory that the rows of a field need whatever their values are.
func (r *fileRead) takeFixed(field *schema.Field) error {
	if err := CheckWidth(field); err != nil {
		return err
	}
	return takeWidth(r.room, field.Type, r.count)
}

// CheckWidth returns [lance.ErrUnsupported] for a field whose fixed-size values take more than 256
// MiB per row.
func CheckWidth(field *schema.Field) error {
	if width := FixedWidth(field.Type); width > maxRowBytes {
		return fmt.Errorf("%w: column %q of type %s takes %.0f bytes in each row; rows of more than %d bytes are not read",
			lance.ErrUnsupported, field.Name, field.Type, width, int64(maxRowBytes))
	}
	return nil
}

// takeWidth takes the memory of n values of a type.
func takeWidth(room values.Room, t arrow.DataType, n int) error {
	return room.Take(int(min(FixedWidth(t)*float64(n), maxBytes)))
}

// maxBytes is more than any share has; it keeps the conversion from a float in range.
const maxBytes = 1 << 60

// FixedWidth returns the bytes of memory that each value of a type takes, whatever the value: the
// offset of a text, for example, but not its bytes.
func FixedWidth(t arrow.DataType) float64 {
	switch t := t.(type) {
	case *arrow.FixedSizeListType:
		return FixedWidth(t.Elem()) * float64(t.Len())
	case *arrow.StructType:
		width := 0.0
		for _, f := range t.Fields() {
			width += FixedWidth(f.Type)
		}
		return width
	case arrow.ExtensionType:
		return FixedWidth(t.StorageType())
	case *arrow.NullType:
		return 0
	case arrow.FixedWidthDataType: // indices of dictionaries, too
		return float64(t.BitWidth()) / 8
	case *arrow.LargeStringType, *arrow.LargeBinaryType, *arrow.LargeListType:
		return 8
	}
	return 4
}
