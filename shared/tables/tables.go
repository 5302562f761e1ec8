// Package tables leads from the name of a table to the open table: it asks the catalog where
// the table is, and hands the place to the engine. A change goes the same way, is tried again
// where the name came to stand for another table, and is noted so that a request that is sent
// again finds it. Services and jobs open tables here.
package tables

import (
	"context"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/idempotency"
	"tiltyard/shared/job"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
	"tiltyard/shared/record"
	"tiltyard/shared/transaction"
	"tiltyard/shared/vending"
)

// Stores are what tables stand on. Zero numbers are the defaults.
type Stores struct {
	Objects    *objectstore.Roots
	Records    record.Store // of transactions
	Now        func() time.Time
	CacheBytes uint64 // of what was read of tables
	Rows       engine.Limits
	Queue      job.Queue      // of jobs; nil: there are none, and what takes long takes long
	Maintain   bool           // tables that are written to, by jobs; see package maintain
	Vendor     vending.Vendor // of credentials for clients; nil: there are none
}

// Tables are the names of tables, what is behind them, and what is known of changes.
type Tables struct {
	Names        *catalog.Catalog
	Rows         *engine.Engine
	Transactions *transaction.Store
	Jobs         *job.Starter   // nil when there are no jobs
	Vendor       vending.Vendor // nil when credentials are not for clients

	maintain bool
}

// Open returns the tables of stores. It asks nothing of them.
func Open(s Stores) Tables {
	session := dataset.NewSession(s.CacheBytes, s.Now)
	session.Roots = s.Objects
	transactions := transaction.Open(s.Records, s.Now)
	return Tables{
		Names:        catalog.Open(s.Objects, s.Now),
		Rows:         engine.New(session, s.Rows),
		Transactions: transactions,
		Jobs:         job.NewStarter(transactions, s.Queue),
		Vendor:       s.Vendor,
		maintain:     s.Maintain && s.Queue != nil,
	}
}

// MaintainKind is the kind of jobs that keep a table fit; package maintain does them.
const MaintainKind = "maintain"

const (
	// lookEvery is how many versions of a table are made between two looks at how fit it is.
	lookEvery = 16
	// lookAfter is how long a look waits: who writes much at a time should not have to share
	// the machine, nor the table, and afterwards all of it is compacted together.
	lookAfter = 5 * time.Second
)

// written lets a worker look at a table now and then as it is written to. That it does not is
// no harm: there will be more versions.
func (t Tables) written(ctx context.Context, id []string, version int64) {
	if t.maintain && version%lookEvery == 0 {
		_ = t.Jobs.Suggest(ctx, MaintainKind, id, lookAfter)
	}
}

// At returns the table that a name was found to stand for.
func (t Tables) At(found *catalog.Table) *engine.Table {
	table := t.reaching(found)
	if found.Sole() {
		table = table.Sole()
	}
	if !found.Managed {
		return table
	}
	return table.PublishWith(func(ctx context.Context, version uint64, scheme manifest.Scheme, file []byte) (objectstore.Info, error) {
		return t.Names.Publish(ctx, found, catalog.Manifest{Version: version, Scheme: scheme, Data: file})
	})
}

// reaching returns a table, which is read where it may be: see [catalog.Catalog.MayRead].
func (t Tables) reaching(found *catalog.Table) *engine.Table {
	return t.Rows.Table(found.ID, found.Location, found.Hint).ReachWith(func(ctx context.Context, at objectstore.Location) error {
		return t.Names.MayRead(ctx, found, at)
	})
}

// Unnamed is At for a place that a client names, in the stead of a table of that id.
func (t Tables) Unnamed(id []string, found *catalog.Table) *engine.Table {
	unnamed := *found
	unnamed.ID, unnamed.Hint = id, 0
	return t.reaching(&unnamed)
}

// On is At for a branch of the table; see [engine.Table.On].
func (t Tables) On(ctx context.Context, found *catalog.Table, branch string) (*engine.Table, error) {
	return t.At(found).On(ctx, branch)
}

// Changed is what a change of a table did.
type Changed struct {
	engine.Written
	TransactionID string // of its commit
}

// Change does work that commits to a branch ("" is none) of the table that an id stands
// for. confirm, which the work must ask before it commits, says whether the name still
// stands for the table.
func (t Tables) Change(ctx context.Context, id []string, branch string, work func(table *engine.Table, confirm func() error) (engine.Written, error)) (Changed, error) {
	return t.ChangeFound(ctx, id, branch, func(table *engine.Table, found *catalog.Lookup) (engine.Written, error) {
		return work(table, found.Confirm)
	})
}

// ChangeFound is Change for work that looks at how the table was found.
func (t Tables) ChangeFound(ctx context.Context, id []string, branch string, work func(table *engine.Table, found *catalog.Lookup) (engine.Written, error)) (Changed, error) {
	branch = protocol.BranchName(branch)
	done, err := catalog.Write(ctx, t.Names, id, func(ctx context.Context, found *catalog.Lookup) (engine.Written, error) {
		table, err := t.On(ctx, found.Table, branch)
		if err != nil {
			return engine.Written{}, err
		}
		if attempt := idempotency.AttemptOf(ctx); attempt != nil {
			if found.Unanswered() {
				if err := attempt.Recall(ctx); err != nil {
					return engine.Written{}, err
				}
			}
			table = table.As(attempt.Carry(found.NoteUnanswered))
		}
		done, err := work(table, found)
		if err == nil && branch == "" {
			found.Hint(ctx, uint64(done.Version))
		}
		if err == nil {
			t.written(ctx, found.Table.ID, done.Version)
		}
		return done, err
	})
	if err != nil {
		return Changed{}, err
	}
	made := transaction.Commit{Branch: branch, Version: uint64(done.Version), UUID: done.Transaction}
	return Changed{done, t.Transactions.IDOfCommit(ctx, id, made)}, nil
}
