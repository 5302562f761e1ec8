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
	"tiltyard/shared/record"
	"tiltyard/shared/record/objectrecord"
	"tiltyard/shared/service"
	"tiltyard/shared/service/data"
	"tiltyard/shared/service/namespace"
	"tiltyard/shared/service/query"
	"tiltyard/shared/service/ref"
	"tiltyard/shared/service/schema"
	"tiltyard/shared/service/table"
	transactionservice "tiltyard/shared/service/transaction"
	"tiltyard/shared/service/version"
	"tiltyard/shared/transaction"
)

// Stores is what the services stand on. Zero numbers are the defaults.
type Stores struct {
	Objects    *objectstore.Roots
	Records    record.Store // of transactions; nil: in the home root
	Now        func() time.Time
	CacheBytes uint64          // of what was read of tables
	Uploads    arrowipc.Limits // of Arrow bodies
	Rows       engine.Limits
}

// Routes returns the routes of all services. What is not among them the handler answers
// as not supported.
func Routes(s Stores) []httpapi.Route {
	names := catalog.Open(s.Objects, s.Now)
	records := s.Records
	if records == nil {
		records = objectrecord.Open(s.Objects.Home().Store, s.Now)
	}
	transactions := transaction.Open(records, s.Now)
	session := dataset.NewSession(s.CacheBytes, s.Now)
	session.Roots = s.Objects
	rows := engine.New(session, s.Rows)
	tables := service.Tables{Names: names, Rows: rows, Transactions: transactions}
	return slices.Concat(
		namespace.New(names).Routes(),
		table.New(names, rows).Routes(),
		data.New(tables, s.Uploads).Routes(),
		query.New(names, rows).Routes(),
		schema.New(tables, s.Uploads).Routes(),
		version.New(tables).Routes(),
		ref.New(tables).Routes(),
		transactionservice.New(transactions, names, rows).Routes(),
	)
}
