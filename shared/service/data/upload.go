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

// maxReplay bounds the bytes of rows that an upload keeps until the catalog has confirmed the
// table.
const maxReplay = 4 << 20

// An upload holds the rows of a write that starts while the catalog still checks the name of the
// table. If the name now stands for another table, the write starts again on that table, with the
// rows that were read so far and the rest of the body.
type upload struct {
	open  func() (*stream, error)
	rows  *stream // nil before the first try
	found *catalog.Lookup

	kept  []arrow.RecordBatch // batches read since the first try began
	bytes int64               // size of kept
	sure  bool                // the table is confirmed, so no batch needs to be kept
}

// begin returns all rows, for a try on the given table.
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

// keep keeps a batch until the table is confirmed. Once it holds maxReplay bytes, it waits for the
// confirmation.
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

// write reads the body of a request as rows and calls do with them and with the branch of the
// table. Rows for a table that is only declared create it.
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
	// No row has been read yet, because there was no schema to check it against.
	if err := found.Confirm(); err != nil {
		return engine.Written{}, err
	}
	return table.Create(ctx, rows, nil)
}
