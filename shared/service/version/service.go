// Package version implements the operations on the versions of a table.
package version

import (
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/tables"
)

// A Service implements the operations on versions.
type Service struct{ tables tables.Tables }

// New returns the service over tables.
func New(tables tables.Tables) *Service { return &Service{tables: tables} }

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.JSON("ListTableVersions", s.List),
		httpapi.JSON("CreateTableVersion", s.Create),
		httpapi.JSON("DescribeTableVersion", s.Describe),
		httpapi.JSON("BatchDeleteTableVersions", s.Delete),
		httpapi.JSON("BatchCreateTableVersions", s.BatchCreate),
		httpapi.JSON("BatchCommitTables", s.BatchCommit),
		httpapi.JSON("RestoreTable", s.Restore),
		httpapi.JSON("CompareTableVersions", s.Compare),
	}
}
