package view

import (
	"context"
	"encoding/json"
	"errors"

	"tiltyard/shared/auth"
	"tiltyard/shared/catalog/builtin"
	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/function"
	"tiltyard/shared/protocol"
	"tiltyard/shared/work/registering"
)

// CreateFunction begins a job that proves a function and makes a version of it. The name need not be free:
// another definition is the next version. A function that this
// deployment does not run is refused, and kept as disabled where it runs none of the kind.
func (s *Service) CreateFunction(ctx context.Context, req *protocol.CreateFunctionRequest) (*protocol.CreateFunctionResponse, error) {
	if s.tables.Jobs == nil {
		return nil, &protocol.Error{
			Code: protocol.Unsupported, Message: "this deployment has no workers, which prove functions", Detail: "configure a queue of jobs (TILTYARD_JOBS)",
		}
	}
	if builtin.IsReserved(req.ID) {
		return nil, builtin.Reserved()
	}
	if s.tables.Runs != nil {
		if err := s.tables.Runs(req.Runtime); err != nil && !errors.Is(err, function.ErrNone) {
			return nil, err
		}
	}
	parent := keys.Parent(req.ID)
	if _, err := s.tables.Names.Namespaces.Get(ctx, parent); err != nil {
		return nil, err
	}
	for _, bound := range req.SecretBindings {
		if err := auth.CheckSecret(ctx, bound.Secret.ID()); err != nil {
			return nil, err
		}
	}
	definition, err := json.Marshal(req.Definition())
	if err != nil {
		return nil, err
	}
	order := registering.Order{Definition: definition}
	if order.Digest, err = req.Definition().Digest(); err != nil {
		return nil, err
	}
	if order.Artifact, err = s.tables.Names.Functions.PutArtifact(ctx, req.Artifact.Digest, req.Content()); err != nil {
		return nil, err
	}
	begun, err := s.tables.Jobs.Begin(ctx, registering.Kind, req.ID, order)
	if err != nil {
		return nil, err
	}
	return &protocol.CreateFunctionResponse{JobID: begun.ID, TransactionID: begun.ID}, nil
}

// DescribeFunction returns a version of a function.
func (s *Service) DescribeFunction(ctx context.Context, req *protocol.FunctionRequest) (*protocol.FunctionVersion, error) {
	number := protocol.FunctionNumber(req.Version)
	record, _, err := s.tables.Names.Functions.Version(ctx, req.ID, number)
	if err != nil {
		return nil, err
	}
	return functions.Describe(record, number, s.tables.Runs)
}

// DropFunction removes a function with all of its versions. The version that the request names must exist.
func (s *Service) DropFunction(ctx context.Context, req *protocol.FunctionRequest) (*protocol.DropFunctionResponse, error) {
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

// ListFunctions returns all versions of the functions in a namespace. The limit counts functions.
func (s *Service) ListFunctions(ctx context.Context, req *protocol.ListFunctionsRequest) (*protocol.ListFunctionsResponse, error) {
	limit := lists.NoLimit
	if most, bounded := req.Bound(); bounded {
		limit = int(min(most, 1<<31-1))
	}
	found, next, err := s.tables.Names.Functions.List(ctx, req.ID, req.PageToken, limit)
	if err != nil {
		return nil, err
	}
	answer := &protocol.ListFunctionsResponse{PageToken: next}
	for _, record := range found {
		listed, err := s.listVersions(record)
		if err != nil {
			return nil, err
		}
		answer.Functions = append(answer.Functions, listed...)
	}
	return answer, nil
}

func (s *Service) listVersions(record *stored.Function) ([]protocol.ListedFunction, error) {
	listed := make([]protocol.ListedFunction, len(record.Versions))
	for i := range record.Versions {
		version, err := functions.Describe(record, i+1, s.tables.Runs)
		if err != nil {
			return nil, err
		}
		listed[i].Definition = *version
	}
	return listed, nil
}
