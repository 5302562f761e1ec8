package dataset

import (
	"context"
	"fmt"

	"tiltyard/shared/lance/dataset/refs"
)

// Refs returns the location of the tags and branches stored below this table.
func (t *Table) Refs() refs.Place {
	return refs.Place{Store: t.at.Store, Prefix: t.at.Prefix, URI: t.at.URI, Cache: t.session.Cache, Now: t.session.now}
}

// Branch opens a branch as a table. Call it on the main table, with which the branch shares data
// files. Cache keys include the branch's incarnation, because a deleted branch may be created again
// with different versions of the same numbers. Commits to a deleted branch fail with
// refs.ErrNoBranch. The first version is exempt: it is written before the branch's name.
func (t *Table) Branch(name string, info refs.Branch) *Table {
	branch := t.session.Table(t.at.Home.Join(refs.TreeDir+name), 0)
	branch.branch = &branchOf{table: t, name: name, incarnation: info.Incarnation()}
	branch.sole = t.sole
	branch.at.Cached += "?" + info.Incarnation()
	branch.at.Reach = t.at.Reach
	return branch
}

// Main returns the main table and the branch name of t, "" for the main table.
func (t *Table) Main() (main *Table, branch string) {
	if t.branch == nil {
		return t, ""
	}
	return t.branch.table, t.branch.name
}

// A branchOf identifies the branch behind a Table.
type branchOf struct {
	table             *Table
	name, incarnation string
}

// confirm returns refs.ErrNoBranch if the branch was deleted, even if a new branch has its name.
// Commits at its location must then stop.
func (b *branchOf) confirm(ctx context.Context) error {
	info, _, err := b.table.Refs().Branch(ctx, b.name)
	if err == nil && info.Incarnation() != b.incarnation {
		err = fmt.Errorf("%w: %s, as it was before it was deleted", refs.ErrNoBranch, b.name)
	}
	return err
}
