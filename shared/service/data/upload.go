package data

import (
	"context"
	"io"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/tables"
)

// An upload contains the rows of a write that starts while the catalog still checks the name of the
// table. If the name refers to another table by then, the write starts again on that table, with
// the rows that were read so far and the rest of the body.
type upload struct {
	open func() (*stream, error)
	rows *stream // nil before the first attempt
	all  *dataset.Replay
}

// begin returns all rows, for an attempt on the given table.
func (u *upload) begin(found *catalog.Lookup) (dataset.Rows, error) {
	if u.rows == nil {
		var err error
		if u.rows, err = u.open(); err != nil {
			return dataset.Rows{}, err
		}
		u.all = dataset.NewReplay(u.rows.take)
	}
	return dataset.Rows{Schema: u.rows.Schema(), Batches: u.all.Rows(found.Confirmed, found.Confirm)}, nil
}

// write reads rows from the body of a request and calls do with them and with the branch of the
// table. Rows for a table that is only declared create it.
func (s *Service) write(ctx context.Context, id []string, branch string, body io.Reader, do func(*engine.Table, dataset.Rows) (engine.Written, error)) (tables.Changed, error) {
	source := &upload{open: func() (*stream, error) { return s.open(ctx, body) }}
	return s.tables.Open(id, branch).Commit(ctx, func(t tables.Table) (engine.Written, error) {
		return s.attempt(ctx, source, t, do)
	})
}

// attempt calls do once. If the table is only declared, it creates the table instead.
func (s *Service) attempt(ctx context.Context, source *upload, t tables.Table, do func(*engine.Table, dataset.Rows) (engine.Written, error)) (engine.Written, error) {
	rows, err := source.begin(t.Found)
	if err != nil {
		return engine.Written{}, err
	}
	done, err := do(t.Table, rows)
	if !engine.IsDeclared(err) {
		return done, err
	}
	// No row has been read yet, because a declared table has no schema to check rows against.
	if err := t.Found.Confirm(); err != nil {
		return engine.Written{}, err
	}
	return t.Create(ctx, rows)
}
