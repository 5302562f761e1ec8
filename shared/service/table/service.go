// Package table answers the operations on tables as wholes: naming, describing, dropping.
package table

import (
	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi"
)

// A Service answers the operations on tables.
type Service struct {
	names *catalog.Catalog
	rows  *engine.Engine
}

// New returns the service over a catalog and an engine.
func New(names *catalog.Catalog, rows *engine.Engine) *Service {
	return &Service{names: names, rows: rows}
}

// Routes returns the operations that the service answers.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.JSON("ListTables", s.List),
		httpapi.JSON("ListAllTables", s.ListAll),
		httpapi.JSON("RegisterTable", s.Register),
		httpapi.JSON("DescribeTable", s.Describe),
		httpapi.JSON("TableExists", s.Exists),
		httpapi.JSON("DropTable", s.Drop),
		httpapi.JSON("DeregisterTable", s.Deregister),
		httpapi.JSON("DeclareTable", s.Declare),
		httpapi.JSON("RenameTable", s.Rename),
		httpapi.JSON("GetTableStats", s.Stats),
	}
}

// of returns the rows of a table that the catalog has found.
func (s *Service) of(t *catalog.Table) *engine.Table { return s.rows.Table(t.ID, t.Location, t.Hint) }
