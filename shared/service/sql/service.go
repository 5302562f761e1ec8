// Package sql implements the operation that runs statements in SQL. A query is for package query. Every other statement is
// planned onto the operation that does the same: the service checks the right to that operation, makes its request, and
// calls the service that serves it. Begin with run in execute.go.
package sql

import (
	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/service/data"
	"tiltyard/shared/service/index"
	"tiltyard/shared/service/namespace"
	"tiltyard/shared/service/query"
	"tiltyard/shared/service/ref"
	"tiltyard/shared/service/schema"
	"tiltyard/shared/service/table"
	"tiltyard/shared/service/version"
	"tiltyard/shared/service/view"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
)

// A Service implements the operation over the services that statements need.
type Service struct {
	tables      tables.Tables
	namespaces  *namespace.Service
	names       *table.Service
	maintenance *table.Maintenance
	data        *data.Service
	queries     *query.Service
	indices     *index.Service
	columns     *schema.Service
	versions    *version.Service
	refs        *ref.Service
	views       *view.Service
}

// New returns the service over tables. The limits apply to the rows that statements write.
func New(tables tables.Tables, keeper *maintain.Keeper, limits arrowipc.Limits) *Service {
	s := &Service{
		tables:      tables,
		namespaces:  namespace.New(tables.Names, tables.Jobs),
		names:       table.New(tables),
		maintenance: table.NewMaintenance(tables, keeper),
		data:        data.New(tables, limits),
		indices:     index.New(tables),
		columns:     schema.New(tables, limits),
		versions:    version.New(tables),
		refs:        ref.New(tables),
		views:       view.New(tables),
	}
	s.queries = query.New(tables).With(s.information)
	return s
}

// maxBody bounds the bytes of a request: parameters may be long vectors.
const maxBody = 8 << 20

// Routes returns the route of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{httpapi.Arrow("ExecuteStatement", s.Execute).Within(maxBody)}
}
