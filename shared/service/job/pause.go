package job

import (
	"context"
	"errors"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol/jobapi"
)

// Pause stops a job at its next checkpoint.
func (s *Service) Pause(ctx context.Context, req *jobapi.Request) (*jobapi.PauseResponse, error) {
	job, err := s.admit(ctx, "PauseJob", req.JobID)
	if err != nil {
		return nil, err
	}
	before, err := s.tables.Transactions.Pause(ctx, job)
	if errors.Is(err, transaction.ErrEnded) {
		return &jobapi.PauseResponse{Committing: true}, nil
	}
	if err != nil {
		return nil, err
	}
	return &jobapi.PauseResponse{Paused: !before}, nil
}
