// Package cherrypick compares a branch with its table and plans the operation that copies the
// branch's new columns to the table.
//
// Three versions take part: the fork, from which the branch was made, and the newest versions of
// the table (main) and of the branch. A cherry-pick is one change without history: main must still
// be the fork, and the branch must have the fork's rows and columns plus new columns. For example,
// a branch made from version 7 that adds column embedding can be picked while the table is still at
// version 7; the table then gets the column as version 8. All reasons against a cherry-pick are
// listed in [Diff.Problems], in the terms of LanceDB's clients. Source: crate lancedb,
// src/table/cherry_pick.rs.
package cherrypick

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset/difference"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/schema"
)

// Sides holds the compared versions.
type Sides struct {
	Fork   *snapshot.Snapshot // the version from which the branch was made
	Main   *snapshot.Snapshot // the newest version of the table
	Branch *snapshot.Snapshot // the newest version of the branch
	// FromMain reports whether the fork is a version of the table itself, not of another branch.
	FromMain bool
	// MainCommits and BranchCommits return the transactions since the fork; see [difference.Of].
	MainCommits, BranchCommits difference.Commits
}

// A Diff lists the changes of a branch and its table since the fork.
type Diff struct {
	Sides
	Rows                         Rows
	Added, Removed               []*schema.Field // top-level columns, as in the branch and in the fork
	Changed                      []Change
	AddedIndices, RemovedIndices []snapshot.Index // by name, as in the branch and in the fork
	Problems                     []Problem
}

// Rows counts rows by their fate since the fork.
type Rows struct {
	Unchanged   int64 // rows of the fork that neither side deleted or changed
	NewOnMain   int64
	NewOnBranch int64
	Stale       int64 // rows on the branch with values that the table changed
	Changed     int64 // rows of the fork with values that the table changed
	Known       bool  // the counts are valid: rows have stable ids, or no row changed
}

// A Change is a column altered by the branch.
type Change struct{ Main, Branch *schema.Field }

// A Problem is a reason why the branch cannot be cherry-picked.
type Problem struct {
	Code    Code
	Message string
}

// A Code is the kind of a problem, spelled as in the protocol.
type Code string

// The kinds of problems.
const (
	BaseMoved             Code = "baseMoved"
	RowCountMismatch      Code = "rowCountMismatch"
	RowsChanged           Code = "rowsChanged"
	ColumnRemoved         Code = "columnRemoved"
	ColumnChanged         Code = "columnChanged"
	NothingToApply        Code = "nothingToApply"
	NoColumnChanges       Code = "noColumnChanges"
	InputColumnDependency Code = "inputColumnDependency"
	ParentNotMain         Code = "parentNotMain"
)

// IsBaseMoved reports whether the table has newer versions than the fork.
func (d *Diff) IsBaseMoved() bool { return d.Main.Version() != d.Fork.Version() }

// Compare compares a branch with the table, from metadata alone.
func Compare(ctx context.Context, sides Sides) (*Diff, error) {
	d := &Diff{Sides: sides}
	d.compareColumns()
	if err := errors.Join(d.compareIndices(), d.compareRows(ctx)); err != nil {
		return nil, err
	}
	d.findProblems()
	return d, nil
}

// compareColumns finds added, removed and changed columns. A new column with the name of an old one
// counts as its change.
func (d *Diff) compareColumns() {
	was, now := d.Fork.Schema(), d.Branch.Schema()
	for _, f := range was.Fields {
		after := now.ByID(f.ID)
		if after == nil {
			after = now.Field(f.Name)
		}
		switch {
		case after == nil:
			d.Removed = append(d.Removed, f)
		case !sameColumn(f, after):
			d.Changed = append(d.Changed, Change{f, after})
		}
	}
	for _, f := range now.Fields {
		if was.ByID(f.ID) == nil && was.Field(f.Name) == nil {
			d.Added = append(d.Added, f)
		}
	}
}

// sameColumn reports whether two columns have the same id, name, type and nullability, members
// included.
func sameColumn(a, b *schema.Field) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Nullable == b.Nullable && a.LogicalType == b.LogicalType &&
		arrow.TypeEqual(a.Type, b.Type) && slices.EqualFunc(a.Children, b.Children, sameColumn)
}

// compareIndices finds the indices that the branch has added and removed.
func (d *Diff) compareIndices() error {
	was, err := d.Fork.Indices()
	if err != nil {
		return err
	}
	now, err := d.Branch.Indices()
	if err != nil {
		return err
	}
	d.AddedIndices, d.RemovedIndices = without(now, was), without(was, now)
	return nil
}

// without returns the indices whose names do not occur in others.
func without(indices, others []snapshot.Index) []snapshot.Index {
	return slices.DeleteFunc(slices.Clone(indices), func(x snapshot.Index) bool {
		return slices.ContainsFunc(others, func(o snapshot.Index) bool { return o.Name == x.Name })
	})
}

