package dataset

import (
	"fmt"
	"strings"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/objectstore"
)

// A base is a place where files of a table lie: the table itself, or one of the base
// paths of its manifest, where branches, shallow clones and tables on several buckets
// keep theirs.
type base struct {
	objectstore.Location
	root bool // laid out as a table is: files are below data/ and _deletions/
}

// bases finds the places of a manifest's files. Those that are not needed are never
// resolved, so that one that is out of reach harms no other.
type bases struct {
	table *Table
	paths []pb.BasePath
	found map[uint32]*base
}

func newBases(t *Table, m *manifest.Manifest) *bases {
	return &bases{table: t, paths: m.BasePaths, found: map[uint32]*base{}}
}

// at returns the base of an id, nil being the table itself. A base outside of the roots
// is objectstore.ErrLocation.
func (b *bases) at(id *uint32) (*base, error) {
	if id == nil {
		return &b.table.home, nil
	}
	if found := b.found[*id]; found != nil {
		return found, nil
	}
	for i := range b.paths {
		path := &b.paths[i]
		if path.ID != *id {
			continue
		}
		location, err := b.table.resolve(path.Path)
		if err != nil {
			return nil, fmt.Errorf("base path %d: %w", path.ID, err)
		}
		location.Store = objectstore.Counting(location.Store)
		b.found[*id] = &base{Location: location, root: path.IsDatasetRoot}
		return b.found[*id], nil
	}
	return nil, fmt.Errorf("%w: no base path %d", lance.ErrCorrupt, *id)
}

// dataKey returns the key of a data file in the store of the base.
func (b *base) dataKey(path string) string {
	if b.root {
		return b.Prefix + "/data/" + path
	}
	return b.Prefix + "/" + path
}

// resolve finds a location that a manifest names. It must lie below the session's roots
// or, without such, in the store that the table is in.
func (t *Table) resolve(location string) (objectstore.Location, error) {
	if t.session.Roots != nil {
		return t.session.Roots.Resolve(location)
	}
	root := t.uri
	for range strings.Split(t.prefix, "/") {
		root = root[:max(strings.LastIndexByte(root, '/'), 0)]
	}
	roots, err := objectstore.NewRoots(objectstore.Root{URI: root, Store: t.store})
	if err != nil {
		return objectstore.Location{}, fmt.Errorf("%w: %w", objectstore.ErrLocation, err)
	}
	return roots.Resolve(location)
}
