package catalog

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// pending is what a batch will have done to a table, or to its name, once it has committed.
// Until then it means nothing, but that other writers wait for it.
//
// A batch that makes a table puts a record that is New, and one that removes it marks the
// record as Gone. Like records on their way to another name these have an odd number of bytes
// (keys.go), so that a listing knows that it has to look.
type pending struct {
	Batch string       `json:"batch"`
	Until time.Time    `json:"until"`            // from then on, an undecided batch may be ended
	New   bool         `json:"new,omitempty"`    // the name stands for no table before
	Gone  bool         `json:"gone,omitempty"`   // nor after that, or for
	Then  *tableRecord `json:"then,omitempty"`   // this one
	Next  []entry      `json:"next,omitempty"`   // versions to make, of what is there then
	Old   []oldVersion `json:"delete,omitempty"` // versions to delete
}

// An oldVersion is one that is to be deleted, if it is still the same then.
type oldVersion struct {
	Name string `json:"name"` // below _versions
	ETag string `json:"e_tag"`
}

const (
	batchLease  = 15 * time.Second
	batchFanOut = 32
	// finishTime is allowed for what is left to do once a batch is decided.
	finishTime = 30 * time.Second
)

// settleBatch does what is left of a batch, met in the record of a table, which it returns as
// it is then. The error is objectstore.ErrNotExist when there is no table, errArriving when
// there may be one soon, and objectstore.ErrPrecondition asks to read the record again.
//
// While the batch is undecided the record counts as it was before, whoever asks. That it is
// undecided is only known when the record has not changed after its decision was looked for
// in vain: the decision is deleted when all records have been written.
func (c *Catalog) settleBatch(ctx context.Context, record *tableRecord, etag string) (*tableRecord, string, error) {
	p := record.Pending
	d, err := c.decisionOf(ctx, p.Batch)
	if err != nil {
		return nil, "", err
	}
	ended := d.Outcome
	if ended == undecided {
		var now tableRecord
		if read, err := c.read(ctx, tableKey(record.ID), &now); err != nil || read != etag {
			return nil, "", changedMeanwhile(err)
		}
		if !c.now().Before(p.Until) {
			// Who may not write, or has no answer, has still seen it undecided.
			if ended, err = c.decide(ctx, p.Batch, decision{Outcome: aborted}); err != nil {
				ended = undecided
			}
		}
	}
	switch {
	case ended == undecided && p.New:
		return nil, "", errArriving
	case ended == undecided:
		return record, etag, nil
	}
	done, err := c.finish(ctx, record, etag, ended)
	switch {
	case done == nil:
		return nil, "", err
	case gone(err):
		return nil, "", objectstore.ErrPrecondition
	case done.after == nil: // if the write failed it was a service to the next caller
		return nil, "", objectstore.ErrNotExist
	case err == nil:
		etag = done.etag
	}
	return done.after, etag, nil
}

// changedMeanwhile is the error of a record that could not be read again as it was.
func changedMeanwhile(err error) error {
	if err == nil || errors.Is(err, objectstore.ErrNotExist) {
		return objectstore.ErrPrecondition
	}
	return err
}

// A finished share of a batch is what became of a record.
type finished struct {
	after *tableRecord // nil: the name stands for no table
	etag  string
	made  map[uint64]objectstore.Info // versions; others are there under their numbers
}

// finish does to one record what its batch was decided to do. The result is nil when that
// could not be done, and the error one that is gone when the record is not that any more.
func (c *Catalog) finish(ctx context.Context, record *tableRecord, etag string, ended outcome) (*finished, error) {
	p := record.Pending
	done := &finished{after: record.without()}
	if ended == committed {
		if done.after = record.with(); done.after != nil {
			if err := c.makeVersions(ctx, done); err != nil {
				return nil, unfinished(record.ID, err)
			}
			if err := c.deleteVersions(ctx, done.after, p.Old); err != nil {
				return nil, unfinished(record.ID, err)
			}
		}
	}
	var err error
	if done.after == nil {
		err = c.remove(ctx, tableKey(record.ID), record.UID, etag)
	} else {
		done.etag, err = c.write(ctx, tableKey(record.ID), done.after, objectstore.Condition{IfMatch: etag})
	}
	if err == nil && ended == aborted {
		c.deleteCopies(ctx, p.Next)
	}
	if err == nil && ended == committed && p.Gone {
		c.releaseOf(ctx, record)
	}
	return done, err
}

