package datafile

import (
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// NumColumns returns the number of the file's physical columns.
func (f *File) NumColumns() int { return len(f.tables) }

// ColumnMetadata returns what the file says of a physical column: its pages with their
// buffers and encodings, as they are stored and not checked any further. It is for those
// who look at files, not through them; it reads nothing, since the metadata of all
// columns is at hand. The encodings are parts of the file's bytes and must not be changed.
//
// Metadata that cannot be understood is [lance.ErrCorrupt].
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
