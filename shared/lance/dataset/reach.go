package dataset

import (
	"context"

	"tiltyard/shared/lance/dataset/snapshot"
)

// ReachWith returns the table, of which a version is opened, and a blob read, only when reach
// allows what it refers to. So do its branches. Without a reach, all of the session's roots
// may be read.
func (t *Table) ReachWith(reach snapshot.Reach) *Table {
	reaching := *t
	reaching.at.Reach = reach
	return &reaching
}

// opened returns a version, which is shared, as one of t's, if all that it refers to may be read.
func (t *Table) opened(ctx context.Context, d *Dataset) (*Dataset, error) {
	if d == nil {
		return nil, nil
	}
	if t.at.Reach != nil {
		if err := d.CheckReach(ctx, t.at.Reach); err != nil {
			return nil, err
		}
	}
	return t.own(d), nil
}
