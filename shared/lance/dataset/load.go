package dataset

import (
	"context"
	"errors"
	"fmt"
	"path"

	"tiltyard/shared/lance/internal/cache"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/storage/objectstore"
)

// load opens one version, or returns ErrNoVersion. It reuses a cached version if the ETag of its
// manifest is unchanged.
func (t *Table) load(ctx context.Context, version uint64, scheme manifest.Scheme) (*Dataset, error) {
	key := manifest.Key(t.at.Prefix, version, scheme)
	if d := t.lastRead(key); d != nil {
		same, err := t.isThere(ctx, d)
		if err != nil || same {
			return d, err
		}
	}
	return t.read(ctx, manifest.Location{Key: key, Version: version, Scheme: scheme})
}

// loadListed opens a version whose manifest was just listed, so a cached one needs no further
// check.
func (t *Table) loadListed(ctx context.Context, at manifest.Location) (*Dataset, error) {
	if d := t.lastRead(at.Key); d != nil && d.Manifest().Location == at {
		return d, nil
	}
	return t.read(ctx, at)
}

// Listed opens a version from its entry in a listing of manifests.
func (t *Table) Listed(ctx context.Context, info objectstore.Info) (*Dataset, error) {
	version, scheme, _ := manifest.ParseName(path.Base(info.Key))
	return t.loadListed(ctx, manifest.Location{Key: info.Key, Size: info.Size, ETag: info.ETag, Version: version, Scheme: scheme})
}

// Forget drops deleted versions from the cache.
func (t *Table) Forget(deleted ...objectstore.Info) {
	for _, info := range deleted {
		if k, ok := cache.Get[known](t.session.Cache, t.at.Cached, latestPart); ok && k.dataset.Manifest().Location.Key == info.Key {
			t.session.Cache.Drop(t.at.Cached, latestPart)
		}
		t.session.Cache.Drop(t.at.Cached, datasetPart(info.Key))
	}
}

// read reads the manifest at a location. Size 0 means unknown.
func (t *Table) read(ctx context.Context, at manifest.Location) (*Dataset, error) {
	m, err := manifest.Read(ctx, t.at.Store, at.Key, at.Size)
	if errors.Is(err, objectstore.ErrNotExist) {
		return nil, &noVersion{at.Version, t.at.URI}
	}
	if err != nil {
		return nil, fmt.Errorf("open version %d of %s: %w", at.Version, t.at.URI, err)
	}
	d, err := newDataset(t, m)
	if err != nil {
		return nil, err
	}
	t.keep(datasetPart(at.Key), d, d)
	return d, nil
}

// keep caches a value that holds a version. Its size may grow, because the version keeps each
// deletion vector that it reads.
func (t *Table) keep(part string, value any, d *Dataset) {
	cache.PutGrowing(t.session.Cache, t.at.Cached, part, value, d.MemBytes(), d.DeletionBytes())
}

// datasetPart is the cache key of a version below its table.
func datasetPart(key string) string { return "dataset " + key }

// lastRead returns the cached version of a manifest key, or nil.
func (t *Table) lastRead(key string) *Dataset {
	if k, ok := cache.Get[known](t.session.Cache, t.at.Cached, latestPart); ok && k.dataset.Manifest().Location.Key == key {
		return k.dataset
	}
	d, _ := cache.Get[*Dataset](t.session.Cache, t.at.Cached, datasetPart(key))
	return d
}

// isThere reports whether the stored manifest of a version has the ETag that was read. It returns
// ErrNoVersion if the manifest does not exist.
func (t *Table) isThere(ctx context.Context, d *Dataset) (bool, error) {
	at := d.Manifest().Location
	_, info, err := t.at.Store.GetRanges(ctx, at.Key)
	if errors.Is(err, objectstore.ErrNotExist) {
		t.session.Cache.Drop(t.at.Cached, datasetPart(at.Key))
		return false, &noVersion{at.Version, t.at.URI}
	}
	if err != nil {
		return false, fmt.Errorf("look at version %d of %s: %w", at.Version, t.at.URI, err)
	}
	return info.ETag == at.ETag, nil
}

// askThere starts to check that the newest known version still exists, and records the time of the
// check in k. The caller calls there after it has found no later version. Local storage is checked
// only then: the version is the newest only if both facts hold at one moment.
func (t *Table) askThere(ctx context.Context, k *known) (there func() bool) {
	at := t.session.now()
	ask := func() bool {
		same, err := t.isThere(ctx, k.dataset)
		return same && err == nil
	}
	switch {
	case objectstore.Near(t.at.Store):
		k.seen = at
		return ask
	case t.sole && at.Sub(k.seen) <= maxSeenAge:
		return func() bool { return true }
	}
	k.seen = at
	answer := make(chan bool, 1)
	go func() { answer <- ask() }()
	return func() bool { return <-answer }
}

// sameManifest reports whether two datasets have the same manifest object: key, ETag, size.
func sameManifest(a, b *Dataset) bool { return a.Manifest().Location == b.Manifest().Location }

// heldVersion returns a version from the cache, or nil.
func (t *Table) heldVersion(version uint64) *Dataset {
	for _, scheme := range schemesOf(version) {
		if d := t.lastRead(manifest.Key(t.at.Prefix, version, scheme)); d != nil {
			return d
		}
	}
	return nil
}
