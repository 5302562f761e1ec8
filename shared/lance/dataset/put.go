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
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/storage/objectstore"
)

// put creates the manifest of the version after base. If the version exists, the error is
// objectstore.ErrPrecondition, unless an earlier attempt of this very commit made it and its answer
// was lost.
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
		// A repeated put is harmless wherever the first one is, and its answer may reveal the
		// outcome.
		if backoff.Wait(ctx, firstPause, maxPause, try+4) != nil {
			return made, err
		}
	}
}

// Recommit commits a change again in place of the manifest there, which an equal change made. It
// returns objectstore.ErrPrecondition if that manifest was replaced or deleted.
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

// maxSettles bounds the attempts to learn the outcome of a put.
const maxSettles = 4

// settle reads the version that a put with a lost answer may have made. The UUID of its transaction
// shows whether the put was ours.
func (t *Table) settle(ctx context.Context, version uint64, scheme manifest.Scheme, txn *pb.Transaction, sent time.Time, cause error) (*Dataset, error) {
	there, err := t.load(ctx, version, scheme)
	if err != nil {
		return nil, fmt.Errorf("commit version %d of %s: %w", version, t.at.URI, errors.Join(objectstore.ErrUnknownOutcome, cause, err))
	}
	theirs, err := there.Manifest().ReadTransaction(ctx, t.at.Store, t.at.Prefix)
	switch {
	case errors.Is(err, manifest.ErrNoTransaction):
		return nil, objectstore.ErrPrecondition // our manifests have a transaction
	case err != nil:
		// To mistake our own version for another writer's would commit the change twice.
		return nil, fmt.Errorf("commit version %d of %s: %w", version, t.at.URI, errors.Join(objectstore.ErrUnknownOutcome, cause, err))
	case theirs.UUID != txn.UUID:
		return nil, objectstore.ErrPrecondition
	}
	t.noteCommitted(there, sent)
	return t.own(there), nil
}

// made opens the manifest just written. recent holds the remembered transactions that led to it,
// and sent is the time of the first put.
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

// maxRecent bounds the transactions remembered with a version.
const maxRecent = 32

// recentAfter returns the remembered transactions up to last, the newest. With them, a commit that
// is a few versions behind is checked for conflicts without reads. Operations that list all files
// of a table are too large to keep; they clear the memory.
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

// noteCommitted makes our own new version the newest known. Its conditional put proves that no
// later version existed when it was sent, so it counts as a listing.
func (t *Table) noteCommitted(d *Dataset, sent time.Time) {
	t.remember(known{dataset: d, seen: t.session.now(), listed: sent})
}

// after finds the newest version once a version after base is known to exist.
func (t *Table) after(ctx context.Context, base *Dataset) (*Dataset, error) {
	if base == nil {
		return nil, ErrTableExists
	}
	if k, ok := t.known(); ok {
		return t.newest(ctx, k)
	}
	return t.list(ctx)
}
