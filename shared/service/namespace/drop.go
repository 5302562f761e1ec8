package namespace

import (
	"context"
	"errors"

	"tiltyard/shared/protocol"
	"tiltyard/shared/transaction"
	"tiltyard/shared/work/dropping"
)

// Drop removes a namespace and tells the properties that it had. One that holds tables
// or namespaces is NamespaceNotEmpty unless the behavior is Cascade; one that is missing
// is an error unless the mode is Skip, when the answer is nil. A cascade of more than a few
// is a job, which the answer names: until that is done less and less is there, and nothing
// can be made there.
func (s *Service) Drop(ctx context.Context, req *protocol.DropNamespaceRequest) (*protocol.DropNamespaceResponse, error) {
	answer, err := s.drop(ctx, req.ID, req.Behavior == protocol.DropBehaviorCascade)
	if req.Mode == protocol.DropModeSkip && protocol.CodeOf(err) == protocol.NamespaceNotFound {
		return nil, nil
	}
	return answer, err
}

// maxInline is how many tables and namespaces a cascade drops while the client waits.
const maxInline = 16

func (s *Service) drop(ctx context.Context, id []string, cascade bool) (*protocol.DropNamespaceResponse, error) {
	if cascade {
		if err := s.names.CheckCascade(ctx, id); err != nil {
			return nil, err
		}
	}
	if cascade && s.jobs != nil && len(id) > 0 {
		large, err := s.names.IsLarge(ctx, id, maxInline)
		if err != nil {
			return nil, err
		}
		if large {
			return s.dropLater(ctx, id)
		}
	}
	dropped, err := s.names.DropNamespace(ctx, id, cascade)
	if err != nil {
		return nil, err
	}
	return &protocol.DropNamespaceResponse{Properties: dropped.Properties}, nil
}

// dropLater begins a job. The namespace is marked before the answer, so that who knows that it
// is being dropped can make nothing in it.
func (s *Service) dropLater(ctx context.Context, id []string) (*protocol.DropNamespaceResponse, error) {
	uid, properties, err := s.names.UID(ctx, id)
	if err != nil {
		return nil, err
	}
	begun, err := s.jobs.Begin(ctx, dropping.Kind, id, dropping.Order{UID: uid})
	if err != nil {
		return nil, err
	}
	if _, err := s.names.BeginCascade(ctx, id, uid, begun.ID); err != nil && protocol.CodeOf(err) != protocol.NamespaceNotFound {
		_, undo := s.jobs.Transactions.Advance(ctx, begun.ID, func(t *transaction.Transaction) {
			t.Status, t.Failure = protocol.TransactionFailed, "the namespace could not be marked"
		})
		return nil, errors.Join(err, undo)
	}
	return &protocol.DropNamespaceResponse{Properties: properties, TransactionID: []string{begun.ID}}, nil
}
