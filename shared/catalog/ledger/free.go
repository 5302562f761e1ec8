package ledger

import (
	"bytes"
	"context"
	"time"

	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/storage/objectstore"
)

// PublishBranch makes a version of a branch at the location of the branch. Ledgers do not cover
// branches. The first version of the branch must have the number first; 0 allows any.
func PublishBranch(ctx context.Context, id []string, at objectstore.Location, first uint64, m Manifest) (objectstore.Info, error) {
	if first == 0 {
		first = m.Version
	}
	return PutNext(ctx, id, at, first, m)
}

// PutNext makes a version at a location that no ledger covers. If there is no version yet, it must
// have the number first.
func PutNext(ctx context.Context, id []string, at objectstore.Location, first uint64, m Manifest) (objectstore.Info, error) {
	listed := time.Now()
	newest, err := Newest(ctx, at)
	if err != nil {
		return objectstore.Info{}, err
	}
	if newest == 0 {
		newest = first - 1
	}
	if newest+1 == m.Version && m.Data == nil {
		return objectstore.Info{}, m.ErrNoSource()
	}
	if newest+1 == m.Version {
		info, err := putOnce(ctx, at.Store, Key(at, m.Name()), m.Data)
		if err == nil && time.Since(listed) >= manifest.FreshFor {
			err = checkPlace(ctx, id, at, m, info)
		}
		if !objects.Taken(err) {
			return info, err
		}
	}
	there, info, err := at.Store.Get(ctx, Key(at, m.Name()))
	switch {
	case err == nil && m.Data == nil && info.ETag == m.ETag, err == nil && m.Data != nil && bytes.Equal(there, m.Data):
		return info, nil
	case objects.IgnoreMissing(err) != nil:
		return objectstore.Info{}, err
	}
	return objectstore.Info{}, NotNext(id, m.Version, newest)
}

// checkPlace checks a version that was made long after the other versions were listed. If it took
// the number of a version that was deleted in between, checkPlace removes it.
func checkPlace(ctx context.Context, id []string, at objectstore.Location, m Manifest, made objectstore.Info) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), FinishTime)
	defer done()
	key := Key(at, m.Name())
	hole, err := manifest.InHole(ctx, at.Store, at.Prefix, m.Version, key)
	if err == nil && !hole {
		return nil
	}
	if err == nil {
		err = at.Store.Delete(ctx, key, objectstore.Condition{IfMatch: made.ETag})
	}
	if err != nil {
		return objects.Unsettled(err)
	}
	return NotNext(id, m.Version, m.Version)
}
