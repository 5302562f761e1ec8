package namespace

import (
	"context"
	"errors"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/work/dropping"
)

// Drop removes a namespace and returns the properties that it had. The error is NamespaceNotEmpty
// if the namespace contains tables or namespaces, unless the behavior is Cascade. A missing
// namespace is an error unless the mode is Skip; then the answer is nil.
//
// A cascade over more than [maxInline] tables and namespaces runs as a job, whose id is in the
// answer. While the job runs, the contents of the namespace disappear one by one, and no request
// can create anything in it.
func (s *Service) Drop(ctx context.Context, req *namespaceapi.DropRequest) (*namespaceapi.DropResponse, error) {
	answer, err := s.drop(ctx, req.ID, req.Behavior == namespaceapi.DropBehaviorCascade)
	if req.Mode == namespaceapi.DropModeSkip && protocol.CodeOf(err) == protocol.NamespaceNotFound {
		return nil, nil
	}
	return answer, err
}

// maxInline is the number of tables and namespaces that a cascade drops while the client waits.
const maxInline = 16

// drop drops a namespace, in a job if the cascade is large.
func (s *Service) drop(ctx context.Context, id []string, cascade bool) (*namespaceapi.DropResponse, error) {
	if cascade {
		// Check the rights to the contents before anything is dropped.
		if err := s.names.Namespaces.CheckCascade(ctx, id); err != nil {
			return nil, err
		}
	}
	if cascade && s.jobs != nil && len(id) > 0 {
		large, err := s.names.Namespaces.IsLarge(ctx, id, maxInline)
		if err != nil {
			return nil, err
		}
		if large {
			return s.dropLater(ctx, id)
		}
	}
	dropped, err := s.names.Namespaces.Drop(ctx, id, cascade)
	if err != nil {
		return nil, err
	}
	answer := &namespaceapi.DropResponse{Properties: dropped.Properties}
	if dropped.Dropped != nil {
		answer.DropID, answer.RestorableUntilMillis = dropped.Dropped.Name, dropped.Dropped.Until.UnixMilli()
	}
	return answer, nil
}

// dropLater begins a job that drops a namespace. It marks the namespace before it answers, so that
// the namespace accepts no new tables once the client has the answer.
func (s *Service) dropLater(ctx context.Context, id []string) (*namespaceapi.DropResponse, error) {
	found, err := s.names.Namespaces.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	begun, err := s.jobs.Begin(ctx, dropping.Kind, id, dropping.Order{UID: found.UID})
	if err != nil {
		return nil, err
	}
	if _, err := s.names.Namespaces.BeginCascade(ctx, id, found.UID, begun.ID); err != nil && protocol.CodeOf(err) != protocol.NamespaceNotFound {
		_, undo := s.jobs.Transactions.Advance(ctx, transaction.Unit{Job: begun.ID}, func(t *transaction.Transaction) {
			t.Status, t.Failure = transactionapi.Failed, "the namespace could not be marked as dropping"
		})
		return nil, errors.Join(err, undo)
	}
	return &namespaceapi.DropResponse{Properties: found.Properties, TransactionID: []string{begun.ID}}, nil
}
