package engine

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// A Transaction is what made a version of a table.
type Transaction struct {
	UUID        string
	Version     uint64
	ReadVersion uint64 // what its writer had read
	Operation   string // the format's name of it, such as "Append"
	Properties  map[string]string
}

// TransactionOf tells what made a version. A table, version or transaction that is not
// there is TransactionNotFound.
func (t *Table) TransactionOf(ctx context.Context, version uint64) (Transaction, error) {
	d, err := t.data.Version(ctx, version)
	if err != nil {
		return Transaction{}, t.noTransaction(err)
	}
	return t.transaction(ctx, d)
}

// maxSearched is how many versions are looked through for a transaction.
const maxSearched = 100

// FindTransaction looks for the version that a transaction made, from the newest on, and
// among so many of them only. Native clients know transactions by their UUID alone.
func (t *Table) FindTransaction(ctx context.Context, uuid string) (Transaction, error) {
	versions, err := t.data.Versions(ctx, nil, maxSearched)
	if err != nil {
		return Transaction{}, t.translate(err)
	}
	for _, info := range versions {
		found, err := t.TransactionOf(ctx, dataset.VersionOf(info))
		if err == nil && found.UUID == uuid {
			return found, nil
		}
		if err != nil && protocol.CodeOf(err) != protocol.TransactionNotFound {
			return Transaction{}, err
		}
	}
	return Transaction{}, t.noTransaction(dataset.ErrNoTransaction)
}

func (t *Table) transaction(ctx context.Context, d *dataset.Dataset) (Transaction, error) {
	txn, err := d.Transaction(ctx)
	if err != nil {
		return Transaction{}, t.noTransaction(t.cleanedUp(ctx, d, err))
	}
	return Transaction{
		UUID: txn.UUID, Version: d.Version(), ReadVersion: txn.ReadVersion,
		Operation: txn.OperationName(), Properties: txn.Properties,
	}, nil
}

// noTransaction makes the absence of a table or version that of its transaction.
func (t *Table) noTransaction(err error) error {
	switch {
	case errors.Is(err, dataset.ErrNoTable), errors.Is(err, dataset.ErrNoVersion), errors.Is(err, dataset.ErrNoTransaction):
		return &protocol.Error{
			Code: protocol.TransactionNotFound, Message: fmt.Sprintf("table %s has no such transaction", t.name), Err: err,
		}
	}
	return t.translate(err)
}
