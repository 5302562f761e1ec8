package table

import (
	"context"
	"slices"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/tables"
)

// Stats returns the size of a table and the distribution of its rows over fragments.
func (s *Service) Stats(ctx context.Context, req *tableapi.GetStatsRequest) (*tableapi.GetStatsResponse, error) {
	return tables.Read(ctx, s.tables.Open(req.ID, req.Branch), nil, func(_ context.Context, d tables.Version) (*tableapi.GetStatsResponse, error) {
		indices, err := d.Manifest().Indices()
		if err != nil {
			return nil, err
		}
		stats := d.Stats()
		return &tableapi.GetStatsResponse{
			TotalBytes: stats.Bytes, NumRows: stats.Rows, NumIndices: int64(len(indices)), FragmentStats: distribution(stats.Lengths, req.Dialect),
		}, nil
	})
}

// distribution summarizes the lengths of fragments. Lance and LanceDB clients compute percentiles
// differently; each gets the numbers of its own library.
func distribution(lengths []int64, dialect protocol.Dialect) tableapi.FragmentStats {
	stats := tableapi.FragmentStats{NumFragments: int64(len(lengths))}
	if len(lengths) == 0 {
		return stats
	}
	small, places := int64(1<<20), len(lengths)-1
	if dialect == protocol.DialectLanceDB {
		small, places = 100_000, len(lengths)
	}
	slices.Sort(lengths)
	total := int64(0)
	for _, n := range lengths {
		total += n
		if n < small {
			stats.NumSmallFragments++
		}
	}
	at := func(percent int) int64 { return lengths[places*percent/100] }
	stats.Lengths = tableapi.FragmentSummary{
		Min: lengths[0], Max: lengths[len(lengths)-1], Mean: total / int64(len(lengths)),
		P25: at(25), P50: at(50), P75: at(75), P99: at(99),
	}
	return stats
}
