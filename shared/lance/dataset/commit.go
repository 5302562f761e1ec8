package dataset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/objectstore"
)

// A Commit is what a write made.
type Commit struct {
	Dataset *Dataset // the version that holds it
	Rows    int64    // rows written
}

// A change is what a write does to a table. The files that it needs are on their way
// when it is committed.
type change struct {
	read    *Dataset     // the version that it was worked out on; nil for a new table
	fresh   bool         // read was seen to be the newest just now
	wait    func() error // until the files are durable
	confirm func() error // that the table is still the one meant; may be nil
	// onto says what the change is to a version, and what the next version is then. It
	// is asked again when others have committed meanwhile. errRedo is an answer.
	onto func(ctx context.Context, base *Dataset) (pb.Operation, *manifest.Manifest, error)
}

const (
	maxCommitAttempts = 40
	firstPause        = 5 * time.Millisecond
	maxPause          = 500 * time.Millisecond
	// putTime is allowed for the one request that decides a commit, also past the end
	// of the request that asked for it: once it is sent its outcome must be learnt.
	putTime = 30 * time.Second
)

// commit makes the next version of the table by one conditional put. Beforehand, all side
// by side: the files become durable, the transaction file is written, the newest version is
// looked for, and the table is confirmed. When others commit first, the change is checked
// against theirs and put after them.
//
// The error is ErrConflict, errRedo, what confirm said, or that of the storage.
// objectstore.ErrUnknownOutcome means that the version may or may not be there.
func (t *Table) commit(ctx context.Context, c *change) (*Dataset, error) {
	txn := &pb.Transaction{UUID: uuid.NewString()}
	if c.read != nil {
		txn.ReadVersion = c.read.Version()
	}
	operation, next, err := c.onto(ctx, c.read)
	if err != nil {
		return nil, err
	}
	txn.Operation = operation
	newest := c.read
	if err := t.prepare(ctx, c, txn, &newest); err != nil {
		return nil, err
	}
	leave, ok := t.session.enqueue(t.uri, ctx.Done())
	if !ok {
		return nil, ctx.Err()
	}
	defer leave()
	if k, ok := t.known(); ok && newest != nil && k.dataset.Version() > newest.Version() {
		newest = k.dataset
	}
	base := c.read // what next was made of
	for attempt := range maxCommitAttempts {
		if newest != base {
			if next, err = t.rebase(ctx, c, txn, base, newest); err != nil {
				return nil, err
			}
			base = newest
		}
		made, err := t.put(ctx, next, txn, base)
		if made != nil || !errors.Is(err, objectstore.ErrPrecondition) {
			return made, err
		}
		if newest, err = t.after(ctx, base); err != nil {
			return nil, err
		}
		if attempt > 0 {
			if err := pause(ctx, attempt); err != nil {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("%w: lost %d races for the next version", ErrConflict, maxCommitAttempts)
}

// prepare does what a commit needs before its put.
func (t *Table) prepare(ctx context.Context, c *change, txn *pb.Transaction, newest **Dataset) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(c.wait)
	group.Go(func() error {
		var e pb.Encoder
		txn.Marshal(&e)
		key := manifest.TransactionKey(t.prefix, manifest.TransactionName(txn.ReadVersion, txn.UUID))
		_, err := t.store.Put(ctx, key, e.B, objectstore.Condition{})
		return err
	})
	if c.confirm != nil {
		group.Go(c.confirm)
	}
	if c.read != nil && !c.fresh {
		group.Go(func() error {
			k, ok := t.known()
			if !ok {
				k = known{dataset: c.read, seen: t.session.now(), listed: t.session.now()}
			}
			var err error
			*newest, err = t.probe(ctx, k)
			return err
		})
	}
	return group.Wait()
}

// rebase checks the change against the versions after base, up to newest, and makes the
// version after newest.
func (t *Table) rebase(ctx context.Context, c *change, txn *pb.Transaction, base, newest *Dataset) (*manifest.Manifest, error) {
	for v := base.Version() + 1; v <= newest.Version(); v++ {
		d := newest
		if v < newest.Version() {
			var err error
			d, err = t.load(ctx, v, newest.scheme(), 0)
			if errors.Is(err, ErrNoVersion) {
				continue // cleaned up
			}
			if err != nil {
				return nil, err
			}
		}
		theirs, err := d.manifest.ReadTransaction(ctx, t.store, t.prefix)
		if err != nil {
			return nil, err
		}
		if err := conflictWith(txn.Operation, theirs, v); err != nil {
			return nil, err
		}
	}
	operation, next, err := c.onto(ctx, newest)
	if err != nil {
		return nil, err
	}
	txn.Operation = operation
	return next, nil
}

// put creates the manifest of the version after base. When somebody has made that
// version the error is objectstore.ErrPrecondition, unless it was us: an earlier try of
// the same request, whose answer was lost.
func (t *Table) put(ctx context.Context, next *manifest.Manifest, txn *pb.Transaction, base *Dataset) (*Dataset, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	next.SetTime(t.session.now())
	next.TransactionFile = manifest.TransactionName(txn.ReadVersion, txn.UUID)
	file, err := next.Encode(txn)
	if err != nil {
		return nil, err
	}
	scheme := manifest.V2
	if base != nil {
		scheme = base.scheme()
	}
	key := manifest.Key(t.prefix, next.Version, scheme)
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), putTime)
	defer done()
	info, err := t.store.Put(ctx, key, file, objectstore.Condition{IfAbsent: true})
	switch {
	case err == nil:
		return t.committed(next, info, scheme)
	case errors.Is(err, objectstore.ErrPrecondition), errors.Is(err, objectstore.ErrUnknownOutcome):
		return t.settle(ctx, next.Version, scheme, txn, err)
	}
	return nil, fmt.Errorf("commit version %d of %s: %w", next.Version, t.uri, err)
}

