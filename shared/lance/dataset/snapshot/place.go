package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/internal/cache"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/storage/objectstore"
)

// A Place is the storage location of a table's versions.
type Place struct {
	*Shared
	Store  objectstore.Store
	Prefix string // key prefix of the table, without a trailing slash
	URI    string
	Cached string        // the table's name in the cache
	Home   fragment.Base // the same location, as the default base of its files
	Reach  Reach         // nil: all roots are readable
}

// Shared holds the state that all snapshots of a process share.
type Shared struct {
	// Roots are the allowed locations for files outside of the table's own, as in branches and
	// shallow clones. Nil allows the table's store. It must be set before the first table is
	// opened.
	Roots *objectstore.Roots
	Cache *cache.Cache

	windows atomic.Int32 // runs of windows being read by all scans
}

// NewPlace returns the place of a location.
func NewPlace(shared *Shared, at objectstore.Location) Place {
	at.Store = objectstore.Counting(at.Store)
	return Place{Shared: shared, Store: at.Store, Prefix: at.Prefix, URI: at.URI, Cached: at.URI, Home: fragment.HomeAt(at)}
}

// A Reach checks whether files outside of the table's own location may be read: at the manifest's
// base paths and at the URIs of external blobs. Whoever may write to the table chooses these
// locations, so the manifest is no proof that its reader may read them. The error is returned to
// the reader.
type Reach func(ctx context.Context, at objectstore.Location) error

// bases resolves the base paths of a manifest.
func (p Place) bases(m *manifest.Manifest) *fragment.Bases {
	return fragment.NewBases(&p.Home, p.resolve, m)
}

// resolve finds a location named by a manifest. It must lie below the roots or, without roots, in
// the table's store.
func (p Place) resolve(location string) (objectstore.Location, error) {
	if p.Roots != nil {
		return p.Roots.Resolve(location)
	}
	root := p.URI
	for range strings.Split(p.Prefix, "/") {
		root = root[:max(strings.LastIndexByte(root, '/'), 0)]
	}
	roots, err := objectstore.NewRoots(objectstore.Root{URI: root, Store: p.Store})
	if err != nil {
		return objectstore.Location{}, fmt.Errorf("%w: %w", objectstore.ErrLocation, err)
	}
	return roots.Resolve(location)
}

// mayRead checks access to a location as part of the table.
func (p Place) mayRead(ctx context.Context, at objectstore.Location) error {
	if p.Reach == nil || objectstore.Holds(p.URI, at.URI) {
		return nil
	}
	return p.Reach(ctx, at)
}

// CheckReach calls reach for each base path that contains files of the version. A base path that
// does not resolve is skipped; reading its files reports the error.
func (s *Snapshot) CheckReach(ctx context.Context, reach Reach) error {
	if len(s.manifest.BasePaths) == 0 {
		return nil
	}
	used, err := s.usedBases()
	if err != nil {
		return err
	}
	for _, id := range used {
		at, err := s.basePath(id)
		if err != nil || objectstore.Holds(s.place.URI, at.URI) {
			continue
		}
		if err := reach(ctx, at); err != nil {
			return fmt.Errorf("base path %d: %w", id, err)
		}
	}
	return nil
}

// usedBases returns the ids of the base paths that contain files of the version.
func (s *Snapshot) usedBases() ([]uint32, error) {
	var used []uint32
	use := func(id *uint32) {
		if id != nil && !slices.Contains(used, *id) {
			used = append(used, *id)
		}
	}
	for _, f := range s.manifest.Fragments {
		for i := range f.Files {
			use(f.Files[i].BaseID)
		}
		if f.DeletionFile != nil {
			use(f.DeletionFile.BaseID)
		}
	}
	indices, err := s.manifest.Indices()
	if err != nil {
		return nil, err
	}
	for _, x := range indices {
		use(x.BaseID)
	}
	return used, nil
}

// Home returns the location of the table or branch that the version belongs to.
func (s *Snapshot) Home() objectstore.Location { return s.place.Home.Location }

// basePath returns the location of a base path.
func (s *Snapshot) basePath(id uint32) (objectstore.Location, error) {
	found, err := s.place.bases(s.manifest).At(&id)
	if err != nil {
		return objectstore.Location{}, err
	}
	return found.Location, nil
}

// Elsewhere returns the locations of the used base paths outside of the table's own location.
func (s *Snapshot) Elsewhere() ([]objectstore.Location, error) {
	used, err := s.usedBases()
	var places []objectstore.Location
	for _, id := range used {
		at, err := s.basePath(id)
		if err == nil && !objectstore.Holds(s.place.URI, at.URI) {
			places = append(places, at)
		}
	}
	return places, err
}

// OutOfReach returns the used base paths outside of the roots, spelled as in the manifest.
func (s *Snapshot) OutOfReach() ([]string, error) {
	used, err := s.usedBases()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, base := range s.manifest.BasePaths {
		if !slices.Contains(used, base.ID) {
			continue
		}
		if _, err := s.basePath(base.ID); errors.Is(err, objectstore.ErrLocation) {
			paths = append(paths, base.Path)
		}
	}
	return paths, nil
}
