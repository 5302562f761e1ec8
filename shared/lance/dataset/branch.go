package dataset

import (
	"context"
	"fmt"

	"tiltyard/shared/lance/dataset/refs"
)

// Refs returns where the tags and branches of the table are stored. Those of a branch are stored with its table.
func (t *Table) Refs() refs.Place {
	return refs.Place{Store: t.at.Store, Prefix: t.at.Prefix, URI: t.at.URI, Cache: t.session.Cache, Now: t.session.now}
}

// Branch returns a branch as a table of its own, which shares files with the table that it was made from.
// It is called on the table itself. The cache keeps the branch under its incarnation, because a deleted
// branch may be made again with other versions. Commits to the branch fail with refs.ErrNoBranch once it is deleted;
// its first version is put before the name and needs none.
func (t *Table) Branch(name string, info refs.Branch) *Table {
	branch := t.session.Table(t.at.Home.Join(refs.TreeDir+name), 0)
	branch.branch = &branchOf{table: t, name: name, incarnation: info.Incarnation()}
	branch.sole = t.sole
	branch.at.Cached += "?" + info.Incarnation()
	branch.at.Reach = t.at.Reach
	return branch
}

// Main returns the table itself and the name of the branch that t is, "" if t is the table itself.
func (t *Table) Main() (main *Table, branch string) {
	if t.branch == nil {
		return t, ""
	}
	return t.branch.table, t.branch.name
}

// A branchOf identifies the branch that a Table was opened as.
type branchOf struct {
	table             *Table
	name, incarnation string
}

// confirm returns refs.ErrNoBranch if the branch was deleted, even if there is another one of its name. Nobody may
// commit at its place then.
func (b *branchOf) confirm(ctx context.Context) error {
	info, _, err := b.table.Refs().Branch(ctx, b.name)
	if err == nil && info.Incarnation() != b.incarnation {
		err = fmt.Errorf("%w: %s, as it was before it was deleted", refs.ErrNoBranch, b.name)
	}
	return err
}
