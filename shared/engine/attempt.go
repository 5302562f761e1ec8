package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/commitlog"
	"tiltyard/shared/lance/pb"
)

// An Attempt identifies the change that a request makes. It returns the id that the commit carries,
// and the time at which an earlier attempt with an unknown outcome began, or zero if there was
// none. The engine calls it after it has read the rows of the change, so a retry can check for the
// earlier commit.
type Attempt func() (id string, since time.Time)

// As returns the table for a change that belongs to an attempt. If an earlier attempt has made the
// change, the engine does not repeat it, and returns the earlier result. A nil attempt removes the
// one that As set before, for a change that must precede the attempt's own.
func (t *Table) As(attempt Attempt) *Table {
	named := *t
	named.attempt, named.data = attempt, t.data.CommitAs(nil)
	if attempt != nil {
		named.data = t.data.CommitAs(func() string {
			id, _ := attempt()
			return id
		})
	}
	return &named
}

// unmade returns an [*alreadyMade] if an earlier attempt has made the change.
func (t *Table) unmade(ctx context.Context) error {
	if t.attempt == nil {
		return nil
	}
	id, since := t.attempt()
	if since.IsZero() {
		return nil
	}
	d, txn, err := commitlog.Find(ctx, t.data, id, since)
	if errors.Is(err, dataset.ErrNoTransaction) {
		return nil
	}
	if err != nil {
		return t.Translate(err)
	}
	done := &alreadyMade{Written{Version: int64(d.Version()), Transaction: d.TransactionUUID()}}
	if err := t.recount(ctx, &done.Written, d, txn); err != nil {
		return t.Translate(err)
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
		// A delete only removes rows, so the counts of the two versions give their number.
		read, err := t.data.Version(ctx, d.Version()-1)
		if err != nil {
			return err
		}
		done.Deleted = read.CountRows() - d.CountRows()
	case *pb.Update:
		// A merge has recorded its counts. An update replaces each row by a new one.
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

// mergedProperty is the property of a merge's transaction with the numbers of updated, inserted and
// deleted rows. They cannot be derived from the fragments of the version.
const mergedProperty = "tiltyard.merged"

// rowsIn returns the number of physical rows in fragments that a commit added.
func rowsIn(fragments []*pb.Fragment) int64 {
	rows := int64(0)
	for _, f := range fragments {
		rows += int64(f.PhysicalRows)
	}
	return rows
}

// alreadyMade ends a change that an earlier attempt has made. It carries the earlier result.
type alreadyMade struct{ Written }

// Error names the version of the change.
func (a *alreadyMade) Error() string {
	return fmt.Sprintf("an earlier attempt made the change, as version %d", a.Version)
}

// already returns the result of a write by this or an earlier attempt.
func already(done Written, err error) (Written, error) {
	var before *alreadyMade
	if errors.As(err, &before) {
		return before.Written, nil
	}
	return done, err
}

// counted sets n to the number of rows read so far. The transaction cannot provide it, because
// concurrent writes may share one transaction.
func counted(rows dataset.Rows, n *int64) dataset.Rows {
	all := rows.Batches
	rows.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		*n = 0
		for batch, err := range all {
			if err == nil {
				*n += batch.NumRows()
			}
			if !yield(batch, err) {
				return
			}
		}
	}
	return rows
}

// writeOnce writes rows unless an earlier attempt has written them. It checks after it has read the
// rows and before it commits, so that the check covers the whole time of the upload.
func (t *Table) writeOnce(ctx context.Context, rows dataset.Rows, write func(*dataset.Table, dataset.Rows) (dataset.Commit, error)) (Written, error) {
	if t.attempt == nil {
		commit, err := write(t.data, rows)
		return written(commit), t.Translate(err)
	}
	rowsRead := int64(0)
	commit, err := write(t.data.ConfirmWith(func() error { return t.unmade(ctx) }), counted(rows, &rowsRead))
	var before *alreadyMade
	if errors.As(err, &before) {
		before.Inserted = rowsRead
		return before.Written, nil
	}
	return written(commit), t.Translate(err)
}
