package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/pb"
)

// An Attempt identifies the change that a request makes: the id that its commit carries, and the
// time at which an earlier attempt began whose outcome is unknown, zero if there was none. The
// engine calls it after it has read the rows of the change.
type Attempt func() (id string, since time.Time)

// As returns the table for a change that belongs to an attempt. If an earlier attempt has made the
// change, the engine does not make it again, and returns the earlier result.
func (t *Table) As(attempt Attempt) *Table {
	named := *t
	named.attempt = attempt
	named.data = t.data.CommitAs(func() string {
		id, _ := attempt()
		return id
	})
	return &named
}

// unmade returns an [*alreadyMade] when an earlier attempt has made the change.
func (t *Table) unmade(ctx context.Context) error {
	if t.attempt == nil {
		return nil
	}
	id, since := t.attempt()
	if since.IsZero() {
		return nil
	}
	d, txn, err := t.data.FindCommit(ctx, id, since)
	if errors.Is(err, dataset.ErrNoTransaction) {
		return nil
	}
	if err != nil {
		return t.translate(err)
	}
	done := &alreadyMade{Written{Version: int64(d.Version()), Transaction: d.TransactionUUID()}}
	if err := t.recount(ctx, &done.Written, d, txn); err != nil {
		return t.translate(err)
	}
	return done
}

// recount computes how many rows an earlier attempt's change affected.
func (t *Table) recount(ctx context.Context, done *Written, d *dataset.Dataset, txn *pb.Transaction) error {
	switch op := txn.Operation.(type) {
	case *pb.Append:
		done.Inserted = rowsIn(op.Fragments)
	case *pb.Overwrite:
		done.Inserted = rowsIn(op.Fragments)
	case *pb.Delete:
		read, err := t.data.Version(ctx, d.Version()-1)
		if err != nil {
			return err
		}
		done.Deleted = read.CountRows() - d.CountRows()
	case *pb.Update:
		merged, ok := txn.Properties[mergedProperty]
		if !ok {
			done.Updated = rowsIn(op.NewFragments)
			return nil
		}
		if _, err := fmt.Sscan(merged, &done.Updated, &done.Inserted, &done.Deleted); err != nil {
			return fmt.Errorf("transaction property %s is %.40q: %w", mergedProperty, merged, err)
		}
	}
	return nil
}

// mergedProperty is the property of a merge's transaction that holds how many rows it has updated,
// inserted and deleted. The fragments of the version do not show these numbers.
const mergedProperty = "tiltyard.merged"

func rowsIn(fragments []*pb.Fragment) int64 {
	rows := int64(0)
	for _, f := range fragments {
		rows += int64(f.PhysicalRows)
	}
	return rows
}

// alreadyMade is the error that ends a change which an earlier attempt has made.
type alreadyMade struct{ Written }

// Error names the version of the change.
func (a *alreadyMade) Error() string {
	return fmt.Sprintf("an earlier attempt made the change, as version %d", a.Version)
}

// already returns the result of a write, no matter which attempt made it.
func already(done Written, err error) (Written, error) {
	var before *alreadyMade
	if errors.As(err, &before) {
		return before.Written, nil
	}
	return done, err
}

// once is a write of rows that an earlier attempt may have made. The engine looks for the earlier
// write after it has read the rows and before it commits them.
type once struct {
	table *Table
	rows  int64 // rows read so far
}

// counted counts the rows as they are read, because the rows of several writes may end up in one
// transaction.
func (o *once) counted(rows dataset.Rows) dataset.Rows {
	all := rows.Batches
	rows.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		o.rows = 0
		for batch, err := range all {
			if err == nil {
				o.rows += batch.NumRows()
			}
			if !yield(batch, err) {
				return
			}
		}
	}
	return rows
}

// confirm returns a function that calls confirm and then ends the write if an earlier attempt has
// made it.
func (o *once) confirm(ctx context.Context, confirm func() error) func() error {
	return func() error {
		if confirm != nil {
			if err := confirm(); err != nil {
				return err
			}
		}
		return o.table.unmade(ctx)
	}
}

// writeOnce writes rows unless an earlier attempt has written them.
func (t *Table) writeOnce(ctx context.Context, rows dataset.Rows, confirm func() error, write func(dataset.Rows, func() error) (dataset.Commit, error)) (Written, error) {
	if t.attempt == nil {
		commit, err := write(rows, confirm)
		return written(commit), t.translate(err)
	}
	o := &once{table: t}
	commit, err := write(o.counted(rows), o.confirm(ctx, confirm))
	var before *alreadyMade
	if errors.As(err, &before) {
		before.Inserted = o.rows
		return before.Written, nil
	}
	return written(commit), t.translate(err)
}
