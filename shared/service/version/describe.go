package version

import (
	"context"

	"tiltyard/shared/lance/dataset/listing"
	"tiltyard/shared/protocol"
	"tiltyard/shared/tables"
)

// Describe returns one version of a table; without a number, the newest one.
func (s *Service) Describe(ctx context.Context, req *protocol.DescribeTableVersionRequest) (*protocol.DescribeTableVersionResponse, error) {
	return tables.Look(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, t tables.Table) (*protocol.DescribeTableVersionResponse, error) {
		found, err := listing.One(ctx, t.Data(), req.Version)
		if err != nil {
			return nil, err
		}
		entries := []protocol.TableVersion{entry(t.Found.Table, found)}
		if err := addMetadata(ctx, t.Found.Table, []string{found.Key}, entries); err != nil {
			return nil, err
		}
		return &protocol.DescribeTableVersionResponse{Version: entries[0]}, nil
	})
}
