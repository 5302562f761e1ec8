package table

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
)

// Declare reserves a name and a location for a table that a client will write. If the deployment
// vends credentials, the answer has them for the location. They are created first, so that nothing
// is declared if a request for them fails.
func (s *Service) Declare(ctx context.Context, req *tableapi.DeclareRequest) (*tableapi.DeclareResponse, error) {
	if err := protocol.CheckProperties(req.Properties); err != nil {
		return nil, err
	}
	if err := protocol.RequireName(req.ID); err != nil {
		return nil, err
	}
	location, err := s.tables.Names.Places.Planned(ctx, req.ID, req.Location)
	if err != nil {
		return nil, err
	}
	options, err := s.credentials(ctx, req.Common, req.VendCredentials, location.URI)
	if err != nil {
		return nil, err
	}
	var declared *catalog.Table
	if req.Location == "" {
		declared, err = s.tables.Names.CreateTable(ctx, req.ID, location, 0, req.Properties)
	} else {
		declared, err = s.tables.Names.RegisterTable(ctx, req.ID, catalog.Registration{Location: location, Properties: req.Properties})
	}
	if err != nil {
		return nil, err
	}
	return &tableapi.DeclareResponse{
		TransactionID: s.changed(ctx, "declare-table", declared.ID, nil),
		Location:      declared.Location.URI, StorageOptions: options, Properties: declared.Properties, ManagedVersioning: declared.Managed,
	}, nil
}