// settle reads back the version that a put of ours may have made.
func (t *Table) settle(ctx context.Context, version uint64, scheme manifest.Scheme, txn *pb.Transaction, cause error) (*Dataset, error) {
	there, err := t.load(ctx, version, scheme, 0)
	if err != nil {
		return nil, fmt.Errorf("commit version %d of %s: %w", version, t.uri, errors.Join(objectstore.ErrUnknownOutcome, cause, err))
	}
	theirs, err := there.manifest.ReadTransaction(ctx, t.store, t.prefix)
	switch {
	case errors.Is(err, manifest.ErrNoTransaction):
		return nil, objectstore.ErrPrecondition // ours would have one
	case err != nil:
		// To take our own version for another's would commit the change twice.
		return nil, fmt.Errorf("commit version %d of %s: %w", version, t.uri, errors.Join(objectstore.ErrUnknownOutcome, cause, err))
	case theirs.UUID != txn.UUID:
		return nil, objectstore.ErrPrecondition
	}
	t.noteCommitted(there)
	return there, nil
}

// committed makes a dataset of the manifest just written. Its transaction, should anyone
// ask, is in the transaction file.
func (t *Table) committed(m *manifest.Manifest, info objectstore.Info, scheme manifest.Scheme) (*Dataset, error) {
	m.Location = manifest.Location{Key: info.Key, Size: info.Size, ETag: info.ETag, Version: m.Version, Scheme: scheme}
	d, err := newDataset(t, m)
	if err != nil {
		return nil, err
	}
	t.noteCommitted(d)
	return d, nil
}

// noteCommitted makes a version that we put ourselves the newest known. That it could be
// put is proof that there was none after it, as good as a listing.
func (t *Table) noteCommitted(d *Dataset) {
	now := t.session.now()
	t.remember(known{dataset: d, seen: now, listed: now})
}

// after finds the newest version, knowing that there is one after base.
func (t *Table) after(ctx context.Context, base *Dataset) (*Dataset, error) {
	if base == nil {
		return nil, ErrTableExists
	}
	now := t.session.now()
	return t.probe(ctx, known{dataset: base, seen: now, listed: now})
}

// ErrTableExists says that a table to be created is there.
var ErrTableExists = errors.New("a table exists at this location")

// pause waits a little longer after each lost race, by chance, so that writers that
// collide once do not do so again.
func pause(ctx context.Context, attempt int) error {
	limit := min(firstPause<<min(attempt, 10), maxPause)
	timer := time.NewTimer(rand.N(limit))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
