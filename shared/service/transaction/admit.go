package transaction

import (
	"context"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol/auth"
)

// admit checks the caller's right to an operation on a transaction. Policies apply to tables and
// namespaces, so it checks the right on the object that the transaction changed. If the caller may
// not see the object, the error is TransactionNotFound.
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

// recorded returns a transaction other than a commit without a record.
func (s *Service) recorded(ctx context.Context, ref transaction.Ref) (*transaction.Transaction, error) {
	if ref.IsRecorded() {
		return s.tables.Transactions.Get(ctx, ref)
	}
	return s.tables.Transactions.GetChange(ctx, ref)
}
