package transaction

import (
	"context"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/service/job"
)

// Describe returns the state of a transaction. The status of a commit is succeeded unless a client
// has set another one.
func (s *Service) Describe(ctx context.Context, req *transactionapi.DescribeRequest) (*transactionapi.Response, error) {
	ref, err := transaction.ParseID(req.ID)
	if err != nil {
		return nil, err
	}
	if err := s.admit(ctx, "DescribeTransaction", ref); err != nil {
		return nil, err
	}
	found, err := s.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	return answer(found), nil
}

// find reads a transaction from its record or from the history of its table.
func (s *Service) find(ctx context.Context, ref transaction.Ref) (*transaction.Transaction, error) {
	if ref.IsRecorded() {
		found, err := s.tables.Transactions.Get(ctx, ref)
		if err != nil {
			return nil, err
		}
		job.Revive(ctx, s.tables, found)
		if found, err = s.tables.Transactions.Follow(ctx, found); err != nil {
			return nil, err
		}
		return s.complete(ctx, found)
	}
	if ref.IsChange() {
		return s.tables.Transactions.GetChange(ctx, ref)
	}
	// A client may have altered the commit, so its record takes precedence.
	if ref.UUID != "" {
		found, err := s.tables.Transactions.GetCommit(ctx, ref)
		if err != nil {
			return nil, err
		}
		if found != nil {
			return s.complete(ctx, found)
		}
	}
	commit, err := s.commit(ctx, ref)
	if err != nil {
		return nil, err
	}
	// The id named only a version. Its UUID, which the history has, leads to a record.
	if ref.UUID == "" {
		ref.UUID = commit.UUID
		found, err := s.tables.Transactions.GetCommit(ctx, ref)
		if err != nil {
			return nil, err
		}
		if found != nil {
			found.Commit = &commit
			return found, nil
		}
	}
	return transaction.OfCommit(ref.Table, commit), nil
}

// complete adds the contents of a commit whose record contains only its identity. It adds nothing
// if the table no longer exists.
func (s *Service) complete(ctx context.Context, found *transaction.Transaction) (*transaction.Transaction, error) {
	if found.Commit == nil || found.Commit.Operation != "" {
		return found, nil
	}
	commit, err := s.commit(ctx, transaction.Ref{Table: found.Object, Branch: found.Commit.Branch, Version: found.Commit.Version, UUID: found.Commit.UUID})
	switch {
	case err == nil:
		found.Commit = &commit
	case protocol.CodeOf(err) != protocol.TransactionNotFound:
		return nil, err
	}
	return found, nil
}
