package datafile

import (
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
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
	at := f.tables[index]
	b, ok := f.metadata.find(at.from, at.size)
	if !ok {
		return nil, fmt.Errorf("%w: metadata of column %d of data file %s is not where metadata is", lance.ErrCorrupt, index, f.key)
	}
	m := new(pb.ColumnMetadata)
	if err := m.Unmarshal(b); err != nil {
		return nil, fmt.Errorf("%w: metadata of column %d of data file %s: %w", lance.ErrCorrupt, index, f.key, err)
	}
	return m, nil
}
