package data

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/tables"
)

// maxReplay is how many bytes of rows are kept until the table is known to be the one that
// was last seen under its name.
const maxReplay = 4 << 20

// An upload is the rows of a write that begins while the name of its table is checked.
// When the name turns out to stand for another table now, the write begins again there
// with the rows that were taken so far and the rest of the body.
type upload struct {
	open  func() (*stream, error)
	rows  *stream // nil before the first attempt
	found *catalog.Lookup

	kept  []arrow.RecordBatch // taken since the first attempt began
	bytes int64               // of kept
	sure  bool                // the table is the one: nothing needs to be kept
}

// begin returns all rows, for an attempt at the table found.
func (u *upload) begin(found *catalog.Lookup) (dataset.Rows, error) {
	u.found = found
	if u.rows == nil {
		var err error
		if u.rows, err = u.open(); err != nil {
			return dataset.Rows{}, err
		}
	}
	return dataset.Rows{Schema: u.rows.Schema(), Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for _, batch := range u.kept {
			if !yield(batch, nil) {
				return
			}
		}
		for batch, err := range u.rows.batches {
			if err == nil {
				err = u.keep(batch)
			}
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}}, nil
}

// keep keeps a batch while the table is not confirmed, which it waits for once it keeps
// too much.
func (u *upload) keep(batch arrow.RecordBatch) error {
	if !u.sure {
		u.sure = u.found.Confirmed()
	}
	if u.sure {
		u.kept = nil
		return nil
	}
	u.kept = append(u.kept, batch)
	for _, column := range batch.Columns() {
		u.bytes += int64(column.Data().SizeInBytes())
	}
	if u.bytes <= maxReplay {
		return nil
	}
	return u.found.Confirm()
}

// write reads the body of a request into rows and gives them, with the branch of the table
// that the id stands for, to do. A table that is only declared is created by them.
func (s *Service) write(ctx context.Context, id []string, branch string, body io.Reader, do func(*engine.Table, dataset.Rows, func() error) (engine.Written, error)) (tables.Changed, error) {
	source := &upload{open: func() (*stream, error) { return s.open(ctx, body) }}
	return s.tables.ChangeFound(ctx, id, branch, func(table *engine.Table, found *catalog.Lookup) (engine.Written, error) {
		return s.attempt(ctx, source, table, found, do)
	})
}

func (s *Service) attempt(ctx context.Context, source *upload, table *engine.Table, found *catalog.Lookup, do func(*engine.Table, dataset.Rows, func() error) (engine.Written, error)) (engine.Written, error) {
	rows, err := source.begin(found)
	if err != nil {
		return engine.Written{}, err
	}
	done, err := do(table, rows, found.Confirm)
	if !engine.IsDeclared(err) {
		return done, err
	}
	// Nothing has been taken from the rows: there was no table to hold them against.
	if err := found.Confirm(); err != nil {
		return engine.Written{}, err
	}
	return table.Create(ctx, rows, nil)
}
