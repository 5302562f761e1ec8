package table

import (
	"context"
	"fmt"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
)

// Register gives a name to a table that is on storage already, at a location that the
// configuration allows. In mode Overwrite the name may be taken: it then stands for the
// new location, and what was at the old one stays there.
func (s *Service) Register(ctx context.Context, req *protocol.RegisterTableRequest) (*protocol.RegisterTableResponse, error) {
	if err := protocol.CheckProperties(req.Properties); err != nil {
		return nil, err
	}
	if err := protocol.RequireName(req.ID); err != nil {
		return nil, err
	}
	location, err := s.tables.Names.PlannedLocation(ctx, req.ID, req.Location)
	if err != nil {
		return nil, err
	}
	version, err := s.tables.Rows.Table(req.ID, location, 0).Newest(ctx)
	if engine.IsDeclared(err) {
		return nil, &protocol.Error{
			Code: protocol.InvalidInput, Message: fmt.Sprintf("no Lance table at location %q", req.Location),
			Detail: "register names the folder that holds a table's _versions folder; use declare for a table that is yet to be written",
		}
	}
	if err != nil {
		return nil, err
	}
	replace := req.Mode == protocol.RegisterModeOverwrite
	made, err := s.tables.Names.CreateTable(ctx, req.ID, location, version, req.Properties, replace)
	if err != nil {
		return nil, err
	}
	return &protocol.RegisterTableResponse{
		TransactionID: s.changed(ctx, "register-table", made.ID, nil),
		Location:      made.Location.URI, Properties: made.Properties,
	}, nil
}
