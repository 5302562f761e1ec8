package schema

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/tables"
)

// UpdateSchema sets keys in the metadata of a table's schema.
func (s *Service) UpdateSchema(ctx context.Context, req *schemaapi.UpdateMetadataRequest) (*protocol.Properties, error) {
	for key := range req.Metadata {
		if view.Defines(key) {
			return nil, protocol.Errorf(protocol.InvalidInput, "the metadata key %.80q belongs to the definition of a materialized view; drop the view and create it anew", key)
		}
	}
	var after protocol.Properties
	_, err := s.tables.Open(req.ID, req.Branch).Commit(ctx, func(t tables.Table) (done engine.Written, err error) {
		done, after, err = evolution.UpdateSchemaMetadata(ctx, t.Table, req.Metadata)
		return done, err
	})
	if err != nil {
		return nil, err
	}
	return &after, nil
}

// UpdateField changes the metadata of fields.
func (s *Service) UpdateField(ctx context.Context, req *schemaapi.UpdateFieldMetadataRequest) (*schemaapi.UpdateFieldMetadataResponse, error) {
	updates := make([]evolution.FieldMetadata, len(req.Updates))
	for i, u := range req.Updates {
		updates[i] = evolution.FieldMetadata{Path: u.Path, Set: u.Metadata, Replace: u.Replace}
	}
	var after map[string]map[string]string
	done, err := s.tables.Open(req.ID, req.Branch).Commit(ctx, func(t tables.Table) (done engine.Written, err error) {
		done, after, err = evolution.UpdateFieldMetadata(ctx, t.Table, updates)
		return done, err
	})
	if err != nil {
		return nil, err
	}
	answer := &schemaapi.UpdateFieldMetadataResponse{TransactionID: done.TransactionID, Version: done.Version, Fields: map[string]protocol.Properties{}}
	for path, metadata := range after {
		answer.Fields[path] = metadata
	}
	return answer, nil
}
