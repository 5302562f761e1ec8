package function

import (
	"context"

	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/protocol"
)

// Drop removes a function with all of its versions. The version that the request names must exist.
func (s *Service) Drop(ctx context.Context, req *protocol.FunctionRequest) (*protocol.DropFunctionResponse, error) {
	record, err := s.tables.Names.Functions.Get(ctx, req.ID)
	if err == nil && protocol.FunctionNumber(req.Version) > len(record.Versions) {
		return nil, functions.NotFound("function %s has no version %s; the newest is %d", keys.Display(req.ID), req.Version, len(record.Versions))
	}
	if err == nil {
		err = s.tables.Names.Functions.Drop(ctx, req.ID)
	}
	if functions.IsNotFound(err) {
		return &protocol.DropFunctionResponse{}, nil
	}
	return &protocol.DropFunctionResponse{Dropped: true}, err
}
