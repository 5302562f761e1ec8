package dataset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/objectstore"
)

// A Commit is what a write made.
type Commit struct {
	Dataset *Dataset // the version that holds it
	Rows    int64    // rows written
}

// A change is an operation to be committed. The files that it needs are on their way.
type change struct {
	read      *Dataset     // the version that it was worked out on; nil for a new table
	operation pb.Operation // what it is to that version
	fresh     bool         // read was the newest version just now
	guess     *guess       // that read is the newest version; nil: no guess
	// fits says whether the operation, worked out on a wrong guess, is the same on the
	// newest version; if not the commit is errGuess. Nil: it always is.
	fits    func(newest *Dataset) bool
	wait    func() error // until the files are durable; nil: there are none
	confirm func() error // that the table is still the one meant; may be nil
	// rowsKnown says that rebase knows which rows a Delete or Update deletes.
	rowsKnown bool
	// rebase says what the operation is to a later version, which it can be applied to as
	// far as the operations committed since then tell. It returns when its files are
	// durable; errRedo is an answer. Nil: the operation stays what it is.
	rebase     func(ctx context.Context, base *Dataset, op pb.Operation) (pb.Operation, error)
	properties map[string]string // of the transaction
	// apply makes the manifest of the next version; nil is operation.Apply.
	apply func(base *Dataset, op pb.Operation) (*manifest.Manifest, error)
}

// onto returns the manifest of the version after base, which may be nil.
func (c *change) onto(base *Dataset, op pb.Operation) (*manifest.Manifest, error) {
	if c.apply != nil {
		return c.apply(base, op)
	}
	return operation.Apply(base.manifest, op)
}

