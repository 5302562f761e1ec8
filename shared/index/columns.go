package index

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// Columns selects the columns of a file that an index reader needs.
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

// Read returns rows [from, to) of the columns, and accounts for them in the context's memory share.
func (c *Columns) Read(ctx context.Context, from, to int64) ([]arrow.Array, error) {
	read, err := c.File.ReadRange(ctx, c.Fields, from, to)
	if err != nil {
		return nil, err
	}
	return read, c.take(ctx, read, to-from)
}

// ReadRows returns single rows, given in ascending order, and accounts for them like Read.
func (c *Columns) ReadRows(ctx context.Context, rows []int64) ([]arrow.Array, error) {
	read, err := c.File.Take(ctx, c.Fields, rows)
	if err != nil {
		return nil, err
	}
	return read, c.take(ctx, read, int64(len(rows)))
}

// take checks the lengths of the arrays and accounts for their memory.
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
