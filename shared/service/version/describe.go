package version

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
)

// Describe tells about one version of a table, the newest when none is given.
func (s *Service) Describe(ctx context.Context, req *protocol.DescribeTableVersionRequest) (*protocol.DescribeTableVersionResponse, error) {
	if err := protocol.OnMain(req.Branch); err != nil {
		return nil, err
	}
	return catalog.Read(ctx, s.tables.Names, req.ID, func(ctx context.Context, t *catalog.Table) (*protocol.DescribeTableVersionResponse, error) {
		found, err := s.tables.At(t).Version(ctx, req.Version)
		if err != nil {
			return nil, err
		}
		return &protocol.DescribeTableVersionResponse{Version: entry(t, found)}, nil
	})
}