// unfinished is the answer to who asks for a table of which a committed batch has something
// left to do, that cannot be done now.
func unfinished(id []string, err error) error {
	return &protocol.Error{
		Code: protocol.ServiceUnavailable, Message: fmt.Sprintf("a batch that changed table %s has not been finished there", display(id)),
		Detail: "whoever may write finishes it; retry", Err: err,
	}
}

// without is the record once its batch was aborted, nil for none.
func (r *tableRecord) without() *tableRecord {
	if r.Pending.New {
		return nil
	}
	return r.turned()
}

// turned is the record as it was before the batch, but for its turn: what was sent to be done
// to that one, and is still on its way, cannot happen any more.
func (r *tableRecord) turned() *tableRecord {
	before := *r
	before.Pending = nil
	before.Turn++
	return &before
}

// with is the record once its batch was committed, nil for none.
func (r *tableRecord) with() *tableRecord {
	p := r.Pending
	after := *r.turned()
	if p.Gone {
		if p.Then == nil {
			return nil
		}
		after = *p.Then
		after.Pending = nil
	}
	if len(p.Next) > 0 {
		before := after.Ledger
		if before == nil {
			before = &ledger{}
		}
		after.Ledger = before.with(p.Next...)
		after.Ledger.Batches++
	}
	return &after
}

// makeVersions makes the versions that a batch has put in the ledger. One whose place is taken
// gives way: the ledger must not say that it was made.
func (c *Catalog) makeVersions(ctx context.Context, done *finished) error {
	l := done.after.Ledger
	if l == nil || len(l.Next) == 0 {
		return nil
	}
	at, err := c.roots.Resolve(done.after.Location)
	if err != nil {
		return fmt.Errorf("location of table %s: %w", display(done.after.ID), err)
	}
	done.made = map[uint64]objectstore.Info{}
	var kept []entry
	for _, e := range l.Next {
		info, err := c.place(ctx, at, e, nil)
		switch {
		case err == nil:
			done.made[e.Version] = info
		case errors.Is(err, objectstore.ErrPrecondition):
			continue
		case !errors.Is(err, objectstore.ErrNotExist): // somebody made it before us, and somebody deleted it
			return fmt.Errorf("make version %d: %w", e.Version, err)
		}
		kept = append(kept, e)
	}
	settled := *l
	settled.Next = kept
	done.after.Ledger = &settled
	return nil
}

// deleteVersions deletes versions that a batch doomed, as far as they are still there.
func (c *Catalog) deleteVersions(ctx context.Context, record *tableRecord, old []oldVersion) error {
	if len(old) == 0 {
		return nil
	}
	at, err := c.roots.Resolve(record.Location)
	if err != nil {
		return fmt.Errorf("location of table %s: %w", display(record.ID), err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(batchFanOut)
	for _, v := range old {
		group.Go(func() error {
			err := at.Store.Delete(ctx, finalKey(at, v.Name), objectstore.Condition{IfMatch: v.ETag})
			if gone(err) {
				return nil
			}
			return err
		})
	}
	return group.Wait()
}

// doomed names versions that are to be deleted, from a listing of them.
func doomed(infos []objectstore.Info) []oldVersion {
	old := make([]oldVersion, len(infos))
	for i, info := range infos {
		old[i] = oldVersion{Name: path.Base(info.Key), ETag: info.ETag}
	}
	return old
}

// deleteCopies deletes the copies of manifests that nobody will need. What it fails at is
// garbage.
func (c *Catalog) deleteCopies(ctx context.Context, entries []entry) {
	for _, e := range entries {
		if e.Copy != "" {
			_ = c.store.Delete(ctx, e.Copy, objectstore.Condition{})
		}
	}
}
