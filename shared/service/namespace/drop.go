package namespace

import (
	"context"

	"tiltyard/shared/protocol"
)

// Drop removes a namespace and tells the properties that it had. One that holds tables
// or namespaces is NamespaceNotEmpty unless the behavior is Cascade; one that is missing
// is an error unless the mode is Skip, when the answer is nil.
func (s *Service) Drop(ctx context.Context, req *protocol.DropNamespaceRequest) (*protocol.DropNamespaceResponse, error) {
	dropped, err := s.names.DropNamespace(ctx, req.ID, req.Behavior == protocol.DropBehaviorCascade)
	if err != nil {
		if req.Mode == protocol.DropModeSkip && protocol.CodeOf(err) == protocol.NamespaceNotFound {
			return nil, nil
		}
		return nil, err
	}
	return &protocol.DropNamespaceResponse{Properties: dropped.Properties}, nil
}
