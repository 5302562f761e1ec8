// Package tables opens a table by its name: it looks up the location in the catalog and passes it
// to the engine. A change also confirms the name: if the name refers to another table by then, the
// work is repeated on that table. A change carries the id of its request (package idempotency), so
// that a repeated request finds the version that the first one made. Services and jobs open tables
// with this package.
package tables

import (
	"context"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/events/changefeed"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/multipart"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables/parts"
	"tiltyard/shared/tables/stores"
	"tiltyard/shared/tables/vending"
)

// Stores are the stores and settings that tables are opened over.
type Stores = stores.Set

// Tables joins the names of tables, the engine that opens them, and the records of their changes.
type Tables struct {
	Names        *catalog.Catalog
	Rows         *engine.Engine
	Transactions *transaction.Store
	Uploads      *multipart.Uploads
	Announcer    *changefeed.Announcer // nil if there are no events
	Jobs         *jobs.Starter         // nil if there are no jobs
	Vendor       vending.Vendor        // nil if clients get no credentials
	Auto         AutoRefresh
	Records      record.Store // the states of jobs on tables
	Runs         udf.Check    // nil if only jobs can check it
	Rights       auth.Rights  // checks the rights of the definers of computed columns and views
	Now          func() time.Time

	maintain bool
	metered  bool
	followed *jobs.Recent
	parts    *parts.Caller
}

// Open returns the tables of stores. It sends no request.
func Open(s Stores) Tables {
	session := dataset.NewSession(s.CacheBytes, s.Now)
	session.Roots = s.Objects
	if !s.Anonymous {
		session.Author = author
	}
	transactions := transaction.Open(s.Records, s.Now)
	rows := engine.New(session, engine.Limits{MergeBytes: s.MergeBytes, TopK: s.TopK})
	rows.Logger, rows.NewTables.StableRowIDs = s.Logger, s.StableRowIDs
	names := catalog.Open(s.Objects, s.Now)
	names.Drops.Retention = s.DropRetention
	t := Tables{
		Names:        names,
		Rows:         rows,
		Transactions: transactions,
		Uploads:      multipart.OpenUploads(s.Records, s.Now),
		Jobs:         jobs.NewStarter(transactions, s.Queue),
		Vendor:       s.Vendor,
		Auto:         s.Auto,
		Records:      s.Records,
		Runs:         s.Runs,
		Rights:       s.Rights,
		Now:          s.Now,
		maintain:     s.Maintain && s.Queue != nil,
		metered:      s.Metered,
		followed:     jobs.NewRecent(s.Now),
		parts:        parts.Open(s.Parts),
	}
	t.Announcer = changefeed.Open(names, t.Jobs, changefeed.Options{
		Source: s.EventSource, Keep: s.EventRetention, Objects: s.Objects.Home().Store, Records: s.Records, Now: s.Now, Logger: s.Logger, History: past{t},
	})
	if s.Metered {
		names.WatchWith(forgetting{names.Watch(), s.Objects, s.Records})
	}
	return t
}

// author returns the name of the principal in the context. It returns "" for jobs, which have none.
func author(ctx context.Context) string {
	if who := auth.FromContext(ctx); who != nil {
		return who.Name()
	}
	return ""
}

// MaintainKind is the kind of the jobs that compact and clean up tables; package maintain runs
// them.
const MaintainKind = "maintain"

// UsageKind is the kind of the jobs that keep the table of usage; package metering runs them.
const UsageKind = "fold_usage"

// FoldUsage schedules the job that adds the usage of the hours that have ended to its table. It does nothing if usage is not
// metered.
func (t Tables) FoldUsage(ctx context.Context) error {
	if !t.metered || t.Jobs == nil {
		return nil
	}
	return t.Jobs.Suggest(ctx, UsageKind, nil, 0)
}

// Metered reports whether usage is metered.
func (t Tables) Metered() bool { return t.metered }

const (
	// pollEvery is the number of new versions between two checks of a table for maintenance.
	pollEvery = 16
	// pollAfter is the delay of a check. A burst of writes then has the machine and the table for
	// itself, and one compaction afterwards covers the whole burst.
	pollAfter = 5 * time.Second
)

// written suggests to the workers, every few versions, that they check a table for maintenance. A
// lost suggestion does no harm, because later versions repeat it.
func (t Tables) written(ctx context.Context, id []string, version int64) {
	if t.maintain && version%pollEvery == 0 {
		_ = t.Jobs.Suggest(ctx, MaintainKind, id, pollAfter)
	}
}

// At returns the table that the catalog found under a name.
func (t Tables) At(found *catalog.Table) *engine.Table {
	opts := t.options(found)
	opts.Hint, opts.Exclusive = found.Hint, found.IsExclusive()
	if found.Managed {
		opts.Publish = func(ctx context.Context, version uint64, scheme manifest.Scheme, file []byte) (objectstore.Info, error) {
			return t.Names.Publish(ctx, found, ledger.Manifest{Version: version, Scheme: scheme, Data: file})
		}
	}
	return t.Rows.TableWith(found.ID, found.Location, opts)
}

// Unnamed opens a table at a location that a client chose. Errors use the given id as its name.
func (t Tables) Unnamed(id []string, found *catalog.Table) *engine.Table {
	return t.Rows.TableWith(id, found.Location, t.options(found))
}

// options returns the options with which all tables are opened: a table may read files at other locations if
// [tiltyard/shared/catalog/access.Checker.MayRead] allows it.
func (t Tables) options(found *catalog.Table) engine.Options {
	return engine.Options{CheckAccess: func(ctx context.Context, at objectstore.Location) error {
		return t.Names.Access.MayRead(ctx, found.Location, found.Reads, at)
	}}
}

// On opens a branch of a table; see [engine.Table.On].
func (t Tables) On(ctx context.Context, found *catalog.Table, branch string) (*engine.Table, error) {
	return t.At(found).On(ctx, branch)
}
