package datafile

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/memory"
)

// maxRowBytes bounds what a row of one field takes at least, which a hostile schema may
// claim.
const maxRowBytes = 1 << 28

// roomOf returns the room that the share of a context has. It refuses all when the context
// has ended, so that decoding ends then, too.
func roomOf(ctx context.Context) encoding.Room {
	share := memory.FromContext(ctx)
	return func(bytes int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return share.Take(ctx, int64(bytes))
	}
}

// takeFixed takes the memory that the rows of a field take whatever they are.
func (r *fileRead) takeFixed(field *schema.Field) error {
	if err := CheckWidth(field); err != nil {
		return err
	}
	return takeWidth(r.room, field.Type, r.count)
}

// CheckWidth returns an error that is [lance.ErrUnsupported] for a field of which no row can
// be read because it would take more than 256 MiB, whatever is in it.
func CheckWidth(field *schema.Field) error {
	if width := FixedWidth(field.Type); width > maxRowBytes {
		return fmt.Errorf("%w: column %q of type %s takes %.0f bytes in each row; rows of more than %d bytes are not read",
			lance.ErrUnsupported, field.Name, field.Type, width, int64(maxRowBytes))
	}
	return nil
}

// takeWidth takes the memory of n values of a type.
func takeWidth(room encoding.Room, t arrow.DataType, n int) error {
	return room.Take(int(min(FixedWidth(t)*float64(n), maxBytes)))
}

// maxBytes is more than any share has.
const maxBytes = 1 << 60

// FixedWidth returns the bytes that a value of a type takes whatever it is.
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
