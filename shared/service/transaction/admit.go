package transaction

import (
	"context"
	"strings"

	"tiltyard/shared/auth"
	"tiltyard/shared/transaction"
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
		object, missing = objectOf(found), transaction.NotFound(ref)
	}
	switch {
	case !auth.Sees(ctx, object):
		return missing
	case !auth.Permits(ctx, operation, object):
		return auth.Denied(operation, object)
	}
	return nil
}

// recorded returns a transaction that has a record, which commits of tables lack.
func (s *Service) recorded(ctx context.Context, ref transaction.Ref) (*transaction.Transaction, error) {
	if ref.Record != "" {
		return s.tables.Transactions.Get(ctx, ref)
	}
	return s.tables.Transactions.GetChange(ctx, ref)
}

// objectOf returns the object that a transaction changed. For a transaction on several tables it is
// the root.
func objectOf(t *transaction.Transaction) auth.Object {
	if len(t.Object) == 0 || strings.HasSuffix(t.Kind, "namespace") { // such as "create-namespace"
		return auth.Namespace(t.Object)
	}
	if strings.HasSuffix(t.Kind, "_function") {
		return auth.Function(t.Object)
	}
	return auth.Table(t.Object)
}

// admitJob is admit for the job that a request names.
func (s *Service) admitJob(ctx context.Context, operation, id string) (transaction.Ref, error) {
	if !transaction.IsJobID(id) {
		return transaction.Ref{}, errNoJob
	}
	ref, err := transaction.ParseID([]string{id})
	if err != nil {
		return ref, err
	}
	return ref, s.admit(ctx, operation, ref)
}
