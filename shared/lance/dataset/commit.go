package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/pause"
)

// A Commit is what a write made.
type Commit struct {
	Dataset *Dataset // the version that holds it
	Rows    int64    // rows written
}

// A Change is an operation to be committed. The files that it needs are on their way.
type Change struct {
	Read      *Dataset     // the version that it was worked out on; nil for a new table
	Operation pb.Operation // what it is to that version
	Fresh     bool         // read was the newest version just now
	guess     *guess       // that read is the newest version; nil: no guess
	// fits says whether the operation, worked out on a wrong guess, is the same on the
	// newest version; if not the commit is errGuess. Nil: it always is.
	fits func(newest *Dataset) bool
	Wait func() error // until the files are durable; nil: there are none
	// rowsKnown says that rebase knows which rows a Delete or Update deletes.
	RowsKnown bool
	// rebase says what the operation is to a later version, which it can be applied to as
	// far as the operations committed since then tell. It returns when its files are
	// durable; errRedo is an answer. Nil: the operation stays what it is.
	Rebase     func(ctx context.Context, base *Dataset, op pb.Operation) (pb.Operation, error)
	Properties map[string]string // of the transaction
	// apply makes the manifest of the next version; nil is operation.Apply.
	Apply func(base *Dataset, op pb.Operation) (*manifest.Manifest, error)
}

// onto returns the manifest of the version after base, which may be nil.
func (c *Change) onto(base *Dataset, op pb.Operation) (*manifest.Manifest, error) {
	apply := c.Apply
	if apply == nil {
		apply = func(base *Dataset, op pb.Operation) (*manifest.Manifest, error) {
			return operation.Apply(base.Manifest(), op)
		}
	}
	next, err := apply(base, op)
	if err != nil {
		return nil, err
	}
	return next, checkMetadata(base, next)
}

// checkMetadata refuses a version with more metadata than a table may have, unless it has less
// than the version before.
func checkMetadata(base *Dataset, next *manifest.Manifest) error {
	before, after := 0, next.MetadataBytes()
	if base != nil {
		before = base.Manifest().MetadataBytes()
	}
	if after > schema.MaxMetadataBytes && after > before {
		return fmt.Errorf("%w: the metadata of the table, its schema and its fields is %d bytes and would be %d; at most %d are possible",
			schema.ErrBounds, before, after, schema.MaxMetadataBytes)
	}
	return nil
}

// transaction returns what the change is stored as.
func (t *Table) transaction(ctx context.Context, c *Change) *pb.Transaction {
	txn := &pb.Transaction{UUID: t.newCommitID(), Operation: c.Operation, Properties: signed(c.Properties, t.session.author(ctx))}
	if clone, ok := c.Operation.(*pb.Clone); ok {
		txn.ReadVersion = clone.RefVersion
	} else if c.Read != nil {
		txn.ReadVersion = c.Read.Version()
	}
	return txn
}

func (t *Table) newCommitID() string {
	if t.commitID == nil {
		return uuid.NewString()
	}
	return t.commitID()
}

const (
	maxCommitAttempts = 40
	firstPause        = 5 * time.Millisecond
	maxPause          = 500 * time.Millisecond
	// putTime is allowed for the one request that decides a commit, also past the end
	// of the request that asked for it: once it is sent its outcome must be learnt.
	putTime = 30 * time.Second
)

// Commit makes the next version of the table by one conditional put. Beforehand, all side
// by side: the files become durable, the transaction file is written, the newest version is
// looked for, and the table is confirmed. Then it waits for its turn, in which it may be
// committed together with others (group.go). When other processes commit first, the change
// is checked against theirs and put after them.
//
// The error is ErrConflict, errRedo, what the table's confirm said, or that of the storage.
// objectstore.ErrUnknownOutcome means that the version may or may not be there.
func (t *Table) Commit(ctx context.Context, c *Change) (*Dataset, error) {
	txn := t.transaction(ctx, c)
	next, err := c.onto(c.Read, txn.Operation)
	if err != nil {
		return nil, err
	}
	newest := c.Read
	joins := c.joins(t)
	// Among others that wait it will most likely be a part of their transaction.
	stored := !joins || !t.session.crowded(t.at.URI)
	if err := t.prepare(ctx, c, txn, stored, &newest); err != nil {
		return nil, err
	}
	if c.guess != nil && newest != c.Read {
		if next, err = t.reguess(ctx, c, txn, newest); err != nil {
			return nil, err
		}
	}
	return t.session.inTurn(ctx, &ready{
		table: t, change: c, txn: txn, stored: stored, next: next, base: c.Read, newest: newest,
		joins: joins, settled: make(chan struct{}),
	})
}

