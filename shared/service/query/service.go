// Package query implements the operations that read rows.
package query

import (
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/tables"
)

// A Service implements the operations that read rows.
type Service struct{ tables tables.Tables }

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
