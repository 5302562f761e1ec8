package tables

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/history"
	"tiltyard/shared/events/changefeed"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset/listing"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/eventapi"
)

// past is the history of tables for an announcer.
type past struct{ Tables }

// Commits calls f with the time and the event data of each version after the given one. For a branch, it then checks that
// the branch still exists, because the versions may belong to a new branch of the same name; the error is
// changefeed.ErrNoBranch.
func (h past) Commits(ctx context.Context, found *catalog.Table, b *changefeed.Branch, after uint64, f func(at time.Time, data eventapi.Data) bool) error {
	on, branch, err := h.line(ctx, found, b)
	if err != nil {
		return err
	}
	read := false
	err = history.Commits(ctx, on, after, func(c history.Commit) bool {
		read = true
		data := eventapi.Data{Version: int64(c.Version), Operation: c.Operation}
		if c.UUID != "" {
			data.TransactionID, _ = transaction.CommitID(found.ID, transaction.Commit{Branch: branch, Version: c.Version, UUID: c.UUID})
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
	if err == nil && b != nil && read {
		var now refs.Branch
		if now, _, err = h.At(found).Data().Refs().Branch(ctx, branch); err == nil && now.Incarnation() != b.Incarnation {
			err = changefeed.ErrNoBranch
		}
	}
	return noBranch(err)
}

// line returns a table or a branch of it, and the name of that.
func (h past) line(ctx context.Context, found *catalog.Table, b *changefeed.Branch) (on *engine.Table, name string, err error) {
	if b != nil {
		name = b.Name
	}
	on, err = h.On(ctx, found, name)
	return on, name, noBranch(err)
}

// noBranch converts errors for a missing branch to changefeed.ErrNoBranch.
func noBranch(err error) error {
	if protocol.HasCode(err, protocol.TableBranchNotFound) || errors.Is(err, refs.ErrNoBranch) {
		return changefeed.ErrNoBranch
	}
	return err
}

// Branches returns branches as they are stored.
func (h past) Branches(ctx context.Context, found *catalog.Table, name string) ([]changefeed.Branch, error) {
	stored, err := map[string]refs.Branch{}, error(nil)
	if name == "" {
		stored, _, err = h.At(found).Data().Refs().Branches(ctx, "", 0)
	} else {
		stored[name], _, err = h.At(found).Data().Refs().Branch(ctx, name)
		if errors.Is(err, refs.ErrNoBranch) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, h.At(found).Translate(err)
	}
	branches := make([]changefeed.Branch, 0, len(stored))
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		b := stored[name]
		branches = append(branches, changefeed.Branch{Name: name, Incarnation: b.Incarnation(), First: b.ParentVersion, Made: time.Unix(b.Created, 0)})
	}
	return branches, nil
}

// VersionAt compares the times at which the manifests were stored. S3 rounds them to seconds, so a version in the same
// second counts as a later one.
func (h past) VersionAt(ctx context.Context, found *catalog.Table, b *changefeed.Branch, at time.Time) (uint64, error) {
	on, _, err := h.line(ctx, found, b)
	if err != nil {
		return 0, err
	}
	const pageSize = 100
	opts := listing.Request{Descending: true, Limit: pageSize}
	for {
		page, err := listing.Versions(ctx, on.Data(), opts)
		if err != nil {
			return 0, on.Translate(err)
		}
		for _, v := range page.Versions {
			if v.Modified.Before(at.Truncate(time.Second)) {
				return v.Number, nil
			}
		}
		if page.Next == "" {
			return 0, nil
		}
		opts.After = &page.Versions[len(page.Versions)-1].Number
	}
}
