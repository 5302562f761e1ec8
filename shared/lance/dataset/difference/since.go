package difference

import (
	"context"

	"tiltyard/shared/lance/dataset"
)

// Since compares the version now with another one of its table, older or newer, by rows; see [Of]. The columns are listed by
// field id. The caller releases the rows. The error is [ErrNotComparable] if the rows cannot be identified.
func Since(ctx context.Context, now *dataset.Dataset, was *dataset.Dataset, fields []int32) (*Rows, error) {
	return Of(ctx, was.Snapshot, now.Snapshot, fields, CommitsOf(now))
}

// CommitsOf finds the transactions that made versions of the table of d.
func CommitsOf(d *dataset.Dataset) Commits {
	return func(ctx context.Context, version uint64) (Commit, error) {
		made := d
		if version != d.Version() {
			var err error
			if made, err = d.Table().Version(ctx, version); err != nil {
				return Commit{}, err
			}
		}
		txn, err := made.Transaction(ctx)
		if err != nil {
			return Commit{}, err
		}
		return Commit{Operation: txn.Operation, Writer: made.Manifest().WriterVersion}, nil
	}
}
