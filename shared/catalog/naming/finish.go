package naming

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

const (
	// BatchLease is how long a batch may take before other processes abort it.
	BatchLease = 15 * time.Second
	// deleteFanOut bounds how many versions are deleted in parallel.
	deleteFanOut = 32
)

// settleBatch settles a record with a pending batch, and returns the table of its name afterwards.
// If done is false, the caller must read the record again.
//
// While the batch is undecided, the record counts as it was before. A missing decision alone does
// not prove that the batch is undecided, because the decision is deleted when all records have been
// written. The proof is that the record is unchanged after the decision was found missing.
func (r *Registry) settleBatch(ctx context.Context, record *stored.Table, etag string) (found stored.Found, done bool, err error) {
	p := record.Pending
	d, err := r.DecisionOf(ctx, p.Batch)
	if err != nil {
		return found, false, err
	}
	ended := d.Outcome
	if ended == stored.Undecided {
		var now stored.Table
		if read, _, err := r.Store.Find(ctx, keys.Table(record.ID), &now); err != nil || read != etag {
			return found, false, err
		}
		if !r.Now().Before(p.Until) {
			// A caller without the right to write, or whose answer was lost, still treats the batch as
			// undecided.
			if ended, err = r.Decide(ctx, p.Batch, stored.Decision{Outcome: stored.Aborted}); err != nil {
				ended = stored.Undecided
			}
		}
	}
	switch {
	case ended == stored.Undecided && p.New:
		return stored.Found{Soon: true}, true, nil
	case ended == stored.Undecided:
		return stored.Found{Record: record, ETag: etag}, true, nil
	}
	finished, err := r.Finish(ctx, record, etag, ended)
	switch {
	case finished == nil:
		return found, false, err
	case objects.Changed(err):
		return found, false, nil
	case finished.After == nil: // if the write failed: the next caller does it again
		return found, true, nil
	case err == nil:
		etag = finished.etag
	}
	return stored.Found{Record: finished.After, ETag: etag}, true, nil
}

// Finished is the result of carrying out a batch on one record.
type Finished struct {
	After *stored.Table // nil: the name stands for no table
	etag  string
	Made  map[uint64]objectstore.Info // versions that did not give way to others
}

// Finish applies the outcome of a batch to one record. The result is nil on failure;
// objects.Changed(err) is true if the record has changed.
func (r *Registry) Finish(ctx context.Context, record *stored.Table, etag string, ended stored.Outcome) (*Finished, error) {
	p := record.Pending
	done := &Finished{After: record.Aborted()}
	if ended == stored.Committed {
		if done.After = record.Committed(); done.After != nil {
			if err := r.makeVersions(ctx, done); err != nil {
				return nil, unfinished(record.ID, err)
			}
			if err := r.deleteVersions(ctx, done.After, p.Old); err != nil {
				return nil, unfinished(record.ID, err)
			}
		}
	}
	var err error
	if done.After == nil {
		err = r.Store.Remove(ctx, keys.Table(record.ID), record.UID, etag)
	} else {
		done.etag, err = r.Store.Write(ctx, keys.Table(record.ID), done.After, objectstore.Condition{IfMatch: etag})
	}
	if err == nil && ended == stored.Aborted {
		r.Writer.DeleteCopies(ctx, p.Next)
	}
	if err == nil && ended == stored.Committed && p.Gone {
		r.Places.ReleaseOf(ctx, record)
	}
	return done, err
}

// unfinished is the error for a table with operations of a committed batch that cannot be carried
// out now.
func unfinished(id []string, err error) error {
	return &protocol.Error{
		Code: protocol.ServiceUnavailable, Message: fmt.Sprintf("a committed batch has not been carried out on table %s yet", keys.Display(id)),
		Detail: "retry; the next request that may write to the table carries it out", Err: err,
	}
}

// makeVersions makes the versions that a batch has entered in the ledger. A version whose name
// another manifest has taken leaves the ledger again, because it was not made.
func (r *Registry) makeVersions(ctx context.Context, done *Finished) error {
	l := done.After.Ledger
	if l == nil || len(l.Next) == 0 {
		return nil
	}
	at, err := r.Locate(done.After)
	if err != nil {
		return err
	}
	done.Made = map[uint64]objectstore.Info{}
	var kept []ledger.Entry
	for _, e := range l.Next {
		info, err := r.Writer.Make(ctx, at, e, nil)
		switch {
		case err == nil:
			done.Made[e.Version] = info
		case objects.Taken(err):
			continue
		case !objects.Missing(err): // else it was made and deleted before
			return fmt.Errorf("make version %d: %w", e.Version, err)
		}
		kept = append(kept, e)
	}
	settled := *l
	settled.Next = kept
	done.After.Ledger = &settled
	return nil
}

// deleteVersions deletes the versions that a batch chose, as far as they still exist.
func (r *Registry) deleteVersions(ctx context.Context, record *stored.Table, old []stored.OldVersion) error {
	if len(old) == 0 {
		return nil
	}
	at, err := r.Locate(record)
	if err != nil {
		return err
	}
	remove := func(ctx context.Context, v stored.OldVersion) error {
		return objects.IgnoreChanged(at.Store.Delete(ctx, ledger.Key(at, v.Name), objectstore.Condition{IfMatch: v.ETag}))
	}
	group, together := errgroup.WithContext(ctx)
	group.SetLimit(deleteFanOut)
	for _, v := range old {
		if !v.Recent {
			group.Go(func() error { return remove(together, v) })
		}
	}
	err = group.Wait()
	for _, v := range slices.Backward(old) {
		if err == nil && v.Recent {
			err = remove(ctx, v)
		}
	}
	return err
}
