// Package service holds what the services have in common: the tables that they work on,
// and the way from the name of one to a change of it. Each service is a package below, the
// middle between the protocol and what does the work.
package service

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/transaction"
)

// Tables are the names of tables, what is behind them, and what is known of changes.
type Tables struct {
	Names        *catalog.Catalog
	Rows         *engine.Engine
	Transactions *transaction.Store
}

// At returns the table that a name was found to stand for.
func (t Tables) At(found *catalog.Table) *engine.Table {
	return t.Rows.Table(found.ID, found.Location, found.Hint)
}

// Changed is what a change of a table did.
type Changed struct {
	engine.Written
	TransactionID string // of its commit
}

// Change does work that commits to the table that an id stands for. confirm, which the
// work must ask before it commits, says whether the name still stands for the table.
func (t Tables) Change(ctx context.Context, id []string, work func(table *engine.Table, confirm func() error) (engine.Written, error)) (Changed, error) {
	return t.ChangeFound(ctx, id, func(found *catalog.Lookup) (engine.Written, error) {
		return work(t.At(found.Table), found.Confirm)
	})
}

// ChangeFound is Change for work that looks at how the table was found.
func (t Tables) ChangeFound(ctx context.Context, id []string, work func(found *catalog.Lookup) (engine.Written, error)) (Changed, error) {
	done, err := catalog.Write(ctx, t.Names, id, func(ctx context.Context, found *catalog.Lookup) (engine.Written, error) {
		done, err := work(found)
		if err == nil {
			found.Hint(ctx, uint64(done.Version))
		}
		return done, err
	})
	if err != nil {
		return Changed{}, err
	}
	return Changed{done, t.Transactions.IDOfCommit(ctx, id, uint64(done.Version), done.Transaction)}, nil
}
