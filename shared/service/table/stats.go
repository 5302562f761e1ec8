package table

import (
	"context"
	"slices"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// smallFragment is the number of rows below which a fragment counts as small.
const smallFragment = 1 << 20

// Stats tells how large a table is and how its rows lie in fragments.
func (s *Service) Stats(ctx context.Context, req *protocol.GetTableStatsRequest) (*protocol.GetTableStatsResponse, error) {
	if err := protocol.OnMain(req.Branch); err != nil {
		return nil, err
	}
	return catalog.Read(ctx, s.names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.GetTableStatsResponse, error) {
		return engine.Read(ctx, s.of(t), nil, func(_ context.Context, d *dataset.Dataset) (*protocol.GetTableStatsResponse, error) {
			indices, err := d.Manifest().Indices()
			if err != nil {
				return nil, err
			}
			stats := d.Stats()
			return &protocol.GetTableStatsResponse{
				TotalBytes: stats.Bytes, NumRows: stats.Rows, NumIndices: int64(len(indices)), FragmentStats: distribution(stats.Lengths),
			}, nil
		})
	})
}

func distribution(lengths []int64) protocol.FragmentStats {
	stats := protocol.FragmentStats{NumFragments: int64(len(lengths))}
	if len(lengths) == 0 {
		return stats
	}
	slices.Sort(lengths)
	total := int64(0)
	for _, n := range lengths {
		total += n
		if n < smallFragment {
			stats.NumSmallFragments++
		}
	}
	at := func(percent int) int64 { return lengths[min(len(lengths)*percent/100, len(lengths)-1)] }
	stats.Lengths = protocol.FragmentSummary{
		Min: lengths[0], Max: lengths[len(lengths)-1], Mean: total / int64(len(lengths)),
		P25: at(25), P50: at(50), P75: at(75), P99: at(99),
	}
	return stats
}
