// Package all joins all services over one set of stores, so that one process serves the operations
// that the Lambda functions serve together. It builds the same catalog, engine and services and has
// no handlers of its own.
package all

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"time"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/events/changefeed"
	"tiltyard/shared/events/outbox/forward"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/service/access"
	"tiltyard/shared/service/data"
	"tiltyard/shared/service/event"
	functionservice "tiltyard/shared/service/function"
	"tiltyard/shared/service/index"
	jobservice "tiltyard/shared/service/job"
	"tiltyard/shared/service/namespace"
	"tiltyard/shared/service/query"
	"tiltyard/shared/service/ref"
	"tiltyard/shared/service/schema"
	"tiltyard/shared/service/secret"
	sqlservice "tiltyard/shared/service/sql"
	"tiltyard/shared/service/table"
	"tiltyard/shared/service/transaction"
	"tiltyard/shared/service/version"
	"tiltyard/shared/service/view"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work"
	"tiltyard/shared/work/maintain"
	"tiltyard/shared/work/refresh"
)

// Services contains all services over one set of stores.
type Services struct {
	Routes []httpapi.Route
	Worker *jobs.Worker     // runs jobs; nil if the stores have no queue
	Keeper *maintain.Keeper // maintains the tables
	// Follow schedules a poll of each view with automatic refresh.
	Follow func(ctx context.Context) error
	// Announce schedules the announcement of changes that no poll has announced; nil if there are no
	// events.
	Announce func(ctx context.Context) error
	// FoldUsage schedules the job that keeps the table of usage. It does nothing if usage is not metered.
	FoldUsage func(ctx context.Context) error
	// CacheUsage returns the usage of the cache of table data.
	CacheUsage func() dataset.CacheUsage
}

// Options configure the services. The zero value of a field means its default.
type Options struct {
	Uploads arrowipc.Limits // limits of Arrow bodies
	// RequestTimeout is the longest time of a request.
	RequestTimeout time.Duration
	Logger         *slog.Logger   // for messages about jobs
	Memory         *memory.Budget // bounds the memory of jobs; nil sets no bound
	Keys           secretbox.Keys // seals secrets; nil disables them
	Runtimes       udf.Runtimes   // runtimes of functions that need a configuration
	// EventTarget receives forwarded events, and EventAddress identifies it. If EventTarget is nil,
	// events are not forwarded.
	EventTarget  forward.Target
	EventAddress string
}

// Routes returns the routes of all services. The handler refuses every other operation as not
// supported. Without a record store, records are objects in the home root. uploads are the limits
// of Arrow bodies.
func Routes(stores tables.Stores, uploads arrowipc.Limits) []httpapi.Route {
	return Open(stores, Options{Uploads: uploads}).Routes
}

// Open returns all services. The worker runs no jobs until its Serve is called.
func Open(stores tables.Stores, opts Options) Services {
	if stores.Records == nil {
		stores.Records = objectrecord.Open(stores.Objects.Home().Store, stores.Now)
	}
	tables := tables.Open(stores)
	tables.Announcer.ForwardTo(opts.EventAddress, opts.EventTarget)
	keeper := maintain.Open(tables, opts.RequestTimeout)
	all := Services{Keeper: keeper, CacheUsage: tables.Rows.CacheUsage, FoldUsage: tables.FoldUsage, Follow: func(ctx context.Context) error { return refresh.SuggestAll(ctx, tables) }, Routes: slices.Concat(
		namespace.New(tables.Names, tables.Jobs).Routes(),
		access.New(tables.Names).Routes(),
		table.New(tables).Routes(),
		table.NewMaintenance(tables, keeper).Routes(),
		table.NewErrors(tables).Routes(),
		data.New(tables, opts.Uploads).Routes(),
		query.New(tables).Routes(),
		sqlservice.New(tables, keeper, opts.Uploads).Routes(),
		index.New(tables).Routes(),
		schema.New(tables, opts.Uploads).Routes(),
		version.New(tables).Routes(),
		ref.New(tables).Routes(),
		transaction.New(tables).Routes(),
		jobservice.New(tables).Routes(),
		event.New(tables).Routes(),
		view.New(tables).Routes(),
		functionservice.New(tables).Routes(),
		secret.New(tables.Names, opts.Keys).Routes(),
	)}
	if tables.Jobs != nil && tables.Announcer != nil {
		all.Announce = func(ctx context.Context) error { return tables.Jobs.Suggest(ctx, changefeed.AllKind, nil, 0) }
	}
	// Programs without a queue only serve requests.
	if tables.Jobs != nil {
		all.Worker = &jobs.Worker{
			Starter: *tables.Jobs, Name: rand.Text, Now: stores.Now, Logger: opts.Logger, Memory: opts.Memory,
			Kinds: work.Kinds(tables, keeper, work.Functions(tables, opts.Keys, opts.Runtimes)),
		}
	}
	return all
}