// transaction returns what the change is stored as.
func (t *Table) transaction(c *change) *pb.Transaction {
	txn := &pb.Transaction{UUID: t.newCommitID(), Operation: c.operation, Properties: c.properties}
	if clone, ok := c.operation.(*pb.Clone); ok {
		txn.ReadVersion = clone.RefVersion
	} else if c.read != nil {
		txn.ReadVersion = c.read.Version()
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

// commit makes the next version of the table by one conditional put. Beforehand, all side
// by side: the files become durable, the transaction file is written, the newest version is
// looked for, and the table is confirmed. Then it waits for its turn, in which it may be
// committed together with others (group.go). When other processes commit first, the change
// is checked against theirs and put after them.
//
// The error is ErrConflict, errRedo, what confirm said, or that of the storage.
// objectstore.ErrUnknownOutcome means that the version may or may not be there.
func (t *Table) commit(ctx context.Context, c *change) (*Dataset, error) {
	txn := t.transaction(c)
	next, err := c.onto(c.read, txn.Operation)
	if err != nil {
		return nil, err
	}
	newest := c.read
	joins := c.joins(t)
	// Among others that wait it will most likely be a part of their transaction.
	stored := !joins || !t.session.crowded(t.uri)
	if err := t.prepare(ctx, c, txn, stored, &newest); err != nil {
		return nil, err
	}
	if c.guess != nil && newest != c.read {
		if next, err = t.reguess(ctx, c, txn, newest); err != nil {
			return nil, err
		}
	}
	return t.session.inTurn(ctx, &ready{
		table: t, change: c, txn: txn, stored: stored, next: next, base: c.read, newest: newest,
		joins: joins, settled: make(chan struct{}),
	})
}

// A ready commit waits for its turn: its files are durable, its table is confirmed.
type ready struct {
	table  *Table
	change *change
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
		if newest != r.base && newest.Version() > r.base.Version() {
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
			if err := pause(ctx, attempt); err != nil {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("%w: lost %d races for the next version", ErrConflict, maxCommitAttempts)
}

// prepare does what a commit needs before its put.
func (t *Table) prepare(ctx context.Context, c *change, txn *pb.Transaction, store bool, newest **Dataset) error {
	group, ctx := errgroup.WithContext(ctx)
	if c.wait != nil {
		group.Go(c.wait)
	}
	if store {
		group.Go(func() error { return t.putTransaction(ctx, txn) })
	}
	if c.confirm != nil {
		group.Go(c.confirm)
	}
	if t.branch != nil {
		group.Go(func() error { return t.branch.confirm(ctx) })
	}
	switch {
	case c.guess != nil && c.guess.right():
	case c.guess != nil:
		group.Go(func() (err error) {
			*newest, err = c.guess.newest()
			return err
		})
	case c.read != nil && !c.fresh:
		group.Go(func() error {
			k, ok := t.known()
			if !ok {
				k = known{dataset: c.read, seen: t.session.now()}
			}
			var err error
			*newest, err = t.newest(ctx, k)
			return err
		})
	}
	return group.Wait()
}

// errGuess says that a change must be worked out on the newest version, as the one that it
// was worked out on was old before it began.
var errGuess = fmt.Errorf("%w: it was begun on an old version", errRedo)

// reguess makes the change one of the newest version: it was begun after that was there.
func (t *Table) reguess(ctx context.Context, c *change, txn *pb.Transaction, newest *Dataset) (*manifest.Manifest, error) {
	if err := newest.manifest.CheckWritable(); err != nil {
		return nil, err
	}
	if c.fits != nil && !c.fits(newest) {
		return nil, errGuess
	}
	c.read, txn.ReadVersion = newest, newest.Version()
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
	key := manifest.TransactionKey(t.prefix, manifest.TransactionName(txn.ReadVersion, txn.UUID))
	_, err := t.store.Put(ctx, key, e.B, objectstore.Condition{})
	return err
}

// rebase checks the change against the versions after base, up to newest, and makes the
// version after newest.
func (t *Table) rebase(ctx context.Context, c *change, txn *pb.Transaction, base, newest *Dataset) (*manifest.Manifest, error) {
	op, err := t.checked(ctx, c, txn, base, newest)
	if err != nil {
		return nil, err
	}
	if c.rebase != nil {
		if op, err = c.rebase(ctx, newest, op); err != nil {
			return nil, err
		}
	}
	if op != txn.Operation { // as if it had been worked out on the newest version
		txn.Operation, txn.ReadVersion = op, newest.Version()
		if err := t.putTransaction(ctx, txn); err != nil {
			return nil, err
		}
	}
	return c.onto(newest, op)
}

// checked returns what the operation is after those that made the versions after base, up
// to newest, as far as these tell, or says that it cannot come after them, or that it is
// one of them.
func (t *Table) checked(ctx context.Context, c *change, txn *pb.Transaction, base, newest *Dataset) (pb.Operation, error) {
	since, err := t.transactions(ctx, base, newest)
	if err != nil {
		return nil, err
	}
	op := txn.Operation
	for _, theirs := range since {
		if holds(theirs.Transaction, txn.UUID) {
			return nil, &madeBefore{theirs.version}
		}
		if op, err = c.after(op, theirs); err != nil {
			return nil, err
		}
	}
	return op, nil
}

// A committed transaction made a version.
type committed struct {
	*pb.Transaction
	version uint64
}

// transactions reads, several at a time, what made the versions after base up to newest.
// Those that have been cleaned up are left out, as native writers do.
func (t *Table) transactions(ctx context.Context, base, newest *Dataset) ([]committed, error) {
	found := make([]committed, newest.Version()-base.Version())
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxConcurrentReads)
	for i := range found {
		version := base.Version() + 1 + uint64(i)
		if at := int(newest.Version() - version); at < len(newest.recent) {
			found[i] = newest.recent[len(newest.recent)-1-at]
			continue
		}
		group.Go(func() error {
			d := newest
			if version < newest.Version() {
				var err error
				if d, err = t.load(ctx, version, newest.scheme(), 0); errors.Is(err, ErrNoVersion) {
					return nil
				} else if err != nil {
					return err
				}
			}
			txn, err := d.manifest.ReadTransaction(ctx, t.store, t.prefix)
			found[i] = committed{txn, version}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(c committed) bool { return c.Transaction == nil }), nil
}

// after returns what the operation is after one that was committed, or says that it
// cannot come after it.
func (c *change) after(op pb.Operation, theirs committed) (pb.Operation, error) {
	ours := operation.Ours{Operation: op}
	if c.rowsKnown {
		ours.ReadFragment = func(id uint64) *pb.Fragment {
			if f := c.read.fragment(id); f != nil {
				return f.meta
			}
			return nil
		}
	}
	switch ours.Check(theirs.Operation) {
	case operation.Redo:
		return nil, fmt.Errorf("%w: %s after the %s of version %d", errRedo, op.OperationName(), theirs.OperationName(), theirs.version)
	case operation.Incompatible:
		return nil, fmt.Errorf("%w: %s cannot be committed after the %s of version %d", ErrConflict,
			op.OperationName(), theirs.OperationName(), theirs.version)
	}
	return operation.Rebased(op, theirs.Operation)
}

// ErrConflict says that a change cannot be made because of one that was committed since
// the version it was made for. Its text names both.
var ErrConflict = errors.New("conflicting change")

// errRedo says that a change must be worked out again on the newer version, where it may
// well succeed: it depends on what has changed.
var errRedo = fmt.Errorf("%w: work it out again on the newer version", ErrConflict)

// IsRowsChanged says whether a write should be worked out again on the newest version,
// where it may well succeed.
func IsRowsChanged(err error) bool { return errors.Is(err, errRedo) }

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
	sent := t.session.now()
	for try := 0; ; try++ {
		var info objectstore.Info
		if t.publish != nil {
			info, err = t.publish(ctx, next.Version, scheme, file)
		} else {
			info, err = t.store.Put(ctx, key, file, objectstore.Condition{IfAbsent: true})
		}
		switch {
		case err == nil:
			return t.made(next, info, scheme, recentAfter(base, committed{txn, next.Version}), sent)
		case !errors.Is(err, objectstore.ErrPrecondition) && !errors.Is(err, objectstore.ErrUnknownOutcome):
			return nil, fmt.Errorf("commit version %d of %s: %w", next.Version, t.uri, err)
		}
		made, err := t.settle(ctx, next.Version, scheme, txn, sent, err)
		if !errors.Is(err, objectstore.ErrUnknownOutcome) || try == maxSettles {
			return made, err
		}
		// To put the same again does no harm, wherever the first put is, and may tell.
		if pause(ctx, try+4) != nil {
			return made, err
		}
	}
}

// maxSettles is how often the storage is asked again what became of a put.
const maxSettles = 4

// settle reads back the version that a put of ours may have made.
func (t *Table) settle(ctx context.Context, version uint64, scheme manifest.Scheme, txn *pb.Transaction, sent time.Time, cause error) (*Dataset, error) {
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
	t.noteCommitted(there, sent)
	return t.own(there), nil
}

// made makes a dataset of the manifest just written. recent is what led to it, as far as
// that is remembered, and sent when the first put was.
func (t *Table) made(m *manifest.Manifest, info objectstore.Info, scheme manifest.Scheme, recent []committed, sent time.Time) (*Dataset, error) {
	m.Location = manifest.Location{Key: info.Key, Size: info.Size, ETag: info.ETag, Version: m.Version, Scheme: scheme}
	d, err := newDataset(t, m)
	if err != nil {
		return nil, err
	}
	d.recent = recent
	t.noteCommitted(d, sent)
	return t.own(d), nil
}

// maxRecent bounds how many transactions are remembered with a version.
const maxRecent = 32

// recentAfter returns the transactions that led to a version, of which the last made it,
// as far as they are remembered: commits that became ready on a version a little older are
// checked against them without reading anything. Those that name all files of a table are not kept.
func recentAfter(base *Dataset, last committed) []committed {
	switch last.Operation.(type) {
	case *pb.Append, *pb.Delete, *pb.Update:
	default:
		return nil
	}
	var before []committed
	if base != nil {
		before = base.recent[max(0, len(base.recent)-maxRecent+1):]
	}
	return append(slices.Clone(before), last)
}

// noteCommitted makes a version that we put ourselves the newest known. That it could be
// put is proof that there was none after it when it was sent, as good as a listing.
func (t *Table) noteCommitted(d *Dataset, sent time.Time) {
	t.remember(known{dataset: d, seen: t.session.now(), listed: sent})
}

// after finds the newest version, knowing that there is one after base.
func (t *Table) after(ctx context.Context, base *Dataset) (*Dataset, error) {
	if base == nil {
		return nil, ErrTableExists
	}
	if k, ok := t.known(); ok {
		return t.newest(ctx, k)
	}
	return t.list(ctx)
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
