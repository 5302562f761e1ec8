package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"tiltyard/shared/lance/dataset/cache"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/objectstore"
)

// A Place is where the versions of a table are.
type Place struct {
	*Shared
	Store  objectstore.Store
	Prefix string // of all keys of the table, without a slash at its end
	URI    string
	Cached string        // its name in the cache
	Home   fragment.Base // the same place, of the files that are in it
	Reach  Reach         // nil: all of the roots
}

// Shared is what the snapshots of a process share.
type Shared struct {
	// Roots are where files of tables may lie that are not in the table's own place, as
	// with branches and shallow clones. Nil allows what is in the same store as the table.
	// It is set before the first table is opened.
	Roots *objectstore.Roots
	Cache *cache.Cache

	windows atomic.Int32 // in work, of all scans
}

// NewPlace returns the place at a location.
func NewPlace(shared *Shared, at objectstore.Location) Place {
	at.Store = objectstore.Counting(at.Store)
	return Place{Shared: shared, Store: at.Store, Prefix: at.Prefix, URI: at.URI, Cached: at.URI, Home: fragment.HomeAt(at)}
}

// A Reach says whether files of a table may be read that lie outside of its own place: at the
// base paths of its manifest, and where its blobs are said to be. What a manifest names was
// written by whoever may write to the table, and that they may read it is not said by that.
// Any error is answered to who reads the table.
type Reach func(ctx context.Context, at objectstore.Location) error

// bases returns the places of the files that a manifest names.
func (p Place) bases(m *manifest.Manifest) *fragment.Bases {
	return fragment.NewBases(&p.Home, p.resolve, m)
}

// resolve finds a location that a manifest names. It must lie below the shared roots
// or, without such, in the store that the table is in.
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

// mayRead says whether what lies at a place may be read as part of the table.
func (p Place) mayRead(ctx context.Context, at objectstore.Location) error {
	if p.Reach == nil || objectstore.Holds(p.URI, at.URI) {
		return nil
	}
	return p.Reach(ctx, at)
}

// CheckReach asks reach for the base paths that files of the version are below. Those that cannot be
// read at all are errors of the reads that need them.
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

// usedBases returns the ids of base paths that files of the version are below.
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

// Home returns the place of the table, or of the branch, that the version belongs to.
func (s *Snapshot) Home() objectstore.Location { return s.place.Home.Location }

// basePath returns where a base path is.
func (s *Snapshot) basePath(id uint32) (objectstore.Location, error) {
	found, err := s.place.bases(s.manifest).At(&id)
	if err != nil {
		return objectstore.Location{}, err
	}
	return found.Location, nil
}

// Elsewhere returns the places of base paths, outside of the table's own, that files of the
// version are below.
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

// OutOfReach returns the base paths, as the manifest has them, that files of the version are below and
// that lie outside of the roots.
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
