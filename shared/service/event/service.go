// Package event implements the operation that lists the events of changes.
package event

import (
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/tables"
)

// A Service implements the operations on events.
type Service struct{ tables tables.Tables }

// New returns the service over tables.
func New(tables tables.Tables) *Service { return &Service{tables} }

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{httpapi.JSON("ListEvents", s.List)}
}
