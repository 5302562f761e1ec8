// Package transaction answers the operations on transactions: jobs, which the LanceDB
// clients know by that name, and commits of tables.
package transaction

import (
	"context"
	"errors"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi"
	"tiltyard/shared/protocol"
	"tiltyard/shared/service"
	"tiltyard/shared/transaction"
)

// A Service answers the operations on transactions.
type Service struct{ tables service.Tables }

// New returns the service over tables.
func New(tables service.Tables) *Service { return &Service{tables: tables} }

// Routes returns the operations that the service answers.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.JSON("DescribeTransaction", s.Describe),
		httpapi.JSON("AlterTransaction", s.Alter),
		httpapi.JSON("ListJobs", s.ListJobs),
		httpapi.JSON("DescribeJob", s.DescribeJob),
		httpapi.JSON("CancelJob", s.CancelJob),
	}
}

func answer(t *transaction.Transaction) *protocol.TransactionResponse {
	return &protocol.TransactionResponse{Status: t.Status, Properties: t.Describe()}
}

// commit reads what the table tells of a commit. What is not there, or not what the id
// says, is TransactionNotFound.
func (s *Service) commit(ctx context.Context, ref transaction.Ref) (transaction.Commit, error) {
	found, err := catalog.Read(ctx, s.tables.Names, ref.Table, func(ctx context.Context, t *catalog.Table) (engine.Transaction, error) {
		table, err := s.tables.At(t).On(ctx, ref.Branch)
		if err != nil {
			return engine.Transaction{}, err
		}
		if ref.Version == 0 {
			return table.FindTransaction(ctx, ref.UUID)
		}
		return table.TransactionOf(ctx, ref.Version)
	})
	switch {
	case err != nil && isMissing(err):
		return transaction.Commit{}, notFound(ref, err)
	case err != nil:
		return transaction.Commit{}, err
	case ref.UUID != "" && ref.UUID != found.UUID:
		// The table of that name is another one now.
		return transaction.Commit{}, notFound(ref, errors.New("the version was made by another transaction"))
	}
	return transaction.Commit{
		UUID: found.UUID, Branch: ref.Branch, Version: found.Version, ReadVersion: found.ReadVersion,
		Operation: found.Operation, Properties: found.Properties,
	}, nil
}

// isMissing says whether what an id of a commit names is not there.
func isMissing(err error) bool {
	switch protocol.CodeOf(err) {
	case protocol.NamespaceNotFound, protocol.TableNotFound, protocol.TableVersionNotFound, protocol.TableBranchNotFound, protocol.TransactionNotFound:
		return true
	}
	return false
}

func notFound(ref transaction.Ref, err error) error {
	return &protocol.Error{
		Code:    protocol.TransactionNotFound,
		Message: "table " + protocol.JoinID(ref.Table, protocol.DefaultDelimiter) + " has no such transaction", Err: err,
	}
}
