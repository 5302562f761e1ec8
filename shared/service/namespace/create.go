package namespace

import (
	"context"

	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/namespaceapi"
)

var existsModes = map[protocol.CreateMode]namespaces.ExistsMode{
	protocol.CreateModeCreate:    namespaces.FailIfExists,
	protocol.CreateModeExistOk:   namespaces.KeepIfExists,
	protocol.CreateModeOverwrite: namespaces.ReplaceIfExists,
}

// Create creates a namespace. The mode of the request decides what happens if the namespace exists.
func (s *Service) Create(ctx context.Context, req *namespaceapi.CreateRequest) (*namespaceapi.CreateResponse, error) {
	if err := protocol.CheckProperties(req.Properties); err != nil {
		return nil, err
	}
	made, err := s.names.Namespaces.Create(ctx, req.ID, req.Properties, existsModes[req.Mode])
	if err != nil {
		return nil, err
	}
	id, _ := transaction.ChangeID(transaction.Change{Operation: "create-namespace", Object: req.ID}, made.Created)
	return &namespaceapi.CreateResponse{TransactionID: id, Properties: made.Properties}, nil
}
