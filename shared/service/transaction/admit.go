package transaction

import (
	"context"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol/auth"
)

// admit checks the policies for an operation on a transaction. Policies are about tables and
// namespaces, so it checks them for the object that the transaction changed. A transaction on a
// hidden object is TransactionNotFound.
func (s *Service) admit(ctx context.Context, operation string, ref transaction.Ref) error {
	if !auth.Limited(ctx) {
		return nil
	}
	object, missing := auth.Table(ref.Table), notFound(ref, nil)
	if ref.Table == nil {
		found, err := s.recorded(ctx, ref)
		if err != nil {
			return err
		}
		object, missing = transaction.ObjectOf(found.Kind, found.Object), transaction.NotFound(ref)
	}
	return auth.Check(ctx, operation, object, missing)
}

// recorded returns a transaction that has a record, which commits of tables lack.
func (s *Service) recorded(ctx context.Context, ref transaction.Ref) (*transaction.Transaction, error) {
	if ref.IsRecorded() {
		return s.tables.Transactions.Get(ctx, ref)
	}
	return s.tables.Transactions.GetChange(ctx, ref)
}
