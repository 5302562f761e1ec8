package transaction

import (
	"context"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol/transactionapi"
)

// Alter changes the status and the properties of a transaction. It applies all actions of the
// request or none.
func (s *Service) Alter(ctx context.Context, req *transactionapi.AlterRequest) (*transactionapi.Response, error) {
	ref, err := transaction.ParseID(req.ID)
	if err != nil {
		return nil, err
	}
	if err := s.admit(ctx, "AlterTransaction", ref); err != nil {
		return nil, err
	}
	altered, err := s.alter(ctx, ref, req.Actions)
	if err != nil {
		return nil, err
	}
	if altered, err = s.complete(ctx, altered); err != nil {
		return nil, err
	}
	return answer(altered), nil
}

// alter applies the actions, and creates the record of a commit or a change if there is none.
func (s *Service) alter(ctx context.Context, ref transaction.Ref, actions []transactionapi.Action) (*transaction.Transaction, error) {
	if ref.IsRecorded() {
		return s.tables.Transactions.Alter(ctx, ref, actions)
	}
	if ref.IsChange() {
		return s.tables.Transactions.AlterChange(ctx, ref, actions)
	}
	commit, err := s.commit(ctx, ref)
	if err != nil {
		return nil, err
	}
	return s.tables.Transactions.AlterCommit(ctx, ref, commit, actions)
}
