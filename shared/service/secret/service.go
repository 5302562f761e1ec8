// Package secret answers the operations on secrets, the values of which no request returns.
package secret

import (
	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/http/httpapi"
)

// A Service answers the operations on secrets.
type Service struct {
	names *catalog.Catalog
	keys  secretbox.Sealer // nil when there are none
}

// New returns the service over a catalog. It seals secrets with keys; without keys, it refuses their values.
func New(names *catalog.Catalog, keys secretbox.Sealer) *Service {
	return &Service{names: names, keys: keys}
}

// Routes returns the operations that the service answers.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.Concealed("CreateSecret", s.Create),
		httpapi.Concealed("AlterSecret", s.Alter),
		httpapi.JSON("DescribeSecret", s.Describe),
		httpapi.JSON("DropSecret", s.Drop),
		httpapi.JSON("ListSecrets", s.List),
	}
}
