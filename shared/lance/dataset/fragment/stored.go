package fragment

import (
	"context"
	"encoding/binary"
	"slices"

	"tiltyard/shared/lance/schema"
)

// HoldsAlike says whether two files hold the same fields, in the same columns, of the same version
// of the format.
func (d *File) HoldsAlike(other *File) bool {
	a, b := d.meta, other.meta
	return a.MajorVersion == b.MajorVersion && a.MinorVersion == b.MinorVersion &&
		slices.Equal(a.Fields, b.Fields) && slices.Equal(a.ColumnIndices, b.ColumnIndices)
}

// AppendHeld appends what two files have in common that hold alike.
func (d *File) AppendHeld(b []byte) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(d.meta.MajorVersion)), uint64(d.meta.MinorVersion))
	b = binary.AppendUvarint(b, uint64(len(d.meta.Fields)))
	for _, list := range [][]int32{d.meta.Fields, d.meta.ColumnIndices} {
		for _, n := range list {
			b = binary.AppendVarint(b, int64(n))
		}
	}
	return b
}

// StoredBytes returns how many bytes of the file each field takes, and the size of the file. The first
// use of a file reads its metadata.
func (d *File) StoredBytes(ctx context.Context, fields []*schema.Field) (byField []int64, size int64, err error) {
	opened, err := d.open(ctx)
	if err != nil {
		return nil, 0, err
	}
	byField = make([]int64, len(fields))
	for i, field := range fields {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		if !d.holds(field) && !isLegacy(d.meta) {
			continue
		}
		if byField[i], err = opened.StoredBytes(ctx, field); err != nil {
			return nil, 0, err
		}
	}
	return byField, opened.Size(), nil
}
