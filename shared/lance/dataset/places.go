package dataset

import (
	"fmt"
	"strings"

	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/objectstore"
)

// bases returns the places of the files that a manifest names.
func (t *Table) bases(m *manifest.Manifest) *fragment.Bases {
	return fragment.NewBases(&t.home, t.resolve, m)
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
