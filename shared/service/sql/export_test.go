package sql

import (
	"context"

	"tiltyard/shared/engine/relation"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/service/query"
)

// ExecuteWithin runs a query in which a list of the information schema opens at most some tables.
func (s *Service) ExecuteWithin(ctx context.Context, req *queryapi.StatementRequest, most int) (*protocol.Rows, error) {
	queries := query.New(s.tables).With(func(ctx context.Context, req *queryapi.StatementRequest, id []string) (relation.Table, error) {
		made, err := s.information(ctx, req, id)
		if l, ok := made.(*listing); ok {
			l.most = most
		}
		return made, err
	})
	return queries.Execute(ctx, req)
}
