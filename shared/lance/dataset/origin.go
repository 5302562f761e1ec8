package dataset

import (
	"context"
	"strings"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

// ErrNoTransaction says that a version does not tell what made it.
var ErrNoTransaction = manifest.ErrNoTransaction

// Transaction reads the transaction that made the version, or returns ErrNoTransaction.
func (d *Dataset) Transaction(ctx context.Context) (*pb.Transaction, error) {
	return d.Manifest().ReadTransaction(ctx, d.table.at.Store, d.table.at.Prefix)
}

// TransactionUUID returns the UUID of that transaction, as far as the name of its file
// tells, without reading it; else "". Versions that were committed here always tell.
func (d *Dataset) TransactionUUID() string {
	name, _ := strings.CutSuffix(d.Manifest().TransactionFile, ".txn")
	_, uuid, _ := strings.Cut(name, "-")
	return uuid
}
