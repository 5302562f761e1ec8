package fragment

import (
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/storage/objectstore"
)

// A Base is a location with files of a table: the table's own, or a base path of its manifest.
// Branches, shallow clones and tables on several buckets use base paths.
type Base struct {
	objectstore.Location
	root bool // laid out as a table, with files below data/ and _deletions/
}

// Bases resolves the base paths of a manifest, only on demand, so that a forbidden location affects
// only the files in it.
type Bases struct {
	home    *Base
	resolve func(location string) (objectstore.Location, error)
	paths   []pb.BasePath
	found   map[uint32]*Base
}

// NewBases returns the bases of a manifest. home is the table's own location, and resolve finds the
// location of a base path.
func NewBases(home *Base, resolve func(location string) (objectstore.Location, error), m *manifest.Manifest) *Bases {
	return &Bases{home: home, resolve: resolve, paths: m.BasePaths, found: map[uint32]*Base{}}
}

// At returns the base of an id; nil means the table's own location. A base outside of the roots is
// objectstore.ErrLocation.
func (b *Bases) At(id *uint32) (*Base, error) {
	if id == nil {
		return b.home, nil
	}
	if found := b.found[*id]; found != nil {
		return found, nil
	}
	for i := range b.paths {
		path := &b.paths[i]
		if path.ID != *id {
			continue
		}
		location, err := b.resolve(path.Path)
		if err != nil {
			return nil, fmt.Errorf("base path %d: %w", path.ID, err)
		}
		location.Store = objectstore.Counting(location.Store)
		b.found[*id] = &Base{Location: location, root: path.IsDatasetRoot}
		return b.found[*id], nil
	}
	return nil, fmt.Errorf("%w: no base path %d", lance.ErrCorrupt, *id)
}

// dataKey returns the key of a data file in the store of the base.
func (b *Base) dataKey(path string) string {
	if b.root {
		return b.Prefix + "/data/" + path
	}
	return b.Prefix + "/" + path
}

// HomeAt returns the base of a table's own files.
func HomeAt(at objectstore.Location) Base { return Base{Location: at, root: true} }
