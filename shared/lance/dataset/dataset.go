package dataset

import (
	"strings"
	"time"

	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/storage/objectstore"
)

// A Dataset is one version of a table. It is immutable and safe for concurrent use. A change
// creates a new version, by a commit to the table.
type Dataset struct {
	*snapshot.Snapshot
	table  *Table
	recent []Committed // the newest transactions up to this version, for conflict checks
}

// newDataset opens a manifest. The dataset belongs to the plain table, because the cache shares it
// among all views of the table.
func newDataset(t *Table, m *manifest.Manifest) (*Dataset, error) {
	s, err := snapshot.New(t.at, m)
	if err != nil {
		return nil, err
	}
	return &Dataset{Snapshot: s, table: t.plain()}, nil
}

// MemBytes estimates the memory of the version and its remembered transactions.
func (d *Dataset) MemBytes() int64 {
	total := d.Snapshot.MemBytes()
	for _, c := range d.recent {
		total += c.memBytes()
	}
	return total
}

// Table returns the table that the version was opened from. Changes of the version are committed
// there.
func (d *Dataset) Table() *Table { return d.table }

// With returns a view of the version restricted to part; see [snapshot.Snapshot.Part].
func (d *Dataset) With(part *snapshot.Snapshot) *Dataset {
	return &Dataset{Snapshot: part, table: d.table}
}

// Now returns the time of the session's clock.
func (d *Dataset) Now() time.Time { return d.table.session.now() }

// Main returns the store and prefix of the main table, also for a version of a branch.
func (d *Dataset) Main() (store objectstore.Store, prefix string) {
	home := d.Home()
	if branch := d.Manifest().Branch; branch != nil {
		return home.Store, strings.TrimSuffix(home.Prefix, "/"+refs.TreeDir+*branch)
	}
	return home.Store, home.Prefix
}

// scheme returns the naming scheme of the table's manifests.
func (d *Dataset) scheme() manifest.Scheme { return d.Manifest().Location.Scheme }
