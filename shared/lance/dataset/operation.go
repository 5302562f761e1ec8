package dataset

import (
	"context"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
)

// Commit commits an operation that was worked out on d and needs nothing but to be
// committed, as its files are durable: adding and dropping indices, changing config and
// metadata, adding base paths, and what callers made up themselves, such as a Project to
// another order of columns or a DataReplacement.
//
// A Delete or Update in this form is not rebased over others that delete rows of the same
// fragments; Delete and Replace are. IsRowsChanged says whether to try again on the newest
// version. An operation that does not fit the table is operation.ErrInvalid.
func (d *Dataset) Commit(ctx context.Context, op pb.Operation) (*Dataset, error) {
	return d.table.Commit(ctx, &Change{Read: d, Operation: op})
}

// Restore makes an old version the newest again, as a new version. What was committed
// since stays in the versions between. It returns ErrNoVersion when there is no such one.
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
