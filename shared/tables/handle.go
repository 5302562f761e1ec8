package tables

import (
	"context"
	"errors"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/engine"
	"tiltyard/shared/jobs/idempotency"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/tally"
	"tiltyard/shared/protocol"
)

// A Handle is a table, or a branch of one, by the name in a request or a job. Work begins on the
// table that the process has cached under the name, in parallel with reading the record of the
// name. If the record names another table, the work is repeated on that one. Making a handle sends
// no request.
type Handle struct {
	in     Tables
	id     []string
	branch string // "" is the table itself
}

// Open returns the handle of a branch of the table with an id. The branches "" and "main" are the table itself.
func (t Tables) Open(id []string, branch string) Handle {
	return Handle{in: t, id: id, branch: protocol.BranchName(branch)}
}

// A Table is the table of a handle, together with its catalog entry. Work on it may return errors of the format, which the
// handle translates.
type Table struct {
	*engine.Table // at the branch of the handle
	Found         *catalog.Lookup
}

// A Version is a version of the table of a handle.
type Version struct {
	*dataset.Dataset
	Table
}

// Inspect does work that changes nothing on a table. The context of the work stays valid after Inspect
// returns, because a result may continue to read; it ends with a result that is discarded.
func Inspect[T any](ctx context.Context, h Handle, work func(context.Context, Table) (T, error)) (T, error) {
	var result T
	err := objects.Race{What: "table", ID: h.id}.Run(ctx, func(int) (done bool, err error) {
		found, err := h.in.Names.Lookup(ctx, h.id)
		if err != nil {
			return true, err
		}
		if found.Confirmed() {
			result, err = inspect(ctx, h, found, work)
			return true, err
		}
		attempt, discard := context.WithCancel(ctx)
		result, err = inspect(attempt, h, found, work)
		confirmed := found.Confirm()
		if confirmed == nil {
			context.AfterFunc(ctx, discard)
			return true, err
		}
		discard()
		if errors.Is(confirmed, stored.ErrMoved) {
			return false, nil
		}
		return true, confirmed
	})
	return result, err
}

// inspect calls work with the table in a catalog entry, and translates its error.
func inspect[T any](ctx context.Context, h Handle, found *catalog.Lookup, work func(context.Context, Table) (T, error)) (T, error) {
	table, err := h.in.On(ctx, found.Table, h.branch)
	if err != nil {
		var none T
		return none, err
	}
	result, err := work(ctx, Table{table, found})
	return result, table.Translate(err)
}

// Read calls work with a version of the table, the newest if number is nil. Like [Inspect] it may call
// work twice; see [engine.Read].
func Read[T any](ctx context.Context, h Handle, number *int64, work func(context.Context, Version) (T, error)) (T, error) {
	return Inspect(ctx, h, func(ctx context.Context, t Table) (T, error) {
		return engine.Read(ctx, t.Table, number, func(ctx context.Context, d *dataset.Dataset) (T, error) {
			return work(ctx, Version{d, t})
		})
	})
}

// maxAttempts bounds how often a change starts again because its name refers to another table.
const maxAttempts = 3

// Try calls work, which may change the table of a handle. Before each change, work must call t.Found.Confirm and return
// its error. If the name refers to another table, work is called again with that one.
func Try[T any](ctx context.Context, h Handle, work func(ctx context.Context, t Table) (T, error)) (T, error) {
	var none T
	for attempt := 1; ; attempt++ {
		found, err := h.in.Names.Lookup(ctx, h.id)
		if err != nil {
			return none, err
		}
		result, err := inspect(ctx, h, found, work)
		if err == nil {
			return result, nil
		}
		// The error may be due to a table that the name no longer stands for.
		if moved := found.Confirm(); moved != nil {
			err = moved
		}
		switch {
		case !errors.Is(err, stored.ErrMoved):
			return none, err
		case attempt == maxAttempts:
			return none, protocol.Errorf(protocol.ConcurrentModification, "%w", err)
		}
	}
}

// Changed is the outcome of a change to a table.
type Changed struct {
	engine.Written
	TransactionID string // names the commit
}

// Commit calls work, which commits to the table of a handle. The commit fails if the name no longer refers to the table,
// and work is then called again with the table it refers to.
func (h Handle) Commit(ctx context.Context, work func(t Table) (engine.Written, error)) (Changed, error) {
	done, err := Try(ctx, h, func(ctx context.Context, t Table) (engine.Written, error) {
		t.Table = t.ConfirmWith(t.Found.Confirm)
		if attempt := idempotency.AttemptOf(ctx); attempt != nil {
			if t.Found.Unanswered() {
				if err := attempt.Recall(ctx); err != nil {
					return engine.Written{}, err
				}
			}
			t.Table = t.As(attempt.Carry(t.Found.NoteUnanswered))
		}
		done, err := work(t)
		if err == nil {
			h.committed(ctx, t.Found, done.Version)
		}
		return done, err
	})
	if err != nil {
		return Changed{}, err
	}
	tally.AddRows(ctx, done.Inserted+done.Updated+done.Deleted)
	made := transaction.Commit{Branch: h.branch, Version: uint64(done.Version), UUID: done.Transaction}
	return Changed{done, h.in.Transactions.IDOfCommit(ctx, h.id, made)}, nil
}

// committed announces a commit on a branch, or stores the version of the table as a hint. It also
// suggests maintenance and, for the table itself, updates of its views and computed columns.
func (h Handle) committed(ctx context.Context, found *catalog.Lookup, version int64) {
	if h.branch != "" {
		h.in.Names.Committed(ctx, found.Table.ID, h.branch)
	} else {
		found.Hint(ctx, uint64(version))
	}
	h.in.written(ctx, found.Table.ID, version)
	if h.branch == "" {
		h.in.follow(ctx, found)
	}
}
