package history

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// A Transaction describes the transaction that made a version of a table.
type Transaction struct {
	UUID        string
	Version     uint64
	ReadVersion uint64 // the version on which the writer based its change
	Operation   string // the format's name, such as "Append"
	Properties  map[string]string
}

// TransactionOf returns the transaction that made a version. The error for a missing table, version
// or transaction is TransactionNotFound.
func TransactionOf(ctx context.Context, t *engine.Table, version uint64) (Transaction, error) {
	d, err := t.Data().Version(ctx, version)
	if err != nil {
		return Transaction{}, noTransaction(t, err)
	}
	return transactionOf(ctx, t, d)
}

// maxSearched bounds the number of versions searched for a transaction.
const maxSearched = 100

// FindTransaction searches the newest maxSearched versions for a transaction by its UUID, the only
// id that native clients have.
func FindTransaction(ctx context.Context, t *engine.Table, uuid string) (Transaction, error) {
	versions, err := t.Data().Versions(ctx, nil, maxSearched)
	if err != nil {
		return Transaction{}, t.Translate(err)
	}
	for _, info := range versions {
		found, err := TransactionOf(ctx, t, dataset.VersionOf(info))
		if err == nil && found.UUID == uuid {
			return found, nil
		}
		if err != nil && protocol.CodeOf(err) != protocol.TransactionNotFound {
			return Transaction{}, err
		}
	}
	return Transaction{}, noTransaction(t, dataset.ErrNoTransaction)
}

// transactionOf reads the transaction of a version.
func transactionOf(ctx context.Context, t *engine.Table, d *dataset.Dataset) (Transaction, error) {
	txn, err := d.Transaction(ctx)
	if err != nil {
		return Transaction{}, noTransaction(t, t.Failure(ctx, d, err))
	}
	return Transaction{
		UUID: txn.UUID, Version: d.Version(), ReadVersion: txn.ReadVersion,
		Operation: txn.OperationName(), Properties: txn.Properties,
	}, nil
}

// noTransaction turns the error for a missing table or version into TransactionNotFound.
func noTransaction(t *engine.Table, err error) error {
	switch {
	case errors.Is(err, dataset.ErrNoTable), errors.Is(err, dataset.ErrNoVersion), errors.Is(err, dataset.ErrNoTransaction):
		return &protocol.Error{
			Code: protocol.TransactionNotFound, Message: fmt.Sprintf("table %s does not have this transaction", t.Name()), Err: err,
		}
	}
	return t.Translate(err)
}
