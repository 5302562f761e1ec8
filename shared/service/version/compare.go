package version

import (
	"context"
	"errors"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/difference"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/tables"
)

// Compare returns the rows that differ between two versions of a table.
func (s *Service) Compare(ctx context.Context, req *versionapi.CompareRequest) (*versionapi.CompareResponse, error) {
	type answer = *versionapi.CompareResponse
	return tables.Read(ctx, s.tables.Open(req.ID, req.Branch), req.ToVersion, func(ctx context.Context, now tables.Version) (answer, error) {
		return engine.Read(ctx, now.Table.Table, req.FromVersion, func(ctx context.Context, was *dataset.Dataset) (answer, error) {
			return compared(ctx, was, now.Dataset, req.Rows())
		})
	})
}

// compared compares the columns that two versions have in common. limit bounds the row ids in each
// list.
func compared(ctx context.Context, was, now *dataset.Dataset, limit int) (*versionapi.CompareResponse, error) {
	fields := difference.Common(was.Schema(), now.Schema())
	stable := was.Manifest().StableRowIDs()
	var rows *difference.Rows
	var err error
	if stable {
		// Stable row ids follow rows that moved. Without them rows are compared by their addresses.
		rows, err = difference.Since(ctx, now, was, fields)
	} else {
		rows, err = difference.ByAddress(ctx, was.Snapshot, now.Snapshot, fields)
	}
	if errors.Is(err, difference.ErrNotComparable) {
		return nil, protocol.Errorf(protocol.Unsupported, "%v", err)
	}
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	first := func(set *roaring64.Bitmap) versionapi.ComparedRows {
		ids := make([]uint64, min(uint64(limit), set.GetCardinality()))
		return versionapi.ComparedRows{Count: int64(set.GetCardinality()), RowIDs: slices.Clip(ids[:set.ManyIterator().NextMany(ids)])}
	}
	return &versionapi.CompareResponse{
		FromVersion: int64(was.Version()), ToVersion: int64(now.Version()), StableRowIDs: stable,
		Removed: first(rows.Gone), Added: first(rows.Fresh), Changed: first(rows.Changed),
	}, nil
}
