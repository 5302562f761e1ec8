package datafile

import (
	"context"
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// NumColumns returns the number of the file's physical columns.
func (f *File) NumColumns() int { return len(f.tables) }

// GlobalBufferSize returns the length of a global buffer in bytes, 0 if the file does not have it.
func (f *File) GlobalBufferSize(i int) int64 {
	if i < 0 || i >= len(f.globals) {
		return 0
	}
	return f.globals[i].size
}

// ColumnMetadata returns the description of a physical column as it is stored: its pages with their
// buffers and encodings, without further checks. It serves tools that display files. It makes no
// request, because the metadata of all columns is in memory. The encodings share memory with the
// file and must not be changed.
//
// Metadata that cannot be parsed is [lance.ErrCorrupt].
func (f *File) ColumnMetadata(index int) (*pb.ColumnMetadata, error) {
	if index < 0 || index >= len(f.tables) {
		return nil, fmt.Errorf("%w: no column %d of %d in data file %s", lance.ErrCorrupt, index, len(f.tables), f.key)
	}
	m, err := f.columnMetadata(int32(index), nil)
	if err != nil {
		return nil, fmt.Errorf("column %d of data file %s: %w", index, f.key, err)
	}
	return m, nil
}

// StoredBytes returns the size of a field's pages in the file, nested fields included and blob
// contents excluded. It makes no request.
func (f *File) StoredBytes(ctx context.Context, field *schema.Field) (int64, error) {
	total := uint64(0)
	seen := map[int32]bool{}
	for at := range (&schema.Schema{Fields: []*schema.Field{field}}).All() {
		index, ok := f.fields[at.ID]
		if !ok || index < 0 || seen[index] {
			continue // a struct of version 2.1 has no column of its own
		}
		seen[index] = true
		n, err := f.storedIn(ctx, index)
		if err != nil {
			return 0, fmt.Errorf("column %d of data file %s: %w", index, f.key, err)
		}
		if total += n; total > uint64(f.size) {
			return 0, fmt.Errorf("%w: columns of data file %s are larger than the file", lance.ErrCorrupt, f.key)
		}
	}
	return int64(total), nil
}

// storedIn returns the size of a column's buffers.
func (f *File) storedIn(ctx context.Context, index int32) (uint64, error) {
	if int(index) >= len(f.tables) {
		return 0, fmt.Errorf("%w: the file has %d columns", lance.ErrCorrupt, len(f.tables))
	}
	ctx, part, err := memory.Within(ctx)
	if err != nil {
		return 0, err
	}
	defer part.Close()
	m, err := f.columnMetadata(index, roomOf(ctx))
	if err != nil {
		return 0, err
	}
	total := uint64(0)
	add := func(sizes []uint64) error {
		for _, n := range sizes {
			// Nothing is larger than the file that holds it.
			if total += min(n, uint64(f.size)); total > uint64(f.size) {
				return fmt.Errorf("%w: larger than the file", lance.ErrCorrupt)
			}
		}
		return nil
	}
	err = add(m.BufferSizes)
	for i := 0; err == nil && i < len(m.Pages); i++ {
		err = add(m.Pages[i].BufferSizes)
	}
	return total, err
}
