package function

import (
	"context"

	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/protocol"
)

// Describe returns a version of a function.
func (s *Service) Describe(ctx context.Context, req *protocol.FunctionRequest) (*protocol.FunctionVersion, error) {
	number := protocol.FunctionNumber(req.Version)
	record, _, err := s.tables.Names.Functions.Version(ctx, req.ID, number)
	if err != nil {
		return nil, err
	}
	return functions.Describe(record, number, s.tables.Runs)
}
