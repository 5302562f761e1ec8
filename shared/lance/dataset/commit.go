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
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/storage/objectstore"
)

// A Commit is the result of a write.
type Commit struct {
	Dataset *Dataset // the new version
	Rows    int64    // rows written
}

// A Change is an operation to commit. Its files may still be uploading; see Wait.
type Change struct {
	Read      *Dataset     // the version that it was planned on; nil for a new table
	Operation pb.Operation // the operation relative to Read
	Fresh     bool         // Read was the newest version a moment ago
	guess     *guess       // Read is the cached newest version, being checked; nil if it was checked before
	// fits reports whether an operation planned on a stale version is still valid on the newest. If
	// not, the commit fails with errGuess. Nil means always.
	fits func(newest *Dataset) bool
	Wait func() error // waits until the files are durable; nil: there are none
	// RowsKnown reports that Rebase knows the deleted rows of a Delete or Update, so that a
	// concurrent change of the same fragments is no conflict yet.
	RowsKnown bool
	// Rebase returns the operation adapted to a newer version that has no conflicting commit. Files
	// that it writes are durable when it returns. It may fail with errRedo. Nil keeps the operation
	// unchanged.
	Rebase     func(ctx context.Context, base *Dataset, op pb.Operation) (pb.Operation, error)
	Properties map[string]string // of the transaction
	// Apply makes the manifest of the next version. Nil means operation.Apply.
	Apply func(base *Dataset, op pb.Operation) (*manifest.Manifest, error)
}

// onto returns the manifest that follows base. A nil base starts a table.
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

// checkMetadata enforces schema.MaxMetadataBytes. A table already above the limit may still commit
// versions that shrink its metadata.
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

// transaction returns the stored form of the change. Its UUID identifies the commit when the answer
// to a put is lost.
func (t *Table) transaction(ctx context.Context, c *Change) *pb.Transaction {
	txn := &pb.Transaction{UUID: t.newCommitID(), Operation: c.Operation, Properties: signed(c.Properties, t.session.author(ctx))}
	if clone, ok := c.Operation.(*pb.Clone); ok {
		txn.ReadVersion = clone.RefVersion
	} else if c.Read != nil {
		txn.ReadVersion = c.Read.Version()
	}
	return txn
}

// newCommitID returns the id set by [Table.CommitAs], or a new UUID.
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
	// putTime bounds the conditional put of a manifest. The put outlives the caller's context,
	// because once it is sent its outcome must be learnt.
	putTime = 30 * time.Second
)

// Commit creates the next version of the table by one conditional put. It first does four things in
// parallel: make the change's files durable, write the transaction file, look up the newest
// version, and confirm the table. It then waits for its turn in this process, where appends may be
// joined into one commit (group.go). If other processes commit first, the change is checked against
// their operations and retried on top.
//
// Errors are ErrConflict, errRedo, the error of the table's confirm function, and storage errors.
// After objectstore.ErrUnknownOutcome the version may or may not exist.
func (t *Table) Commit(ctx context.Context, c *Change) (*Dataset, error) {
	txn := t.transaction(ctx, c)
	next, err := c.onto(c.Read, txn.Operation)
	if err != nil {
		return nil, err
	}
	newest := c.Read
	joins := c.joins(t)
	// If others are waiting, this append will most likely join their transaction and needs no file
	// of its own.
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

// A ready commit waits for its turn. Its files are durable and its table is confirmed.
type ready struct {
	table  *Table
	change *Change
	txn    *pb.Transaction
	stored bool               // the transaction file exists
	next   *manifest.Manifest // the manifest that follows base
	base   *Dataset           // nil for a new table
	newest *Dataset           // the newest version known when the commit became ready

	joins   bool          // may share one transaction with other appends
	once    sync.Once     // guards settle
	settled chan struct{} // closed when another caller has finished this commit
	made    *Dataset      // valid once settled is closed, like err
	err     error
}

// commit puts the next version. The caller holds the table's turn.
func (r *ready) commit(ctx context.Context) (*Dataset, error) {
	t, newest := r.table, r.newest
	// A commit of this process while r waited may have made a newer version.
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
		// Another writer made the version: find the newest and try again on top of it.
		if newest, err = t.after(ctx, r.base); err != nil {
			return nil, err
		}
		// The first retry is immediate; only repeated races need a pause.
		if attempt > 0 {
			if err := backoff.Wait(ctx, firstPause, maxPause, attempt); err != nil {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("%w: lost %d races for the next version", ErrConflict, maxCommitAttempts)
}

// prepare completes the preconditions of a commit in parallel: files, transaction file, newest
// version, branch and confirmation. It stores the newest version in *newest.
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
	// Wait for every step even after an error, so that none runs on in the background.
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

// errGuess reports that the cached version was stale before the write began, so the change must be
// planned again on the newest version.
var errGuess = fmt.Errorf("%w: it was begun on an old version", errRedo)

// reguess moves the change from its stale guess to newest. That is exact, not a rebase: the newest
// version existed before the write began.
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

// putTransaction writes the transaction file. The manifest embeds the same transaction; the
// separate file serves readers that know only the file.
func (t *Table) putTransaction(ctx context.Context, txn *pb.Transaction) error {
	var e pb.Encoder
	txn.Marshal(&e)
	key := manifest.TransactionKey(t.at.Prefix, manifest.TransactionName(txn.ReadVersion, txn.UUID))
	_, err := t.at.Store.Put(ctx, key, e.B, objectstore.Condition{})
	return err
}

// ErrTableExists reports that the location already holds a table.
var ErrTableExists = errors.New("a table exists at this location")
