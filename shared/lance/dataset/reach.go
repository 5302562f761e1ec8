package dataset

import (
	"context"

	"tiltyard/shared/lance/dataset/snapshot"
)

// ReachWith returns a view of the table that is restricted by an access check: versions and blobs
// open only if reach allows the locations that they refer to. Its branches inherit the check.
// Without one, all roots of the session are readable.
func (t *Table) ReachWith(reach snapshot.Reach) *Table {
	reaching := *t
	reaching.at.Reach = reach
	return &reaching
}

// opened applies the access check to a shared version and returns it as a version of this view.
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
