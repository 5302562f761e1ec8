package table

import (
	"context"
	"strings"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/storage/objectstore"
)

// Register gives a name to an existing table at a permitted location. A table may have several
// names; its data stays until the last of them is dropped. In mode Overwrite the name may be taken:
// it then refers to the new location, and the data at the old one stays. The answer repeats an
// absolute location as the request spells it, and returns a relative one as a URI.
func (s *Service) Register(ctx context.Context, req *tableapi.RegisterRequest) (*tableapi.RegisterResponse, error) {
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
	// Refuse an invalid request before the location is claimed.
	if _, _, err := s.look(ctx, req.ID, location); err != nil {
		return nil, err
	}
	made, err := s.tables.Names.RegisterTable(ctx, req.ID, catalog.Registration{
		Location: location, Properties: req.Properties, Joins: true, Replace: req.Mode == tableapi.RegisterModeOverwrite,
		Look: func(ctx context.Context) (uint64, []objectstore.Location, error) {
			return s.look(ctx, req.ID, location)
		},
	})
	if err != nil {
		return nil, err
	}
	answer := &tableapi.RegisterResponse{
		TransactionID: s.changed(ctx, "register-table", made.ID, nil),
		Location:      made.Location.URI, Properties: made.Properties,
	}
	if strings.HasPrefix(req.Location, "/") || strings.Contains(req.Location, "://") {
		answer.Location = req.Location
	}
	return answer, nil
}

// locations returns the other locations that contain files of a table's newest version.
func locations(ctx context.Context, t *engine.Table) ([]objectstore.Location, error) {
	return engine.Read(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) ([]objectstore.Location, error) { return d.Elsewhere() })
}

// look reads the table at a location. It returns the newest version and the other locations to
// which the table refers.
func (s *Service) look(ctx context.Context, id []string, at objectstore.Location) (version uint64, elsewhere []objectstore.Location, err error) {
	table := s.tables.Rows.Table(id, at)
	version, err = table.Newest(ctx)
	if engine.IsDeclared(err) {
		return 0, nil, &protocol.Error{
			Code: protocol.InvalidInput,
			Message: "there is no Lance table at the location: give the folder that holds the table's _versions folder; " +
				"a table that has not been written yet is created or declared, and not registered",
		}
	}
	if err == nil {
		elsewhere, err = locations(ctx, table)
	}
	return version, elsewhere, err
}
