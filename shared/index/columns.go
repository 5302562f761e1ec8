package index

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/memory"
)

// Columns are those columns of a file that a reader knows.
type Columns struct {
	File     *datafile.File
	Fields   []*schema.Field
	Metadata map[string]string // of the schema of the file
}

// ColumnsOf finds columns by their names.
func ColumnsOf(ctx context.Context, file *datafile.File, names ...string) (*Columns, error) {
	s, err := file.Schema(ctx)
	if err != nil {
		return nil, err
	}
	c := &Columns{File: file, Metadata: s.Metadata}
	for _, name := range names {
		field := s.Field(name)
		if field == nil {
			return nil, fmt.Errorf("%w: no column %s", lance.ErrCorrupt, name)
		}
		c.Fields = append(c.Fields, field)
	}
	return c, nil
}

// Read returns rows of the columns. It takes memory of the share of the context for them.
func (c *Columns) Read(ctx context.Context, from, to int64) ([]arrow.Array, error) {
	read, err := c.File.ReadRange(ctx, c.Fields, from, to)
	if err != nil {
		return nil, err
	}
	for i, a := range read {
		if int64(a.Len()) != to-from {
			return nil, fmt.Errorf("%w: column %s has %d rows, want %d", lance.ErrCorrupt, c.Fields[i].Name, a.Len(), to-from)
		}
		if err := memory.FromContext(ctx).Take(ctx, int64(a.Data().SizeInBytes())); err != nil {
			return nil, err
		}
	}
	return read, nil
}

// Contain turns a panic in a goroutine, which nothing else could catch, into an error.
func Contain(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: panic while reading: %v", lance.ErrCorrupt, r)
	}
}
