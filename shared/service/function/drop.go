package function

import (
	"context"

	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/protocol/functionapi"
)

// Drop removes a function with all of its versions. If the request names a version, that version
// must exist.
func (s *Service) Drop(ctx context.Context, req *functionapi.Request) (*functionapi.DropResponse, error) {
	record, err := s.tables.Names.Functions.Get(ctx, req.ID)
	if err == nil && functionapi.VersionNumber(req.Version) > len(record.Versions) {
		return nil, functions.NotFound("function %s has no version %s; the newest is %d", keys.Display(req.ID), req.Version, len(record.Versions))
	}
	if err == nil {
		err = s.tables.Names.Functions.Drop(ctx, req.ID)
	}
	if functions.IsNotFound(err) {
		return &functionapi.DropResponse{}, nil
	}
	return &functionapi.DropResponse{Dropped: true}, err
}
