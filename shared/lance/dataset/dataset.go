package dataset

import (
	"strings"
	"time"

	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/objectstore"
)

// A Dataset is a table at one version, to be read and to be changed: a change is committed to the
// table as a new version. It does not change itself and is safe for concurrent use.
type Dataset struct {
	*snapshot.Snapshot
	table  *Table
	recent []Committed // what made the versions up to this one, when that was here
}

func newDataset(t *Table, m *manifest.Manifest) (*Dataset, error) {
	s, err := snapshot.New(t.at, m)
	if err != nil {
		return nil, err
	}
	return &Dataset{Snapshot: s, table: t.plain()}, nil
}

// MemBytes estimates what the version occupies, with the transactions that it remembers.
func (d *Dataset) MemBytes() int64 {
	total := d.Snapshot.MemBytes()
	for _, c := range d.recent {
		total += c.memBytes()
	}
	return total
}

// Table returns the table that the version was opened from and that changes of it are committed to.
func (d *Dataset) Table() *Table { return d.table }

// With returns a view of the version that shows a part of it; see [snapshot.Snapshot.Part].
func (d *Dataset) With(part *snapshot.Snapshot) *Dataset {
	return &Dataset{Snapshot: part, table: d.table}
}

// Now returns what the clock of the session says.
func (d *Dataset) Now() time.Time { return d.table.session.now() }

// Main returns the store and the prefix of the table itself, also for a version of one of its branches.
func (d *Dataset) Main() (store objectstore.Store, prefix string) {
	home := d.Home()
	if branch := d.Manifest().Branch; branch != nil {
		return home.Store, strings.TrimSuffix(home.Prefix, "/"+refs.TreeDir+*branch)
	}
	return home.Store, home.Prefix
}

// scheme returns how the table names its manifests.
func (d *Dataset) scheme() manifest.Scheme { return d.Manifest().Location.Scheme }
