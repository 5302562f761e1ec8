// Package access answers which operations a subject may perform on an object.
package access

import (
	"tiltyard/shared/catalog"
	"tiltyard/shared/http/httpapi"
)

// A Service answers the operations on access.
type Service struct{ names *catalog.Catalog }

// New returns the service over a catalog.
func New(names *catalog.Catalog) *Service { return &Service{names} }

// Routes returns the operations that the service answers.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{httpapi.JSON("ExplainAccess", s.Explain)}
}
