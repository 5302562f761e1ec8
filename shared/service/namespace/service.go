// Package namespace implements the operations on namespaces.
package namespace

import (
	"tiltyard/shared/catalog"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs"
)

// A Service implements the operations on namespaces.
type Service struct {
	names *catalog.Catalog
	jobs  *jobs.Starter
}

// New returns the service over a catalog. Long operations run as jobs, or inside their requests if
// jobs is nil.
func New(names *catalog.Catalog, jobs *jobs.Starter) *Service {
	return &Service{names: names, jobs: jobs}
}

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.JSON("CreateNamespace", s.Create),
		httpapi.JSON("ListNamespaces", s.List),
		httpapi.JSON("DescribeNamespace", s.Describe),
		httpapi.JSON("DropNamespace", s.Drop),
		httpapi.JSON("NamespaceExists", s.Exists),
		httpapi.JSON("ListDropped", s.ListDropped),
		httpapi.JSON("UndropNamespace", s.Undrop),
	}
}
