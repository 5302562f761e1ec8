package version

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
)

// Describe returns one version of a table; without a number, the newest one.
func (s *Service) Describe(ctx context.Context, req *protocol.DescribeTableVersionRequest) (*protocol.DescribeTableVersionResponse, error) {
	return catalog.Read(ctx, s.tables.Names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.DescribeTableVersionResponse, error) {
		table, err := s.tables.On(ctx, t, req.Branch)
		if err != nil {
			return nil, err
		}
		found, err := table.Version(ctx, req.Version)
		if err != nil {
			return nil, err
		}
		entries := []protocol.TableVersion{entry(t, found)}
		if err := addMetadata(ctx, t, []string{found.Key}, entries); err != nil {
			return nil, err
		}
		return &protocol.DescribeTableVersionResponse{Version: entries[0]}, nil
	})
}
