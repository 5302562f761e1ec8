package index

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/indexing"
)

// Stats returns how many rows an index covers.
func (s *Service) Stats(ctx context.Context, req *indexapi.DescribeStatsRequest) (*indexapi.DescribeStatsResponse, error) {
	return tables.Look(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, t tables.Table) (*indexapi.DescribeStatsResponse, error) {
		x, err := t.Index(ctx, req.Version, req.IndexName)
		if err != nil {
			return nil, s.withProgress(ctx, req, err)
		}
		return &indexapi.DescribeStatsResponse{
			IndexType: x.Kind.Type, DistanceType: x.Kind.Metric,
			NumIndexedRows: x.Indexed, NumUnindexedRows: x.Unindexed, NumIndices: int64(x.Segments),
		}, nil
	})
}

// withProgress adds to the error that there is no such index how far a job is that builds it.
func (s *Service) withProgress(ctx context.Context, req *indexapi.DescribeStatsRequest, err error) error {
	var missing *protocol.Error
	if s.tables.Jobs == nil || !errors.As(err, &missing) || missing.Code != protocol.TableIndexNotFound {
		return err
	}
	job, failed := indexing.Building(ctx, s.tables.Transactions, req.ID, req.Branch, req.IndexName)
	if failed != nil || job == nil {
		return err
	}
	building := *missing
	building.Detail = fmt.Sprintf("job %s builds it: it is %s", job.ID, job.Status)
	shown := job.Describe()
	for _, name := range []string{"stage", "stages", "parts", "progress", "rows"} {
		if value := shown[name]; value != "" {
			building.Detail += ", " + name + " " + value
		}
	}
	return &building
}
