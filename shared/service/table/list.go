package table

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
)

// List returns the names of the tables directly inside a namespace, in bytewise order.
func (s *Service) List(ctx context.Context, req *tableapi.ListRequest) (*tableapi.ListResponse, error) {
	limit := bound(req.Page)
	if req.IncludeDeclared == nil || *req.IncludeDeclared || limit == 0 {
		names, next, err := s.tables.Names.Lists.Names(ctx, lists.Tables, req.ID, req.PageToken, limit)
		return &tableapi.ListResponse{Tables: names, PageToken: next}, err
	}
	return s.listWithData(ctx, req.ID, req.PageToken, limit)
}

// listWithData returns a page of the tables that are not only declared. It reads as many tables as
// it needs to fill the page.
func (s *Service) listWithData(ctx context.Context, namespace []string, after string, limit int) (*tableapi.ListResponse, error) {
	kept := []string{}
	for limit == lists.NoLimit || len(kept) < limit {
		ask := limit
		if limit != lists.NoLimit {
			ask = limit - len(kept)
		}
		names, next, err := s.tables.Names.Lists.Names(ctx, lists.Tables, namespace, after, ask)
		if err != nil {
			return nil, err
		}
		ids := make([][]string, len(names))
		for i, name := range names {
			ids[i] = append(slices.Clone(namespace), name)
		}
		if ids, err = s.withData(ctx, ids); err != nil {
			return nil, err
		}
		for _, id := range ids {
			kept = append(kept, id[len(id)-1])
		}
		if after = next; next == "" {
			return &tableapi.ListResponse{Tables: kept}, nil
		}
	}
	return &tableapi.ListResponse{Tables: kept, PageToken: after}, nil
}

// ListAll returns the joined ids of the tables in all namespaces, in bytewise order. In the LanceDB
// dialect it returns the names of the tables in the root namespace.
func (s *Service) ListAll(ctx context.Context, req *tableapi.ListAllRequest) (*tableapi.ListResponse, error) {
	if req.Dialect == protocol.DialectLanceDB {
		return s.List(ctx, &tableapi.ListRequest{
			Common: protocol.Common{Delimiter: req.Delimiter}, Page: req.Page, IncludeDeclared: req.IncludeDeclared,
		})
	}
	ids, err := s.tables.Names.Lists.All(ctx)
	if err != nil {
		return nil, err
	}
	if req.IncludeDeclared != nil && !*req.IncludeDeclared {
		if ids, err = s.withData(ctx, ids); err != nil {
			return nil, err
		}
	}
	joined := make([]string, len(ids))
	for i, id := range ids {
		joined[i] = protocol.JoinID(id, req.Delimiter)
	}
	slices.Sort(joined)
	return page(joined, req.PageToken, bound(req.Page)), nil
}

// bound returns the limit of a page.
func bound(p protocol.Page) int {
	if limit, bounded := p.Bound(); bounded {
		return int(min(limit, 1<<31-1))
	}
	return lists.NoLimit
}

// page returns at most limit of the sorted names after the token.
func page(names []string, token string, limit int) *tableapi.ListResponse {
	if token != "" {
		from, found := slices.BinarySearch(names, token)
		if found {
			from++
		}
		names = names[from:]
	}
	answer := &tableapi.ListResponse{Tables: names}
	if limit != lists.NoLimit && limit < len(names) {
		answer.Tables = names[:limit]
		if limit > 0 {
			answer.PageToken = names[limit-1]
		}
	}
	return answer
}

// maxChecks bounds the tables that are read in parallel.
const maxChecks = 16

// withData removes the tables that are only declared or no longer exist.
func (s *Service) withData(ctx context.Context, ids [][]string) ([][]string, error) {
	has := make([]bool, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxChecks)
	for i, id := range ids {
		group.Go(func() error {
			t, err := s.tables.Names.Table(ctx, id)
			if err != nil {
				// The table was dropped after it was listed.
				if protocol.CodeOf(err) == protocol.TableNotFound || protocol.CodeOf(err) == protocol.NamespaceNotFound {
					return nil
				}
				return err
			}
			has[i], err = s.tables.At(t).HasData(ctx)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	kept := ids[:0]
	for i, id := range ids {
		if has[i] {
			kept = append(kept, id)
		}
	}
	return kept, nil
}
