package dataset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/storage/objectstore"
)

// MaxClockSkew bounds the assumed difference between the clocks of two writers.
const MaxClockSkew = 5 * time.Minute

// Package manifest describes how writers avoid the version numbers that a cleanup deleted.

// newest finds the newest version for a writer. The underlying listing must still be fresh enough
// for the put that follows.
func (t *Table) newest(ctx context.Context, k known) (*Dataset, error) {
	if t.stale(k.listed) {
		return t.list(ctx)
	}
	return t.probe(ctx, k)
}

// stale reports whether a listing is too old for a put that starts now: its answer could arrive
// after manifest.FreshFor. A table with a Publisher needs no listing.
func (t *Table) stale(listed time.Time) bool {
	return t.publish == nil && t.session.now().Sub(listed) > manifest.FreshFor/2
}

// fresh returns the newest version and the time of the listing that confirmed it. It lists again
// only if that listing is stale. A nil newest (a new table) is returned unchanged.
func (t *Table) fresh(ctx context.Context, newest *Dataset) (*Dataset, time.Time, error) {
	if newest == nil || t.publish != nil {
		return newest, time.Time{}, nil
	}
	if k, ok := t.known(); ok && k.dataset.Version() == newest.Version() && !t.stale(k.listed) {
		return newest, k.listed, nil
	}
	at := t.session.now()
	listed, err := t.list(ctx)
	if err == nil && listed.Version() < newest.Version() {
		err = fmt.Errorf("%w: version %d of %s has been deleted", ErrConflict, newest.Version(), t.at.URI)
	}
	return listed, at, err
}

// checkPlace verifies a version whose put took longer than manifest.FreshFor after the listing: a
// cleanup may have deleted the versions before it in the meantime. A version in such a hole is
// removed again, and the error is objectstore.ErrPrecondition, as if another writer had won.
func (t *Table) checkPlace(ctx context.Context, made *Dataset, listed time.Time) error {
	if t.publish != nil || listed.IsZero() || t.session.now().Sub(listed) < manifest.FreshFor {
		return nil
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), putTime)
	defer done()
	at := made.Manifest().Location
	hole, err := manifest.InHole(ctx, t.at.Store, t.at.Prefix, at.Version, at.Key)
	if err == nil && !hole {
		return nil
	}
	t.session.Cache.Drop(t.at.Cached, latestPart)
	if err == nil {
		t.session.Cache.Drop(t.at.Cached, datasetPart(at.Key))
		err = t.Remove(ctx, objectstore.Info{Key: at.Key, ETag: at.ETag})
	}
	if err != nil {
		return fmt.Errorf("commit version %d of %s: %w", at.Version, t.at.URI, errors.Join(objectstore.ErrUnknownOutcome, err))
	}
	return objectstore.ErrPrecondition
}
