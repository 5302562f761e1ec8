package data

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/merge"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol/dataapi"
)

// Merge matches uploaded rows with the rows of a table by key columns, and updates, inserts and
// deletes as the request specifies. Rows for a table that was only declared create it.
func (s *Service) Merge(ctx context.Context, req *dataapi.MergeInsertRequest) (*dataapi.MergeInsertResponse, error) {
	if req.Timeout != nil {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, *req.Timeout)
		defer end()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	spec := merge.Spec{
		On:         req.On,
		UpdateAll:  req.WhenMatchedUpdateAll || req.WhenMatchedUpdateAllFilter != "",
		UpdateIf:   req.WhenMatchedUpdateAllFilter,
		InsertAll:  req.WhenNotMatchedInsertAll,
		BySource:   req.WhenNotMatchedBySourceDelete || req.WhenNotMatchedBySourceDeleteFilter != "",
		BySourceIf: req.WhenNotMatchedBySourceDeleteFilter,
	}
	done, err := s.write(ctx, req.ID, req.Branch, req.Body, func(t *engine.Table, rows dataset.Rows) (engine.Written, error) {
		if err := checkLog(ctx, t, req.LogUse.Wanted()); err != nil {
			return engine.Written{}, err
		}
		return t.Merge(ctx, rows, spec)
	})
	if err != nil {
		return nil, err
	}
	return &dataapi.MergeInsertResponse{
		TransactionID:  done.TransactionID,
		NumUpdatedRows: done.Updated, NumInsertedRows: done.Inserted, NumDeletedRows: done.Deleted, Version: done.Version,
		NumRows: done.Updated + done.Inserted, NumAttempts: int64(max(done.Attempts, 1)),
	}, nil
}
