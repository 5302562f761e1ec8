package job

import (
	"context"
	"errors"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/jobapi"
)

// Resume continues a job that was paused or set aside.
func (s *Service) Resume(ctx context.Context, req *jobapi.Request) (*jobapi.ResumeResponse, error) {
	job, err := s.admit(ctx, "ResumeJob", req.JobID)
	if err != nil {
		return nil, err
	}
	if s.tables.Jobs == nil {
		return nil, &protocol.Error{
			Code: protocol.Unsupported, Message: "this deployment has no workers", Detail: "configure a queue of jobs (TILTYARD_JOBS)",
		}
	}
	paused, pausing, err := s.tables.Jobs.Resume(ctx, job, s.tables.Now())
	if err != nil && !errors.Is(err, transaction.ErrEnded) {
		return nil, err
	}
	return &jobapi.ResumeResponse{Resumed: paused && !pausing, StillPausing: pausing}, nil
}
