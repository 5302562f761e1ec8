package tables

import (
	"context"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
	"tiltyard/shared/transaction"
)

// history is the history of tables for an announcer.
type history struct{ Tables }

// Commits returns what the versions of a table and the transactions that made them tell.
func (h history) Commits(ctx context.Context, found *catalog.Table, after uint64, f func(at time.Time, data protocol.EventData) bool) error {
	err := h.At(found).Commits(ctx, after, func(c engine.Commit) bool {
		data := protocol.EventData{Version: int64(c.Version), Operation: c.Operation}
		if c.UUID != "" {
			data.TransactionID, _ = transaction.CommitID(found.ID, transaction.Commit{Version: c.Version, UUID: c.UUID})
		}
		if n := c.Counts; n != nil {
			data.Rows = &n.Rows
			if n.Compared {
				data.RowsAdded, data.RowsDeleted = &n.Added, &n.Deleted
			}
		}
		return f(c.At, data)
	})
	if engine.IsDeclared(err) {
		return nil
	}
	return err
}

// VersionAt goes by the times at which the manifests were stored.
func (h history) VersionAt(ctx context.Context, found *catalog.Table, at time.Time) (uint64, error) {
	const pageSize = 100
	opts := engine.VersionList{Descending: true, Limit: pageSize}
	for {
		page, err := h.At(found).Versions(ctx, opts)
		if err != nil {
			return 0, err
		}
		for _, v := range page.Versions {
			if !v.Modified.After(at) {
				return v.Number, nil
			}
		}
		if page.Next == "" {
			return 0, nil
		}
		opts.After = &page.Versions[len(page.Versions)-1].Number
	}
}
