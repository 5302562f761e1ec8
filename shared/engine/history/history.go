// Package history lists the versions of a table with the transactions that made them.
package history

import (
	"context"
	"errors"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/listing"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/protocol"
)

// A Commit describes a version of a table and its transaction.
type Commit struct {
	Transaction           // only Version is set if the version was cleaned up
	At          time.Time // by the clock of the writer
	Counts      *RowCounts
}

// RowCounts are the numbers of rows of a version. Added and Deleted compare it with the version
// before; an updated row counts as both, and a row that only moved to another file as neither.
type RowCounts struct {
	Rows           int64
	Added, Deleted int64
	Compared       bool // Added and Deleted are known
}

// Commits calls f with each version after the given one, in ascending order, up to the newest or until f returns false. It
// reads the manifest of each. For a version that was cleaned up, only the number is set.
func Commits(ctx context.Context, t *engine.Table, after uint64, f func(Commit) bool) error {
	newest, err := t.Newest(ctx)
	if err != nil || newest <= after {
		return err
	}
	// The version before the first one is needed to count its added and deleted rows.
	var before *dataset.Dataset
	if after > 0 {
		before, err = versionIfAny(ctx, t, after)
	} else {
		after, err = beforeFirst(ctx, t)
	}
	if err != nil {
		return err
	}
	for version := after + 1; version <= newest; version++ {
		d, err := versionIfAny(ctx, t, version)
		if err != nil {
			return err
		}
		made := Commit{Transaction: Transaction{Version: version}}
		if d != nil {
			if made, err = commitOf(ctx, t, d, before); err != nil {
				return err
			}
		}
		if !f(made) {
			return nil
		}
		before = d
	}
	return nil
}

// beforeFirst returns the number before the first version's. A clone begins with the number of its source version, and all
// other tables with 1.
func beforeFirst(ctx context.Context, t *engine.Table) (uint64, error) {
	if d, err := versionIfAny(ctx, t, 1); d != nil || err != nil {
		return 0, err
	}
	oldest, err := listing.Versions(ctx, t.Data(), listing.Request{Limit: 1})
	if err != nil || len(oldest.Versions) == 0 {
		return 0, t.Translate(err)
	}
	d, err := versionIfAny(ctx, t, oldest.Versions[0].Number)
	if d == nil || err != nil {
		return 0, err
	}
	txn, err := d.Transaction(ctx)
	if err != nil {
		return 0, nil //nolint:nilerr // not a clone as far as is known, so its first versions were cleaned up
	}
	if _, ok := txn.Operation.(*pb.Clone); ok {
		return d.Version() - 1, nil
	}
	return 0, nil
}

// versionIfAny returns a version, or nil if it was cleaned up.
func versionIfAny(ctx context.Context, t *engine.Table, version uint64) (*dataset.Dataset, error) {
	d, err := t.Data().Version(ctx, version)
	if errors.Is(err, dataset.ErrNoVersion) {
		return nil, nil
	}
	return d, t.Translate(err)
}

// commitOf describes a version. before is the version before it, or nil if it is missing.
func commitOf(ctx context.Context, t *engine.Table, d, before *dataset.Dataset) (Commit, error) {
	made := Commit{Transaction: Transaction{Version: d.Version()}, At: d.Manifest().Time()}
	txn, err := transactionOf(ctx, t, d)
	switch {
	case err == nil:
		made.Transaction = txn
	case protocol.CodeOf(err) != protocol.TransactionNotFound: // some writers leave it out
		return made, err
	}
	made.Counts = &RowCounts{Rows: d.CountRows()}
	c := made.Counts
	switch {
	case made.Operation == "Rewrite":
		c.Compared = true
	case before != nil:
		c.Added, c.Deleted, c.Compared = compare(before.Manifest(), d.Manifest())
	case d.Version() == 1:
		c.Added, c.Compared = c.Rows, true
	}
	return made, nil
}

// compare returns the number of rows that a version adds and deletes compared to the one before. ok is false if a manifest
// lacks row counts.
func compare(before, after *manifest.Manifest) (added, deleted int64, ok bool) {
	// An overwrite may give new fragments the numbers of former ones.
	type name struct {
		id   uint64
		file string
	}
	nameOf := func(f *pb.Fragment) name {
		n := name{id: f.ID}
		if len(f.Files) > 0 {
			n.file = f.Files[0].Path
		}
		return n
	}
	was := make(map[name]*pb.Fragment, len(before.Fragments))
	for _, f := range before.Fragments {
		if f.DeletionFile != nil && f.DeletionFile.DeletedRows == 0 {
			return 0, 0, false
		}
		was[nameOf(f)] = f
	}
	for _, f := range after.Fragments {
		if f.DeletionFile != nil && f.DeletionFile.DeletedRows == 0 {
			return 0, 0, false
		}
		old := was[nameOf(f)]
		if old == nil {
			added += fragment.LiveRows(f)
			continue
		}
		delete(was, nameOf(f))
		if gone := fragment.LiveRows(old) - fragment.LiveRows(f); gone > 0 {
			deleted += gone
		} else {
			added -= gone
		}
	}
	for _, f := range was {
		deleted += fragment.LiveRows(f)
	}
	return added, deleted, true
}
