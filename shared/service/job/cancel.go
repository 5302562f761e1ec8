package job

import (
	"context"
	"errors"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/jobapi"
	"tiltyard/shared/protocol/transactionapi"
)

// Cancel ends a job; its worker stops at the next checkpoint. A job that has already ended stays
// unchanged.
func (s *Service) Cancel(ctx context.Context, req *jobapi.Request) (*protocol.Empty, error) {
	job, err := s.admit(ctx, "CancelJob", req.JobID)
	if err != nil {
		return nil, err
	}
	_, err = s.tables.Transactions.Advance(ctx, job, func(t *transaction.Transaction) {
		t.Status = transactionapi.Canceled
	})
	if err != nil && !errors.Is(err, transaction.ErrEnded) {
		return nil, err
	}
	return &protocol.Empty{}, nil
}
