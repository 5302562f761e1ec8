package fragment

import (
	"context"
	"encoding/binary"
	"slices"

	"tiltyard/shared/lance/schema"
)

// HoldsAlike reports whether two files hold the same fields in the same columns and have the same
// format version.
func (d *File) HoldsAlike(other *File) bool {
	a, b := d.meta, other.meta
	return a.MajorVersion == b.MajorVersion && a.MinorVersion == b.MinorVersion &&
		slices.Equal(a.Fields, b.Fields) && slices.Equal(a.ColumnIndices, b.ColumnIndices)
}

// AppendHeld appends a key that is equal exactly for files with HoldsAlike.
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

// StoredBytes returns the bytes of each field in the file, and the file's size. The first use reads
// the file's metadata.
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
