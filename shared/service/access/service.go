// Package access implements the operation that returns the permissions of a subject on an object.
package access

import (
	"tiltyard/shared/catalog"
	"tiltyard/shared/http/httpapi"
)

// A Service implements the operations on access.
type Service struct{ names *catalog.Catalog }

// New returns the service over a catalog.
func New(names *catalog.Catalog) *Service { return &Service{names} }

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{httpapi.JSON("ExplainAccess", s.Explain)}
}
