package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/views"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/tables"
)

// CreatePlain creates a view that is a named query without rows of its own. It plans the query over
// the newest version of its table, which must exist and must not be a plain view.
func (s *Service) CreatePlain(ctx context.Context, req *viewapi.CreateRequest) (*viewapi.DescribeResponse, error) {
	if err := protocol.RequireName(req.ID); err != nil {
		return nil, err
	}
	query, err := selection.Parse(req.Query)
	if err != nil {
		return nil, &protocol.Error{Code: protocol.InvalidInput, Message: fmt.Sprintf("query: %v", err), Err: err}
	}
	view := views.NewView{
		Kind: stored.Plain, Source: sourceOf(query, req.ID), Digest: digest(query.String()),
		Plain: &stored.PlainView{Query: query.String(), Database: req.Database},
	}
	// Readers of the view read its source, so its creator must be permitted to.
	if source := auth.Table(view.Source); !auth.Permits(ctx, "QueryTable", source) {
		return nil, auth.Denied("QueryTable", source)
	}
	schema, err := tables.Inspect(ctx, s.tables.Open(view.Source, ""), func(ctx context.Context, t tables.Table) (*protocol.JSONSchema, error) {
		columns, _, err := t.WithView(query).Columns(ctx)
		if err != nil {
			return nil, err
		}
		return protocol.EncodeSchema(protocol.DialectNamespace, columns)
	})
	if err != nil {
		return nil, err
	}
	if view.Plain.Schema, err = json.Marshal(schema); err != nil {
		return nil, err
	}
	made, err := s.tables.Names.Views.Create(ctx, req.ID, view)
	if err != nil {
		return nil, err
	}
	return describePlain(req.ID, made)
}

// sourceOf returns the id of the table that a view reads. A name without a namespace refers to a
// table in the view's namespace.
func sourceOf(query *selection.Query, id []string) []string {
	if len(query.Source) > 1 {
		return query.Source
	}
	return append(slices.Clone(id[:len(id)-1]), query.Source...)
}

// digest hashes a definition.
func digest(definition string) string {
	sum := sha256.Sum256([]byte(definition))
	return hex.EncodeToString(sum[:])
}

// DescribePlain returns a view as it was created.
func (s *Service) DescribePlain(ctx context.Context, req *viewapi.Request) (*viewapi.DescribeResponse, error) {
	record, err := s.tables.Names.Views.Get(ctx, req.ID, stored.Plain)
	if err != nil {
		return nil, err
	}
	return describePlain(req.ID, record.View)
}

// describePlain converts the record of a plain view to the form of the protocol.
func describePlain(id []string, view *stored.View) (*viewapi.DescribeResponse, error) {
	last := len(id) - 1
	answer := &viewapi.DescribeResponse{
		Name: id[last], Namespace: id[:last], Query: view.Plain.Query, DefaultDatabase: view.Plain.Database, DefaultNamespace: id[:last],
	}
	if err := json.Unmarshal(view.Plain.Schema, &answer.Schema); err != nil {
		return nil, fmt.Errorf("schema of view %s: %w", view.UID, err)
	}
	return answer, nil
}

// DropPlain removes a view. Its source stays.
func (s *Service) DropPlain(ctx context.Context, req *viewapi.Request) (*viewapi.DropResponse, error) {
	if _, err := s.tables.Names.Views.Drop(ctx, req.ID, stored.Plain); err != nil {
		return nil, err
	}
	return &viewapi.DropResponse{}, nil
}

// ListPlain returns the names of the plain views in a namespace.
func (s *Service) ListPlain(ctx context.Context, req *viewapi.ListRequest) (*viewapi.ListResponse, error) {
	limit := lists.NoLimit
	if most, bounded := req.Bound(); bounded {
		limit = int(min(most, 1<<31-1))
	}
	names, next, err := s.tables.Names.Lists.Names(ctx, lists.Plain, req.ID, req.PageToken, limit)
	if err != nil {
		return nil, err
	}
	return &viewapi.ListResponse{Views: names, PageToken: next}, nil
}
