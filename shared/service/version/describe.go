package version

import (
	"context"

	"tiltyard/shared/lance/dataset/listing"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/tables"
)

// Describe returns one version of a table, or the newest one if the request has no number.
func (s *Service) Describe(ctx context.Context, req *versionapi.DescribeRequest) (*versionapi.DescribeResponse, error) {
	return tables.Inspect(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, t tables.Table) (*versionapi.DescribeResponse, error) {
		found, err := listing.One(ctx, t.Data(), req.Version)
		if err != nil {
			return nil, err
		}
		entries := []versionapi.Version{entry(t.Found.Table, found)}
		if err := addMetadata(ctx, t.Found.Table, []string{found.Key}, entries); err != nil {
			return nil, err
		}
		return &versionapi.DescribeResponse{Version: entries[0]}, nil
	})
}
