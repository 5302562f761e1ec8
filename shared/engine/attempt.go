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

// An Attempt tells which change of a table is being made: the id that its commit is known
// by, and when it was begun, if it was begun before and nobody knows whether it was made;
// else the zero time. It is asked once the rows of the change have been read.
type Attempt func() (id string, since time.Time)

// As returns the table, whose next change is the one of an attempt. What an earlier attempt
// has made is not made again but answered as it was then.
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

// recount finds out how many rows a change was of.
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

// mergedProperty is the property of a merge's transaction that holds how many rows it has
// updated, inserted and deleted, which its fragments do not tell.
const mergedProperty = "tiltyard.merged"

func rowsIn(fragments []*pb.Fragment) int64 {
	rows := int64(0)
	for _, f := range fragments {
		rows += int64(f.PhysicalRows)
	}
	return rows
}

// alreadyMade ends a change that an earlier attempt has made.
type alreadyMade struct{ Written }

// Error says so.
func (a *alreadyMade) Error() string {
	return fmt.Sprintf("an earlier attempt made the change, as version %d", a.Version)
}

// already returns what was written, by this attempt or an earlier one.
func already(done Written, err error) (Written, error) {
	var before *alreadyMade
	if errors.As(err, &before) {
		return before.Written, nil
	}
	return done, err
}

// once is a write of rows that an earlier attempt may have made, which is looked for when
// the rows are there and before they are committed.
type once struct {
	table *Table
	rows  int64 // taken so far
}

// counted returns the rows, which are counted as they are taken: one transaction may hold
// those of several writes.
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

// confirm returns confirm, which then also ends what an earlier attempt has made.
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

// writeOnce does a write of rows unless an earlier attempt has.
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