// compareRows counts the rows changed by the two sides. Rows added on both sides may share ids, so
// each side is compared with the fork.
func (d *Diff) compareRows(ctx context.Context) error {
	changed := roaring64.New() // or deleted, on either side
	main, err := d.since(ctx, d.Main, d.MainCommits)
	if err != nil {
		return err
	}
	defer main.Release()
	branch, err := d.since(ctx, d.Branch, d.BranchCommits)
	if err != nil {
		return err
	}
	defer branch.Release()
	if main == nil || branch == nil {
		if !d.IsBaseMoved() && d.hasRowsOfFork() {
			d.Rows = Rows{Unchanged: d.Fork.CountRows(), Known: true}
		}
		return nil
	}
	d.Rows = Rows{
		NewOnMain: int64(main.Fresh.GetCardinality()), NewOnBranch: int64(branch.Fresh.GetCardinality()),
		Changed: int64(main.Changed.GetCardinality()), Known: true,
	}
	d.Rows.Stale = d.Rows.Changed - int64(main.Changed.AndCardinality(branch.Gone))
	for _, rows := range []*roaring64.Bitmap{main.Gone, main.Changed, branch.Gone, branch.Changed} {
		changed.Or(rows)
	}
	d.Rows.Unchanged = d.Fork.CountRows() - int64(changed.GetCardinality())
	return nil
}

// since compares a version with the fork in their common columns. It returns nil if the rows are
// not comparable.
func (d *Diff) since(ctx context.Context, now *snapshot.Snapshot, commits difference.Commits) (*difference.Rows, error) {
	var common []int32
	for _, f := range d.Fork.Schema().Fields {
		if after := now.Schema().ByID(f.ID); after != nil && sameColumn(f, after) {
			common = append(common, f.ID)
		}
	}
	rows, err := difference.Of(ctx, d.Fork, now, common, commits)
	if errors.Is(err, difference.ErrNotComparable) {
		return nil, nil
	}
	return rows, err
}

// hasRowsOfFork reports whether the branch has the fork's fragments with the same rows, deletions
// and values of the common columns.
func (d *Diff) hasRowsOfFork() bool {
	was, now := d.Fork.Fragments(), d.Branch.Fragments()
	if len(was) != len(now) {
		return false
	}
	var common []int32
	for f := range d.Fork.Schema().All() {
		if d.Branch.Schema().ByID(f.ID) != nil {
			common = append(common, f.ID)
		}
	}
	for i, f := range was {
		if f.Meta.ID != now[i].Meta.ID || f.Rows != now[i].Rows ||
			!f.SameRowIDs(now[i]) || !f.SameDeletions(now[i]) || !f.SameColumns(now[i], common) {
			return false
		}
	}
	return true
}

// findProblems lists all reasons against a cherry-pick.
func (d *Diff) findProblems() {
	add := func(code Code, format string, args ...any) {
		d.Problems = append(d.Problems, Problem{code, fmt.Sprintf(format, args...)})
	}
	if !d.FromMain {
		add(ParentNotMain, "the branch was made of another branch; only branches of the table itself can be cherry-picked")
	}
	if d.FromMain && d.IsBaseMoved() {
		add(BaseMoved, "the table is at version %d, and the branch was made of version %d", d.Main.Version(), d.Fork.Version())
	}
	if main, branch := d.Main.CountRows(), d.Branch.CountRows(); main != branch {
		add(RowCountMismatch, "the table has %d rows, and the branch has %d", main, branch)
	}
	if !d.hasRowsOfFork() {
		add(RowsChanged, "the branch has changed, moved or replaced rows since version %d", d.Fork.Version())
	}
	for _, f := range d.Removed {
		add(ColumnRemoved, "the branch has removed column %s", f.Name)
	}
	for _, c := range d.Changed {
		add(ColumnChanged, "the branch has changed column %s", c.Main.Name)
	}
	switch {
	case d.Branch.Version() == d.Fork.Version():
		add(NothingToApply, "the branch has no versions since version %d", d.Fork.Version())
	case len(d.Added) == 0:
		add(NoColumnChanges, "the branch has added no columns")
	}
	// An added column cannot come without its function or with other inputs.
	for _, f := range d.Added {
		if f.Metadata[bindingKey] != "" {
			add(InputColumnDependency, "column %s is computed by a function whose use would not come along; add it to the table itself", f.Name)
		}
		for _, input := range inputsOf(f) {
			if !d.keepsInput(input) {
				add(InputColumnDependency, "column %s is computed from column %q, which would not come along as it is on the branch", f.Name, input)
			}
		}
	}
}

// keepsInput reports whether an input column of a computed column will be the same on the table
// after the cherry-pick as on the branch.
func (d *Diff) keepsInput(path string) bool {
	fields, err := d.Branch.Schema().Resolve(path)
	if err != nil {
		return false
	}
	column := fields[0]
	if slices.Contains(d.Added, column) {
		return true
	}
	before := d.Fork.Schema().ByID(column.ID)
	return before != nil && sameColumn(before, column)
}

// inputKeys are the field metadata keys that list the inputs of a computed column as a JSON array
// of paths: the protocol's, and the one in crate lancedb, src/table/computed_columns.rs.
var inputKeys = []string{"virtual_column.udf_inputs", "computed_column.inputs"}

// bindingKey is the field metadata key that refers to a function binding in the schema metadata.
const bindingKey = "computed_column.function.binding_id"

// inputsOf returns the paths of a computed column's inputs.
func inputsOf(f *schema.Field) []string {
	for _, key := range inputKeys {
		var inputs []string
		if err := json.Unmarshal([]byte(f.Metadata[key]), &inputs); err == nil {
			return inputs
		}
	}
	return nil
}
