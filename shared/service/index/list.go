package index

import (
	"context"

	"tiltyard/shared/engine/indices"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/tables"
)

// List returns the indices of a table, ordered by name.
func (s *Service) List(ctx context.Context, req *indexapi.ListRequest) (*indexapi.ListResponse, error) {
	return tables.Inspect(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, t tables.Table) (*indexapi.ListResponse, error) {
		indices, err := indices.List(ctx, t.Table, req.Version)
		if err != nil {
			return nil, err
		}
		return page(indices, req.Page), nil
	})
}

// page returns the answer with one page of indices, which are ordered by name.
func page(indices []snapshot.Index, p protocol.Page) *indexapi.ListResponse {
	answer := &indexapi.ListResponse{}
	limit, bounded := p.Bound()
	for _, x := range indices {
		if p.PageToken != "" && x.Name <= p.PageToken {
			continue
		}
		if n := int64(len(answer.Indexes)); bounded && n == limit {
			if n > 0 {
				answer.PageToken = answer.Indexes[n-1].Name
			}
			break
		}
		answer.Indexes = append(answer.Indexes, content(x))
	}
	return answer
}

// content describes an index.
func content(x snapshot.Index) indexapi.Content {
	c := indexapi.Content{
		Name: x.Name, UUID: x.UUID, Columns: x.Columns, Status: indexapi.Ready,
		Type: x.Kind.Type, TypeURL: x.Kind.TypeURL, Details: x.Kind.Details, Version: int64(x.Version),
		NumIndexedRows: x.Indexed, NumUnindexedRows: x.Unindexed, NumSegments: int64(x.Segments),
	}
	if x.Bytes >= 0 {
		c.SizeBytes = &x.Bytes
	}
	if !x.Created.IsZero() {
		c.CreatedAt = &x.Created
	}
	return c
}
