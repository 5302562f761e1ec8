package inverted

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/memory"
)

// columns are those columns of a file that a reader knows.
type columns struct {
	file   *datafile.File
	schema *schema.Schema
	fields []*schema.Field
}

// columnsOf finds columns by their names.
func columnsOf(ctx context.Context, file *datafile.File, names ...string) (*columns, error) {
	s, err := file.Schema(ctx)
	if err != nil {
		return nil, err
	}
	c := &columns{file: file, schema: s}
	for _, name := range names {
		field := s.Field(name)
		if field == nil {
			return nil, fmt.Errorf("%w: no column %s", lance.ErrCorrupt, name)
		}
		c.fields = append(c.fields, field)
	}
	return c, nil
}

// read returns rows of the columns. It takes memory of the share of the context for them.
func (c *columns) read(ctx context.Context, from, to int64) ([]arrow.Array, error) {
	read, err := c.file.ReadRange(ctx, c.fields, from, to)
	if err != nil {
		return nil, err
	}
	return read, c.take(ctx, read, int(to-from))
}

// readRows returns single rows, which ascend, as read does.
func (c *columns) readRows(ctx context.Context, rows []int64) ([]arrow.Array, error) {
	read, err := c.file.Take(ctx, c.fields, rows)
	if err != nil {
		return nil, err
	}
	return read, c.take(ctx, read, len(rows))
}

func (c *columns) take(ctx context.Context, read []arrow.Array, rows int) error {
	for i, a := range read {
		if a.Len() != rows {
			return fmt.Errorf("%w: column %s has %d rows, want %d", lance.ErrCorrupt, c.fields[i].Name, a.Len(), rows)
		}
		if err := memory.FromContext(ctx).Take(ctx, int64(a.Data().SizeInBytes())); err != nil {
			return err
		}
	}
	return nil
}
