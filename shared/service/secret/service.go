// Package secret implements the operations on secrets. No request returns their values.
package secret

import (
	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/http/httpapi"
)

// A Service implements the operations on secrets.
type Service struct {
	names *catalog.Catalog
	keys  secretbox.Sealer // nil if secrets are disabled
}

// New returns the service over a catalog. keys encrypts the values of secrets; without keys, requests with values fail.
func New(names *catalog.Catalog, keys secretbox.Sealer) *Service {
	return &Service{names: names, keys: keys}
}

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Concealed("CreateSecret", s.Create),
		httpapi.Concealed("AlterSecret", s.Alter),
		httpapi.JSON("DescribeSecret", s.Describe),
		httpapi.JSON("DropSecret", s.Drop),
		httpapi.JSON("ListSecrets", s.List),
	}
}
