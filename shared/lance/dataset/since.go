package dataset

import (
	"context"

	"tiltyard/shared/lance/dataset/difference"
)

// Since compares the version with another one of the table, older or newer, by rows. Values are
// compared in the columns that fields lists by field id. The caller releases the rows. The error is
// [difference.ErrNotComparable] when the rows cannot be told apart.
func (d *Dataset) Since(ctx context.Context, was *Dataset, fields []int32) (*difference.Rows, error) {
	return difference.Of(ctx, was.Snapshot, d.Snapshot, fields, d.commitOf)
}

// commitOf returns what made a version of the table.
func (d *Dataset) commitOf(ctx context.Context, version uint64) (difference.Commit, error) {
	if version != d.Version() {
		other, err := d.table.Version(ctx, version)
		if err != nil {
			return difference.Commit{}, err
		}
		d = other
	}
	txn, err := d.Transaction(ctx)
	if err != nil {
		return difference.Commit{}, err
	}
	return difference.Commit{Operation: txn.Operation, Writer: d.Manifest().WriterVersion}, nil
}
