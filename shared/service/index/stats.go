package index

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/indexing"
)

// Stats returns the number of rows that an index covers.
func (s *Service) Stats(ctx context.Context, req *indexapi.DescribeStatsRequest) (*indexapi.DescribeStatsResponse, error) {
	x, err := tables.Read(ctx, s.tables.Open(req.ID, req.Branch), req.Version, func(_ context.Context, v tables.Version) (snapshot.Index, error) {
		return v.Index(req.IndexName)
	})
	if err != nil {
		return nil, s.withProgress(ctx, req, err)
	}
	return &indexapi.DescribeStatsResponse{
		IndexType: x.Kind.Type, DistanceType: x.Kind.Metric,
		NumIndexedRows: x.Indexed, NumUnindexedRows: x.Unindexed, NumIndices: int64(x.Segments),
		ExpectedRecall: expectedRecall(x.Kind.Recall),
	}, nil
}

// expectedRecall returns the measured recall of an index, nil if it is unknown.
func expectedRecall(r *indexmeta.Recall) *indexapi.ExpectedRecall {
	if r == nil {
		return nil
	}
	shown := &indexapi.ExpectedRecall{K: r.K, Queries: r.Queries}
	for _, s := range r.Searches {
		shown.Searches = append(shown.Searches, indexapi.MeasuredSearch(s))
	}
	return shown
}

// withProgress adds the progress of the job that builds the index to the error that the index does
// not exist.
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
