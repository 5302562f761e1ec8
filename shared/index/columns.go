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
	File   *datafile.File
	Schema *schema.Schema // of the file
	Fields []*schema.Field
}

// ColumnsOf finds columns by their names.
func ColumnsOf(ctx context.Context, file *datafile.File, names ...string) (*Columns, error) {
	s, err := file.Schema(ctx)
	if err != nil {
		return nil, err
	}
	c := &Columns{File: file, Schema: s}
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
	return read, c.take(ctx, read, to-from)
}

// ReadRows returns single rows, which ascend, as Read does.
func (c *Columns) ReadRows(ctx context.Context, rows []int64) ([]arrow.Array, error) {
	read, err := c.File.Take(ctx, c.Fields, rows)
	if err != nil {
		return nil, err
	}
	return read, c.take(ctx, read, int64(len(rows)))
}

// take checks and takes memory for what was read.
func (c *Columns) take(ctx context.Context, read []arrow.Array, rows int64) error {
	for i, a := range read {
		if int64(a.Len()) != rows {
			return fmt.Errorf("%w: column %s has %d rows, want %d", lance.ErrCorrupt, c.Fields[i].Name, a.Len(), rows)
		}
		if err := memory.FromContext(ctx).Take(ctx, int64(a.Data().SizeInBytes())); err != nil {
			return err
		}
	}
	return nil
}

// Contain turns a panic in a goroutine, which nothing else could catch, into an error.
func Contain(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: panic while reading: %v", lance.ErrCorrupt, r)
	}
}
