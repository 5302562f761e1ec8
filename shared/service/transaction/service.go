// Package transaction implements the operations on transactions. A transaction is a commit of a
// table, a job, or another recorded change.
package transaction

import (
	"context"
	"errors"
	"maps"
	"slices"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine/history"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/tables"
)

// A Service implements the operations on transactions.
type Service struct{ tables tables.Tables }

// New returns the service over tables.
func New(tables tables.Tables) *Service { return &Service{tables} }

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.JSON("DescribeTransaction", s.Describe),
		httpapi.JSON("AlterTransaction", s.Alter),
	}
}

func answer(t *transaction.Transaction) *transactionapi.Response {
	return &transactionapi.Response{Status: t.Status, Properties: t.Describe()}
}

// onBranch reads a commit from the history of a branch.
func (s *Service) onBranch(ctx context.Context, t *catalog.Table, ref transaction.Ref) (history.Transaction, error) {
	table, err := s.tables.On(ctx, t, ref.Branch)
	if err != nil {
		return history.Transaction{}, err
	}
	if ref.Version == 0 {
		return history.FindTransaction(ctx, table, ref.UUID)
	}
	return history.TransactionOf(ctx, table, ref.Version)
}

// onAnyBranch searches all branches of a table for a commit that the main line lacks and whose id
// names no branch. It returns an error if several branches match.
func (s *Service) onAnyBranch(ctx context.Context, t *catalog.Table, ref transaction.Ref, missing error) (only history.Transaction, branch string, err error) {
	table := s.tables.At(t)
	branches, _, err := table.Data().Refs().Branches(ctx, "", 0)
	if err != nil {
		return only, "", table.Translate(err)
	}
	for _, name := range slices.Sorted(maps.Keys(branches)) {
		there := ref
		there.Branch = name
		found, err := s.onBranch(ctx, t, there)
		switch {
		case err != nil && isMissing(err):
			continue
		case err != nil:
			return only, "", err
		case branch != "":
			return only, "", protocol.Errorf(protocol.TransactionNotFound, "branches %s and %s both have version %d; the id does not name the branch", branch, name, ref.Version)
		}
		only, branch = found, name
		// A UUID is unique, unlike the number of a version.
		if ref.UUID != "" {
			break
		}
	}
	if branch == "" {
		return only, "", missing
	}
	return only, branch, nil
}

// commit reads a commit from the history of its table. The error is TransactionNotFound if the
// version does not exist or another transaction made it.
func (s *Service) commit(ctx context.Context, ref transaction.Ref) (transaction.Commit, error) {
	var branch string
	found, err := tables.Inspect(ctx, s.tables.Open(ref.Table, ""), func(ctx context.Context, at tables.Table) (history.Transaction, error) {
		t := at.Found.Table
		branch = ref.Branch
		found, err := s.onBranch(ctx, t, ref)
		if err == nil || !isMissing(err) || ref.Branch != "" || ref.UUID != "" && ref.Version != 0 {
			return found, err
		}
		found, branch, err = s.onAnyBranch(ctx, t, ref, err)
		return found, err
	})
	switch {
	case err != nil && isMissing(err):
		return transaction.Commit{}, notFound(ref, err)
	case err != nil:
		return transaction.Commit{}, err
	case ref.UUID != "" && ref.UUID != found.UUID:
		// The name refers to another table now.
		return transaction.Commit{}, notFound(ref, errors.New("the version was made by another transaction"))
	}
	return transaction.Commit{
		UUID: found.UUID, Branch: branch, Version: found.Version, ReadVersion: found.ReadVersion,
		Operation: found.Operation, Properties: found.Properties,
	}, nil
}

// isMissing reports whether an error means that the table, branch or version of a commit does not
// exist.
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
		Message: "table " + protocol.JoinID(ref.Table, protocol.DefaultDelimiter) + " does not have this transaction", Err: err,
	}
}