// A ready commit waits for its turn: its files are durable, its table is confirmed.
type ready struct {
	table  *Table
	change *Change
	txn    *pb.Transaction
	stored bool               // the transaction file is there
	next   *manifest.Manifest // the version after base
	base   *Dataset           // nil for a new table
	newest *Dataset           // the newest version known when it became ready

	joins   bool          // it may be committed together with others
	once    sync.Once     // settles it
	settled chan struct{} // closed when others have committed it, or failed to
	made    *Dataset      // set before settled, as is err
	err     error
}

// commit puts the version, which is nobody else's turn to do in this process.
func (r *ready) commit(ctx context.Context) (*Dataset, error) {
	t, newest := r.table, r.newest
	if k, ok := t.known(); ok && newest != nil && k.dataset.Version() > newest.Version() {
		newest = k.dataset
	}
	if !r.stored {
		if err := t.putTransaction(ctx, r.txn); err != nil {
			return nil, err
		}
	}
	for attempt := range maxCommitAttempts {
		var listed time.Time
		var err error
		if newest, listed, err = t.fresh(ctx, newest); err != nil {
			return nil, err
		}
		if newest != nil && r.base != nil && !sameManifest(newest, r.base) {
			if r.next, err = t.rebase(ctx, r.change, r.txn, r.base, newest); err != nil {
				return t.found(ctx, err)
			}
			r.base = newest
		}
		made, err := t.put(ctx, r.next, r.txn, r.base)
		if err == nil {
			err = t.checkPlace(ctx, made, listed)
		}
		if !errors.Is(err, objectstore.ErrPrecondition) {
			return made, err
		}
		if newest, err = t.after(ctx, r.base); err != nil {
			return nil, err
		}
		if attempt > 0 {
			if err := pause.Backoff(ctx, firstPause, maxPause, attempt); err != nil {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("%w: lost %d races for the next version", ErrConflict, maxCommitAttempts)
}

// prepare does what a commit needs before its put. The files of the change, the look for newer
// versions and the one at the table's name are on their way already, and are waited for.
func (t *Table) prepare(ctx context.Context, c *Change, txn *pb.Transaction, store bool, newest **Dataset) error {
	group, beside := errgroup.WithContext(ctx)
	if t.branch != nil && c.Read != nil {
		group.Go(func() error { return t.branch.confirm(beside) })
	}
	if c.guess == nil && c.Read != nil && !c.Fresh {
		group.Go(func() (err error) {
			k, ok := t.known()
			if !ok {
				k = known{dataset: c.Read, seen: t.session.now()}
			}
			*newest, err = t.newest(beside, k)
			return err
		})
	}
	var failed error
	ended := func(err error) { failed = cmp.Or(failed, err) }
	if store {
		ended(t.putTransaction(ctx, txn))
	}
	if c.Wait != nil {
		ended(c.Wait())
	}
	ended(t.Confirm())
	if c.guess != nil {
		found, err := c.guess.newest()
		*newest = found
		ended(err)
	}
	ended(group.Wait())
	return failed
}

// errGuess says that a change must be worked out on the newest version, as the one that it
// was worked out on was old before it began.
var errGuess = fmt.Errorf("%w: it was begun on an old version", errRedo)

// reguess makes the change one of the newest version: it was begun after that was there.
func (t *Table) reguess(ctx context.Context, c *Change, txn *pb.Transaction, newest *Dataset) (*manifest.Manifest, error) {
	if err := newest.Manifest().CheckWritable(); err != nil {
		return nil, err
	}
	if c.fits != nil && !c.fits(newest) {
		return nil, errGuess
	}
	c.Read, txn.ReadVersion = newest, newest.Version()
	if err := t.putTransaction(ctx, txn); err != nil {
		return nil, err
	}
	return c.onto(newest, txn.Operation)
}

// putTransaction writes the transaction file. The manifest has the transaction too; the
// file is for those that read only that.
func (t *Table) putTransaction(ctx context.Context, txn *pb.Transaction) error {
	var e pb.Encoder
	txn.Marshal(&e)
	key := manifest.TransactionKey(t.at.Prefix, manifest.TransactionName(txn.ReadVersion, txn.UUID))
	_, err := t.at.Store.Put(ctx, key, e.B, objectstore.Condition{})
	return err
}

// ErrTableExists says that a table to be created is there.
var ErrTableExists = errors.New("a table exists at this location")
