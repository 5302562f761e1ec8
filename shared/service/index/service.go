// Package index implements the operations on the indices of tables. It lists, describes and drops
// indices, and begins the jobs that build them.
package index

import (
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/tables"
)

// A Service implements the operations on indices.
type Service struct{ tables tables.Tables }

// New returns the service over tables.
func New(tables tables.Tables) *Service { return &Service{tables: tables} }

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.JSON("CreateTableIndex", s.Create),
		httpapi.JSON("CreateTableScalarIndex", s.CreateScalar),
		httpapi.JSON("ListTableIndices", s.List),
		httpapi.JSON("DescribeTableIndexStats", s.Stats),
		httpapi.JSON("DropTableIndex", s.Drop),
		httpapi.JSON("PrewarmTableIndex", s.Prewarm),
	}
}
