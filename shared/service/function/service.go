// Package function implements the operations on user functions.
package function

import (
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/tables"
)

// A Service implements the operations on functions.
type Service struct{ tables tables.Tables }

// New returns the service over tables.
func New(tables tables.Tables) *Service { return &Service{tables} }

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.JSON("CreateFunction", s.Create).Within(functionapi.MaxBody),
		httpapi.JSON("DescribeFunction", s.Describe),
		httpapi.JSON("DropFunction", s.Drop),
		httpapi.JSON("ListFunctions", s.List),
	}
}
