package schema

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/tables"
	"tiltyard/shared/view"
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
		done, after, err = t.UpdateSchemaMetadata(ctx, req.Metadata)
		return done, err
	})
	if err != nil {
		return nil, err
	}
	return &after, nil
}

// UpdateField changes the metadata of fields.
func (s *Service) UpdateField(ctx context.Context, req *schemaapi.UpdateFieldMetadataRequest) (*schemaapi.UpdateFieldMetadataResponse, error) {
	updates := make([]engine.FieldMetadata, len(req.Updates))
	for i, u := range req.Updates {
		updates[i] = engine.FieldMetadata{Path: u.Path, Set: u.Metadata, Replace: u.Replace}
	}
	var after map[string]map[string]string
	done, err := s.tables.Open(req.ID, req.Branch).Commit(ctx, func(t tables.Table) (done engine.Written, err error) {
		done, after, err = t.UpdateFieldMetadata(ctx, updates)
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
