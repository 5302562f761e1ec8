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
	if ref.IsRecorded() {
		return s.tables.Transactions.Get(ctx, ref)
	}
	return s.tables.Transactions.GetChange(ctx, ref)
}

// objectOf returns the object that a transaction changed. For a transaction on several tables it is
// the root.
func objectOf(t *transaction.Transaction) auth.Object {
	return objectOfKind(t.Kind, t.Object)
}

// objectOfKind returns what a job or a change of a kind is about.
func objectOfKind(kind string, id []string) auth.Object {
	if len(id) == 0 || strings.HasSuffix(kind, "namespace") { // such as "create-namespace"
		return auth.Namespace(id)
	}
	if strings.HasSuffix(kind, "_function") {
		return auth.Function(id)
	}
	return auth.Table(id)
}

// admitJob is admit for the job that a request names.
func (s *Service) admitJob(ctx context.Context, operation, id string) (transaction.Unit, error) {
	if !transaction.IsJobID(id) {
		return transaction.Unit{}, errNoJob
	}
	job := transaction.Unit{Job: id}
	return job, s.admit(ctx, operation, transaction.Ref{Unit: job})
}
