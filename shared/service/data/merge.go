package data

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// Merge matches uploaded rows with those of the table by key columns, and updates and
// inserts as the request says. A table that was only declared is created by the rows.
func (s *Service) Merge(ctx context.Context, req *protocol.MergeInsertIntoTableRequest) (*protocol.MergeInsertIntoTableResponse, error) {
	if err := supported(req); err != nil {
		return nil, err
	}
	if req.Timeout > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, req.Timeout)
		defer end()
	}
	spec := engine.Merge{
		On:        req.On,
		UpdateAll: req.WhenMatchedUpdateAll,
		InsertAll: req.WhenNotMatchedInsertAll,
		BySource:  req.WhenNotMatchedBySourceDelete,
	}
	done, err := s.write(ctx, req.ID, req.Body, func(t *engine.Table, rows dataset.Rows, confirm func() error) (engine.Written, error) {
		return t.Merge(ctx, rows, spec, confirm)
	})
	if err != nil {
		return nil, err
	}
	return &protocol.MergeInsertIntoTableResponse{
		NumUpdatedRows: done.Updated, NumInsertedRows: done.Inserted, NumDeletedRows: done.Deleted, Version: done.Version,
	}, nil
}

// supported refuses by name what merging does not do yet.
func supported(req *protocol.MergeInsertIntoTableRequest) error {
	unsupported := func(what string) error {
		return protocol.Errorf(protocol.Unsupported, "merge_insert with %s is not supported yet", what)
	}
	switch {
	case req.WhenMatchedUpdateAllFilter != "":
		return unsupported("when_matched_update_all_filt")
	case req.WhenNotMatchedBySourceDeleteFilter != "":
		return unsupported("when_not_matched_by_source_delete_filt")
	}
	return protocol.OnMain(req.Branch)
}
