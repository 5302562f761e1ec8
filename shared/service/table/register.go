package table

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// Register gives a name to a table that is on storage already, at a location that the
// configuration allows. A table that has a name may get another one; it then stays until
// the last is dropped. In mode Overwrite the name may be taken: it then stands for the
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
	// What is wrong with the request is told before a place is claimed.
	if _, _, err := s.look(ctx, req.ID, location); err != nil {
		return nil, err
	}
	made, err := s.tables.Names.RegisterTable(ctx, req.ID, catalog.Registration{
		Location: location, Properties: req.Properties, Joins: true, Replace: req.Mode == protocol.RegisterModeOverwrite,
		Look: func(ctx context.Context) (uint64, []objectstore.Location, error) {
			return s.look(ctx, req.ID, location)
		},
	})
	if err != nil {
		return nil, err
	}
	return &protocol.RegisterTableResponse{
		TransactionID: s.changed(ctx, "register-table", made.ID, nil),
		Location:      made.Location.URI, Properties: made.Properties,
	}, nil
}

// look returns the newest version of the table that is at a location already, and the places
// that it refers to.
func (s *Service) look(ctx context.Context, id []string, at objectstore.Location) (version uint64, elsewhere []objectstore.Location, err error) {
	table := s.tables.Rows.Table(id, at, 0)
	version, err = table.Newest(ctx)
	if engine.IsDeclared(err) {
		return 0, nil, &protocol.Error{
			Code: protocol.InvalidInput, Message: "no Lance table at the location",
			Detail: "register names the folder that holds a table's _versions folder; use declare for a table that is yet to be written",
		}
	}
	if err == nil {
		elsewhere, err = table.Elsewhere(ctx, nil)
	}
	return version, elsewhere, err
}
