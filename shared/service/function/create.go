package function

import (
	"context"
	"encoding/json"
	"errors"

	"tiltyard/shared/catalog/builtin"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/work/udfregister"
)

// Create begins a job that proves a function and creates a version of it. If the function exists,
// another definition becomes its next version. If the deployment has a runtime of the kind but not
// for this function, Create refuses it. If it has no runtime of the kind, the function is created
// as disabled.
func (s *Service) Create(ctx context.Context, req *functionapi.CreateRequest) (*functionapi.CreateResponse, error) {
	if s.tables.Jobs == nil {
		return nil, &protocol.Error{
			Code: protocol.Unsupported, Message: "this deployment has no workers, which prove functions", Detail: "configure a queue of jobs (TILTYARD_JOBS)",
		}
	}
	if builtin.IsReserved(req.ID) {
		return nil, builtin.Reserved()
	}
	if s.tables.Runs != nil {
		// ErrNone means that no runtime of the kind is configured; then the function is stored as disabled.
		if err := s.tables.Runs(req.Runtime); err != nil && !errors.Is(err, udf.ErrNone) {
			return nil, err
		}
	}
	parent := keys.Parent(req.ID)
	if _, err := s.tables.Names.Namespaces.Get(ctx, parent); err != nil {
		return nil, err
	}
	// The job will open the secrets with the sender's rights, so check these now.
	for _, bound := range req.SecretBindings {
		if err := auth.CheckSecret(ctx, bound.Secret.ID()); err != nil {
			return nil, err
		}
	}
	definition, err := json.Marshal(req.Definition())
	if err != nil {
		return nil, err
	}
	order := udfregister.Order{Definition: definition}
	if order.Digest, err = req.Definition().Digest(); err != nil {
		return nil, err
	}
	// The artifact is stored before the job, which reads it.
	if order.Artifact, err = s.tables.Names.Functions.PutArtifact(ctx, req.Artifact.Digest, req.Content()); err != nil {
		return nil, err
	}
	begun, err := s.tables.Jobs.Begin(ctx, udfregister.Kind, req.ID, order)
	if err != nil {
		return nil, err
	}
	return &functionapi.CreateResponse{JobID: begun.ID, TransactionID: begun.ID}, nil
}
