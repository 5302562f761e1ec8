// Package query answers the operations that read rows.
package query

import (
	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi"
)

// A Service answers the operations that read rows.
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
		httpapi.Arrow("QueryTable", s.Query),
		httpapi.JSON("CountTableRows", s.Count),
		httpapi.ArrowStream("FetchTableBlobs", s.FetchBlobs),
		httpapi.Bytes("ReadTableBlob", s.ReadBlob),
	}
}
