package dataset

import (
	"context"
	"fmt"
	"slices"

	"tiltyard/shared/objectstore"
)

// A Reach says whether files of a table may be read that lie outside of its own place: at the
// base paths of its manifest, and where its blobs are said to be. What a manifest names was
// written by whoever may write to the table, and that they may read it is not said by that.
// Any error is answered to who reads the table.
type Reach func(ctx context.Context, at objectstore.Location) error

// ReachWith returns the table, of which a version is opened, and a blob read, only when reach
// allows what it refers to. So do its branches. Without a reach, all of the session's roots
// may be read.
func (t *Table) ReachWith(reach Reach) *Table {
	reaching := *t
	reaching.reach = reach
	return &reaching
}

// opened returns a version, which is shared, as one of t's, if all that it refers to may be read.
func (t *Table) opened(ctx context.Context, d *Dataset) (*Dataset, error) {
	if d == nil {
		return nil, nil
	}
	if t.reach != nil && len(d.manifest.BasePaths) > 0 {
		if err := t.checkBases(ctx, d); err != nil {
			return nil, err
		}
	}
	return t.own(d), nil
}

// checkBases asks for the base paths that files of a version are below. Those that nobody can
// read are told by the reads that need them.
func (t *Table) checkBases(ctx context.Context, d *Dataset) error {
	used, err := d.usedBases()
	if err != nil {
		return err
	}
	for _, id := range used {
		at, err := d.basePath(id)
		if err != nil {
			continue
		}
		if err := t.mayRead(ctx, at); err != nil {
			return fmt.Errorf("base path %d: %w", id, err)
		}
	}
	return nil
}

// usedBases returns the ids of base paths that files of the version are below.
func (d *Dataset) usedBases() ([]uint32, error) {
	var used []uint32
	use := func(id *uint32) {
		if id != nil && !slices.Contains(used, *id) {
			used = append(used, *id)
		}
	}
	for _, f := range d.manifest.Fragments {
		for i := range f.Files {
			use(f.Files[i].BaseID)
		}
		if f.DeletionFile != nil {
			use(f.DeletionFile.BaseID)
		}
	}
	indices, err := d.manifest.Indices()
	if err != nil {
		return nil, err
	}
	for _, x := range indices {
		use(x.BaseID)
	}
	return used, nil
}

// basePath returns where a base path is.
func (d *Dataset) basePath(id uint32) (objectstore.Location, error) {
	found, err := d.table.bases(d.manifest).At(&id)
	if err != nil {
		return objectstore.Location{}, err
	}
	return found.Location, nil
}

// Elsewhere returns the places of base paths, outside of the table's own, that files of the
// version are below.
func (d *Dataset) Elsewhere() ([]objectstore.Location, error) {
	used, err := d.usedBases()
	var places []objectstore.Location
	for _, id := range used {
		at, err := d.basePath(id)
		if err == nil && !objectstore.Holds(d.table.uri, at.URI) {
			places = append(places, at)
		}
	}
	return places, err
}

// mayRead says whether what lies at a place may be read as part of the table.
func (t *Table) mayRead(ctx context.Context, at objectstore.Location) error {
	if t.reach == nil || objectstore.Holds(t.uri, at.URI) {
		return nil
	}
	return t.reach(ctx, at)
}
