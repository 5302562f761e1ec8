// Package schema implements the operations that change the columns of a table or the metadata of
// its schema.
package schema

import (
	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/tables"
)

// A Service implements the operations on columns.
type Service struct {
	tables tables.Tables
	limits arrowipc.Limits
}

// New returns the service over tables. limits apply to schemas in Arrow streams.
func New(tables tables.Tables, limits arrowipc.Limits) *Service {
	return &Service{tables: tables, limits: limits}
}

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.JSON("AlterTableAddColumns", s.Add),
		httpapi.JSON("AlterTableBackfillColumns", s.Backfill),
		httpapi.JSON("AlterTableAlterColumns", s.Alter),
		httpapi.JSON("AlterTableDropColumns", s.Drop),
		httpapi.JSON("UpdateFieldMetadata", s.UpdateField),
		httpapi.JSON("UpdateTableSchemaMetadata", s.UpdateSchema),
	}
}
