package function

import (
	"context"

	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol/functionapi"
)

// List returns all versions of the functions in a namespace. The limit counts functions, not
// versions.
func (s *Service) List(ctx context.Context, req *functionapi.ListRequest) (*functionapi.ListResponse, error) {
	limit := lists.NoLimit
	if most, bounded := req.Bound(); bounded {
		limit = int(min(most, 1<<31-1))
	}
	found, next, err := s.tables.Names.Functions.List(ctx, req.ID, req.PageToken, limit)
	if err != nil {
		return nil, err
	}
	answer := &functionapi.ListResponse{PageToken: next}
	for _, record := range found {
		listed, err := s.listVersions(record)
		if err != nil {
			return nil, err
		}
		answer.Functions = append(answer.Functions, listed...)
	}
	return answer, nil
}

// listVersions describes all versions of a function.
func (s *Service) listVersions(record *stored.Function) ([]functionapi.Listed, error) {
	listed := make([]functionapi.Listed, len(record.Versions))
	for i := range record.Versions {
		version, err := functions.Describe(record, i+1, s.tables.Runs)
		if err != nil {
			return nil, err
		}
		listed[i].Definition = *version
	}
	return listed, nil
}
