// Package query implements the operations that read rows.
package query

import (
	"context"

	"tiltyard/shared/engine/relation"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/tables"
)

// A Service implements the operations that read rows.
type Service struct {
	tables tables.Tables
	beside Beside
}

// A Beside opens sources of statements that are no tables. It returns nil for the id of any other source.
type Beside func(ctx context.Context, req *queryapi.StatementRequest, id []string) (relation.Table, error)

// With returns the service with further sources for statements.
func (s *Service) With(beside Beside) *Service { return &Service{s.tables, beside} }

// New returns the service over tables.
func New(tables tables.Tables) *Service { return &Service{tables: tables} }

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Arrow("QueryTable", s.Query),
		httpapi.JSON("CountTableRows", s.Count),
		httpapi.JSON("ExplainTableQueryPlan", s.Explain),
		httpapi.JSON("AnalyzeTableQueryPlan", s.Analyze),
		httpapi.JSON("PrewarmTable", s.Prewarm),
		httpapi.ArrowStream("FetchTableBlobs", s.FetchBlobs),
		httpapi.Bytes("ReadTableBlob", s.ReadBlob),
		httpapi.Result("ReadTableResult"),
	}
}
