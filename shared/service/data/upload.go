package data

import (
	"bytes"
	"context"
	"errors"
	"io"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// maxReplay is how much of an upload is kept until the table is known to be the one that
// was last seen under its name.
const maxReplay = 4 << 20

// An upload is the body of a write that begins while the name of its table is checked.
// When the name turns out to stand for another table now, the write begins again there
// with what was read so far and the rest of the body.
type upload struct {
	body  io.Reader
	head  bytes.Buffer  // what was read of the body since the attempt began
	again *bytes.Reader // what is to be read before the body
	found *catalog.Lookup
	sure  bool // the table is the one: nothing needs to be kept
}

// Read keeps what it returns until the table is confirmed, which it waits for before it
// keeps too much.
func (u *upload) Read(p []byte) (int, error) {
	if u.again != nil && u.again.Len() > 0 {
		n, err := u.again.Read(p)
		u.head.Write(p[:n])
		return n, err
	}
	if !u.sure && u.head.Len() > maxReplay {
		if err := u.found.Confirm(); err != nil {
			return 0, err
		}
	}
	if !u.sure && u.found.Confirmed() {
		u.sure, u.head = true, bytes.Buffer{}
	}
	n, err := u.body.Read(p)
	if !u.sure {
		u.head.Write(p[:n])
	}
	return n, err
}

// rewind begins another attempt.
func (u *upload) rewind() {
	kept := append(u.head.Bytes(), rest(u.again)...)
	u.again, u.head = bytes.NewReader(kept), bytes.Buffer{}
}

func rest(r *bytes.Reader) []byte {
	if r == nil {
		return nil
	}
	kept, _ := io.ReadAll(r) // a bytes.Reader does not fail
	return kept
}

// maxAttempts bounds how often a write follows a name from table to table.
const maxAttempts = 3

// write reads the body of a request into rows and gives them, with the table that the id
// stands for, to do. A table that is only declared is created by them.
func (s *Service) write(ctx context.Context, id []string, body io.Reader, do func(*engine.Table, dataset.Rows, func() error) (engine.Written, error)) (engine.Written, error) {
	source := &upload{body: body}
	for attempt := 1; ; attempt++ {
		found, err := s.names.Lookup(ctx, id)
		if err != nil {
			return engine.Written{}, err
		}
		source.found = found
		done, err := s.attempt(ctx, source, do)
		if err == nil {
			found.Hint(ctx, uint64(done.Version))
			return done, nil
		}
		// What went wrong may be the fault of a table that was not meant.
		if moved := found.Confirm(); moved != nil {
			err = moved
		}
		switch {
		case !errors.Is(err, catalog.ErrMoved):
			return engine.Written{}, err
		case attempt == maxAttempts:
			return engine.Written{}, protocol.Errorf(protocol.ConcurrentModification, "%w", err)
		}
		source.rewind()
	}
}

func (s *Service) attempt(ctx context.Context, source *upload, do func(*engine.Table, dataset.Rows, func() error) (engine.Written, error)) (engine.Written, error) {
	rows, err := s.open(source)
	if err != nil {
		return engine.Written{}, err
	}
	found := source.found
	table := s.rows.Table(found.Table.ID, found.Table.Location, found.Table.Hint)
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
