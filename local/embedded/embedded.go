// Package embedded joins all services over one set of stores, so that one process serves
// what the functions serve together. It builds the same catalog, engine and services as
// they do; no handler is written twice.
package embedded

import (
	"slices"

	"tiltyard/shared/arrowipc"
	"tiltyard/shared/httpapi"
	"tiltyard/shared/record/objectrecord"
	"tiltyard/shared/service"
	"tiltyard/shared/service/data"
	"tiltyard/shared/service/namespace"
	"tiltyard/shared/service/query"
	"tiltyard/shared/service/ref"
	"tiltyard/shared/service/schema"
	"tiltyard/shared/service/table"
	"tiltyard/shared/service/transaction"
	"tiltyard/shared/service/version"
)

// Routes returns the routes of all services. What is not among them the handler answers
// as not supported. Records are in the home root when stores has none; the limits are those
// of Arrow bodies.
func Routes(stores service.Stores, uploads arrowipc.Limits) []httpapi.Route {
	if stores.Records == nil {
		stores.Records = objectrecord.Open(stores.Objects.Home().Store, stores.Now)
	}
	tables := service.Open(stores)
	return slices.Concat(
		namespace.New(tables.Names).Routes(),
		table.New(tables).Routes(),
		data.New(tables, uploads).Routes(),
		query.New(tables).Routes(),
		schema.New(tables, uploads).Routes(),
		version.New(tables).Routes(),
		ref.New(tables).Routes(),
		transaction.New(tables).Routes(),
	)
}
