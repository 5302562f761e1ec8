package difference

import (
	"context"

	"tiltyard/shared/lance/dataset"
)

// Since compares version now with another version of its table, older or newer, by rows; see [Of].
// Columns are given by field id. The caller releases the rows. The error is [ErrNotComparable] if
// rows cannot be identified.
func Since(ctx context.Context, now *dataset.Dataset, was *dataset.Dataset, fields []int32) (*Rows, error) {
	return Of(ctx, was.Snapshot, now.Snapshot, fields, CommitsOf(now))
}

// CommitsOf returns a function that finds the transaction of a version of d's table.
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
