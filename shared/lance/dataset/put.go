package dataset

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/pause"
)

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
	key := manifest.Key(t.at.Prefix, next.Version, scheme)
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), putTime)
	defer done()
	sent := t.session.now()
	for try := 0; ; try++ {
		var info objectstore.Info
		if t.publish != nil {
			info, err = t.publish(ctx, next.Version, scheme, file)
		} else {
			info, err = t.at.Store.Put(ctx, key, file, objectstore.Condition{IfAbsent: true})
		}
		switch {
		case err == nil:
			return t.made(next, info, scheme, recentAfter(base, Committed{txn, next.Version}), sent)
		case !errors.Is(err, objectstore.ErrPrecondition) && !errors.Is(err, objectstore.ErrUnknownOutcome):
			return nil, fmt.Errorf("commit version %d of %s: %w", next.Version, t.at.URI, err)
		}
		made, err := t.settle(ctx, next.Version, scheme, txn, sent, err)
		if !errors.Is(err, objectstore.ErrUnknownOutcome) || try == maxSettles {
			return made, err
		}
		// To put the same again does no harm, wherever the first put is, and may tell.
		if pause.Backoff(ctx, firstPause, maxPause, try+4) != nil {
			return made, err
		}
	}
}

// Recommit makes a version of a change again, in place of the manifest there, which an equal change made. The error is
// objectstore.ErrPrecondition if that manifest was replaced or deleted.
func (t *Table) Recommit(ctx context.Context, c *Change, there objectstore.Info) (*Dataset, error) {
	next, err := c.onto(c.Read, c.Operation)
	if err != nil {
		return nil, err
	}
	txn := t.transaction(ctx, c)
	if err := t.putTransaction(ctx, txn); err != nil {
		return nil, err
	}
	next.SetTime(t.session.now())
	next.TransactionFile = manifest.TransactionName(txn.ReadVersion, txn.UUID)
	file, err := next.Encode(txn)
	if err != nil {
		return nil, err
	}
	sent := t.session.now()
	info, err := t.at.Store.Put(ctx, there.Key, file, objectstore.Condition{IfMatch: there.ETag})
	if err != nil {
		return nil, fmt.Errorf("replace %s of %s: %w", there.Key, t.at.URI, err)
	}
	_, scheme, _ := manifest.ParseName(path.Base(there.Key))
	return t.made(next, info, scheme, nil, sent)
}

// maxSettles is how often the storage is asked again what became of a put.
const maxSettles = 4

// settle reads back the version that a put of ours may have made.
func (t *Table) settle(ctx context.Context, version uint64, scheme manifest.Scheme, txn *pb.Transaction, sent time.Time, cause error) (*Dataset, error) {
	there, err := t.load(ctx, version, scheme)
	if err != nil {
		return nil, fmt.Errorf("commit version %d of %s: %w", version, t.at.URI, errors.Join(objectstore.ErrUnknownOutcome, cause, err))
	}
	theirs, err := there.Manifest().ReadTransaction(ctx, t.at.Store, t.at.Prefix)
	switch {
	case errors.Is(err, manifest.ErrNoTransaction):
		return nil, objectstore.ErrPrecondition // ours would have one
	case err != nil:
		// To take our own version for another's would commit the change twice.
		return nil, fmt.Errorf("commit version %d of %s: %w", version, t.at.URI, errors.Join(objectstore.ErrUnknownOutcome, cause, err))
	case theirs.UUID != txn.UUID:
		return nil, objectstore.ErrPrecondition
	}
	t.noteCommitted(there, sent)
	return t.own(there), nil
}

// made makes a dataset of the manifest just written. recent is what led to it, as far as
// that is remembered, and sent when the first put was.
func (t *Table) made(m *manifest.Manifest, info objectstore.Info, scheme manifest.Scheme, recent []Committed, sent time.Time) (*Dataset, error) {
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
func recentAfter(base *Dataset, last Committed) []Committed {
	switch last.Operation.(type) {
	case *pb.Append, *pb.Delete, *pb.Update:
	default:
		return nil
	}
	var before []Committed
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
