// Package embedded joins all services over one set of stores, so that one process serves
// what the functions serve together. It builds the same catalog, engine and services as
// they do; no handler is written twice.
package embedded

import (
	"slices"
	"time"

	"tiltyard/shared/arrowipc"
	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/service/data"
	"tiltyard/shared/service/namespace"
	"tiltyard/shared/service/query"
	"tiltyard/shared/service/table"
	"tiltyard/shared/service/version"
)

// Stores is what the services stand on. Zero numbers are the defaults.
type Stores struct {
	Objects    *objectstore.Roots
	Now        func() time.Time
	CacheBytes uint64          // of what was read of tables
	Uploads    arrowipc.Limits // of Arrow bodies
	Rows       engine.Limits
}

// Routes returns the routes of all services. What is not among them the handler answers
// as not supported.
func Routes(s Stores) []httpapi.Route {
	names := catalog.Open(s.Objects, s.Now)
	rows := engine.New(dataset.NewSession(s.CacheBytes, s.Now), s.Rows)
	return slices.Concat(
		namespace.New(names).Routes(),
		table.New(names, rows).Routes(),
		data.New(names, rows, s.Uploads).Routes(),
		query.New(names, rows).Routes(),
		version.New(names, rows).Routes(),
	)
}
