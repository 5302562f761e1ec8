package index

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
)

// Stats returns how many rows an index covers.
func (s *Service) Stats(ctx context.Context, req *protocol.DescribeTableIndexStatsRequest) (*protocol.DescribeTableIndexStatsResponse, error) {
	return catalog.Read(ctx, s.tables.Names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.DescribeTableIndexStatsResponse, error) {
		table, err := s.tables.On(ctx, t, req.Branch)
		if err != nil {
			return nil, err
		}
		x, err := table.Index(ctx, req.Version, req.IndexName)
		if err != nil {
			return nil, err
		}
		return &protocol.DescribeTableIndexStatsResponse{
			IndexType: x.Kind.Type, DistanceType: x.Kind.Metric,
			NumIndexedRows: x.Indexed, NumUnindexedRows: x.Unindexed, NumIndices: int64(x.Segments),
		}, nil
	})
}
