package dataset

import (
	"context"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
)

// Commit commits an operation that was planned on d and whose files are durable. Examples are new
// or dropped indices, config and metadata, base paths, a Project with another column order, and a
// DataReplacement.
//
// A Delete or Update given here is not rebased over commits that delete rows of the same fragments;
// use [Dataset.Delete] or [Dataset.Replace] for that. If [IsRowsChanged] holds for the error, plan
// again on the newest version. An operation that does not fit the table is operation.ErrInvalid.
func (d *Dataset) Commit(ctx context.Context, op pb.Operation) (*Dataset, error) {
	return d.table.Commit(ctx, &Change{Read: d, Operation: op})
}

// Restore commits the contents of an old version as the newest version. The versions in between
// stay. The error is ErrNoVersion if the old version does not exist.
func (t *Table) Restore(ctx context.Context, version uint64) (*Dataset, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	g, err := t.guess(ctx)
	if err != nil {
		return nil, err
	}
	old, err := t.Version(ctx, version)
	if err != nil {
		return nil, err
	}
	return t.Commit(ctx, &Change{
		Read: g.read, Operation: &pb.Restore{Version: version}, guess: g,
		Apply: func(base *Dataset, _ pb.Operation) (*manifest.Manifest, error) {
			return operation.Restored(base.Manifest(), old.Manifest())
		},
	})
}
