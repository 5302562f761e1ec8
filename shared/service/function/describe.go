package function

import (
	"context"

	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/protocol/functionapi"
)

// Describe returns a version of a function.
func (s *Service) Describe(ctx context.Context, req *functionapi.Request) (*functionapi.Version, error) {
	number := functionapi.VersionNumber(req.Version)
	record, _, err := s.tables.Names.Functions.Version(ctx, req.ID, number)
	if err != nil {
		return nil, err
	}
	return functions.Describe(record, number, s.tables.Runs)
}
