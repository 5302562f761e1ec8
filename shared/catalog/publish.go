package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/objectstore"
)

func newestVersion(ctx context.Context, at objectstore.Location) (uint64, error) {
	newest, err := manifest.Latest(ctx, at.Store, at.Prefix)
	if errors.Is(err, objectstore.ErrNotExist) {
		return 0, nil
	}
	return newest.Version, err
}

func finalKey(at objectstore.Location, name string) string {
	return at.Prefix + "/" + manifest.VersionsDir + "/" + name
}

// putCopy keeps a manifest where others find it if we die.
func (c *Catalog) putCopy(ctx context.Context, m Manifest) (key string, err error) {
	key = copiesPrefix + newUID()
	if _, err := c.store.Put(ctx, key, m.Data, objectstore.Condition{}); err != nil {
		return "", fmt.Errorf("copy manifest: %w", err)
	}
	return key, nil
}

// place puts the manifest of an entry, which is data or else in its copy, at its usual name.
// Where another one is, it stays, and the error is objectstore.ErrPrecondition. An entry
// without a copy was made before.
func (c *Catalog) place(ctx context.Context, at objectstore.Location, e entry, data []byte) (objectstore.Info, error) {
	key := finalKey(at, e.Name)
	if data == nil {
		var err error
		if data, _, err = c.store.Get(ctx, e.Copy); errors.Is(err, objectstore.ErrNotExist) {
			_, info, err := at.Store.GetRanges(ctx, key)
			return info, err
		} else if err != nil {
			return objectstore.Info{}, fmt.Errorf("read copy of version %d: %w", e.Version, err)
		}
	}
	info, err := putOnce(ctx, at.Store, key, data)
	if err == nil {
		_ = c.store.Delete(ctx, e.Copy, objectstore.Condition{}) // else it is garbage
	}
	return info, err
}

// putOnce puts an object that is absent. One with these bytes is ours, or as good; another
// one is objectstore.ErrPrecondition.
func putOnce(ctx context.Context, store objectstore.Store, key string, data []byte) (objectstore.Info, error) {
	for attempt := 1; ; attempt++ {
		info, err := store.Put(ctx, key, data, objectstore.Condition{IfAbsent: true})
		unknown := errors.Is(err, objectstore.ErrUnknownOutcome)
		if !unknown && !errors.Is(err, objectstore.ErrPrecondition) {
			return info, err
		}
		there, info, read := store.Get(ctx, key)
		switch {
		case read == nil && bytes.Equal(there, data):
			return info, nil
		case read == nil:
			return objectstore.Info{}, fmt.Errorf("put %s: %w", key, objectstore.ErrPrecondition)
		case attempt == settleAttempts || !errors.Is(read, objectstore.ErrNotExist):
			return objectstore.Info{}, unsettled(errors.Join(objectstore.ErrUnknownOutcome, err, read))
		}
	}
}

// PublishBranch makes a version of a branch of a table, at the place of the branch. Ledgers
// are not about branches. Its first version is first, or any if that is 0.
func PublishBranch(ctx context.Context, id []string, at objectstore.Location, first uint64, m Manifest) (objectstore.Info, error) {
	if first == 0 {
		first = m.Version
	}
	return putNext(ctx, id, at, first, m)
}

// putNext makes a version at a place that no ledger is about. If there is none, it is first.
func putNext(ctx context.Context, id []string, at objectstore.Location, first uint64, m Manifest) (objectstore.Info, error) {
	listed := time.Now()
	newest, err := newestVersion(ctx, at)
	if err != nil {
		return objectstore.Info{}, err
	}
	if newest == 0 {
		newest = first - 1
	}
	if newest+1 == m.Version && m.Data == nil {
		return objectstore.Info{}, m.errNoSource()
	}
	if newest+1 == m.Version {
		info, err := putOnce(ctx, at.Store, finalKey(at, m.name()), m.Data)
		if err == nil && time.Since(listed) >= manifest.FreshFor {
			err = checkPlace(ctx, id, at, m, info)
		}
		if !errors.Is(err, objectstore.ErrPrecondition) {
			return info, err
		}
	}
	there, info, err := at.Store.Get(ctx, finalKey(at, m.name()))
	switch {
	case err == nil && m.Data == nil && info.ETag == m.ETag, err == nil && m.Data != nil && bytes.Equal(there, m.Data):
		return info, nil
	case err != nil && !errors.Is(err, objectstore.ErrNotExist):
		return objectstore.Info{}, err
	}
	return objectstore.Info{}, notNext(id, m.Version, newest)
}

// checkPlace looks whether a version that was made long after the others were listed is in the
// place of one that was deleted, and then takes it back.
func checkPlace(ctx context.Context, id []string, at objectstore.Location, m Manifest, made objectstore.Info) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer done()
	key := finalKey(at, m.name())
	hole, err := manifest.InHole(ctx, at.Store, at.Prefix, m.Version, key)
	if err == nil && !hole {
		return nil
	}
	if err == nil {
		err = at.Store.Delete(ctx, key, objectstore.Condition{IfMatch: made.ETag})
	}
	if err != nil {
		return unsettled(err)
	}
	return notNext(id, m.Version, m.Version)
}
