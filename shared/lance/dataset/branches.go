package dataset

import (
	"context"
	"fmt"

	"tiltyard/shared/lance/dataset/refs"
)

// BranchInfo returns what is stored of a branch, or refs.ErrNoBranch.
func (t *Table) BranchInfo(ctx context.Context, name string) (refs.Branch, error) {
	info, _, err := t.refs().Branch(ctx, name)
	return info, err
}

// OpenBranch returns a branch, or refs.ErrNoBranch: a table of its own, that shares files with
// the one it was made from. refs.Main and "" are the table itself. It is called on the
// table, not on one of its branches. A branch that is deleted later may be made again,
// other than it was, so it is opened anew for each use.
func (t *Table) OpenBranch(ctx context.Context, name string) (*Table, error) {
	if refs.IsMain(name) {
		return t, nil
	}
	info, err := t.BranchInfo(ctx, name)
	if err != nil {
		return nil, err
	}
	place := t.branchPlace(name, info)
	place.branch = &branchOf{table: t, name: name, incarnation: info.Incarnation()}
	return place, nil
}

// A branchOf is what a branch was opened as.
type branchOf struct {
	table             *Table
	name, incarnation string
}

// confirm returns refs.ErrNoBranch when the branch has been deleted, though there may be
// another one of its name. Nobody may commit at its place then.
func (b *branchOf) confirm(ctx context.Context) error {
	info, err := b.table.BranchInfo(ctx, b.name)
	if err == nil && info.Incarnation() != b.incarnation {
		err = fmt.Errorf("%w: %s, as it was before it was deleted", refs.ErrNoBranch, b.name)
	}
	return err
}

// Branches returns the branches as Tags returns the tags.
func (t *Table) Branches(ctx context.Context, after string, limit int) (branches map[string]refs.Branch, next string, err error) {
	return t.refs().Branches(ctx, after, limit)
}

// branchPlace returns the place of a branch: a table of its own, that shares files with
// the one it was made from. What is cached of it is that of one incarnation: a branch that
// was deleted may be made again, other than it was.
func (t *Table) branchPlace(name string, info refs.Branch) *Table {
	place := t.session.Table(t.at.Home.Join(refs.TreeDir+name), 0)
	place.sole = t.sole
	place.at.Cached += "?" + info.Incarnation()
	place.at.Reach = t.at.Reach
	return place
}
