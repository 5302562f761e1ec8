package dataset

import (
	"context"
	"strings"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

// ErrNoTransaction reports a version without a recorded transaction.
var ErrNoTransaction = manifest.ErrNoTransaction

// Transaction reads the transaction that made the version, or returns ErrNoTransaction.
func (d *Dataset) Transaction(ctx context.Context) (*pb.Transaction, error) {
	return d.Manifest().ReadTransaction(ctx, d.table.at.Store, d.table.at.Prefix)
}

// TransactionUUID returns the UUID of the version's transaction from the name of its file
// ("7-<uuid>.txn"), without a read. It returns "" if the manifest names none. Versions committed by
// this package always have one.
func (d *Dataset) TransactionUUID() string {
	name, _ := strings.CutSuffix(d.Manifest().TransactionFile, ".txn")
	_, uuid, _ := strings.Cut(name, "-")
	return uuid
}
