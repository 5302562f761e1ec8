package dataset

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/objectstore"
)

// MaxClockSkew bounds the difference of the clocks of writers.
const MaxClockSkew = 5 * time.Minute

// See package manifest for how writers keep out of the places of versions that were deleted.

// newest finds the newest version for who is going to make the next one: what is known of a
// listing must be good for a put that is yet to come.
func (t *Table) newest(ctx context.Context, k known) (*Dataset, error) {
	if t.stale(k.listed) {
		return t.list(ctx)
	}
	return t.probe(ctx, k)
}

// stale says whether a put that is begun now may be answered too late after a listing.
func (t *Table) stale(listed time.Time) bool {
	return t.publish == nil && t.session.now().Sub(listed) > manifest.FreshFor/2
}

// fresh returns the newest version, and when a listing was asked for that said so. That is
// newest, nil for a new table, as long as what is known of it is good enough.
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

// checkPlace looks whether a version that was just made is the next one after what was listed,
// if that is long ago. One that is not is taken back, and the error is
// objectstore.ErrPrecondition, as if another had been quicker.
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
