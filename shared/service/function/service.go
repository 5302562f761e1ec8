// Package function answers the operations on functions of users.
package function

import (
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/tables"
)

// A Service answers the operations on functions.
type Service struct{ tables tables.Tables }

// New returns the service over tables.
func New(tables tables.Tables) *Service { return &Service{tables} }

// Routes returns the operations that the service answers.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.JSON("CreateFunction", s.Create).Within(functionapi.MaxBody),
		httpapi.JSON("DescribeFunction", s.Describe),
		httpapi.JSON("DropFunction", s.Drop),
		httpapi.JSON("ListFunctions", s.List),
	}
}
