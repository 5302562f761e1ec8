package engine

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/cherrypick"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/protocol"
)

// On returns a branch of the table, or TableBranchNotFound. The names "" and "main" mean the table
// itself, and need no request. A branch can be used as a table, except for the methods below and
// for tags, which belong to the table itself. On reads the branch for each request, because it may
// have been deleted and made again.
func (t *Table) On(ctx context.Context, branch string) (*Table, error) {
	if refs.IsMain(branch) {
		return t, nil
	}
	data, err := t.data.OpenBranch(ctx, branch)
	if err != nil {
		return nil, t.translate(err)
	}
	return &Table{engine: t.engine, name: t.branchName(branch), data: data, onBranch: true}, nil
}

// branchName returns the name of a branch in messages.
func (t *Table) branchName(branch string) string { return t.name + ", branch " + branch + "," }

// Branches lists branches in the same way as Tags lists tags.
func (t *Table) Branches(ctx context.Context, after string, limit int) (branches map[string]refs.Branch, next string, err error) {
	branches, next, err = t.data.Branches(ctx, after, limit)
	return branches, next, t.translate(err)
}

// CreateBranch makes a branch that starts at a version of another branch. from "" is the table
// itself, and a nil version the newest. The result describes the first version of the branch.
func (t *Table) CreateBranch(ctx context.Context, name, from string, version *int64) (Written, error) {
	number := uint64(0)
	if version != nil {
		number = uint64(*version)
	}
	made, err := t.data.CreateBranch(ctx, name, from, number)
	if errors.Is(err, refs.ErrExists) {
		return Written{}, &protocol.Error{
			Code: protocol.TableBranchAlreadyExists, Message: fmt.Sprintf("table %s already has a branch %q", t.name, name), Err: err,
		}
	}
	if err != nil {
		return Written{}, t.translate(err)
	}
	return written(dataset.Commit{Dataset: made}), nil
}

// DeleteBranch deletes a branch and its versions. The error is InvalidInput when tags or other
// branches refer to it.
func (t *Table) DeleteBranch(ctx context.Context, name string) error {
	return t.translate(t.data.DeleteBranch(ctx, name))
}

// DiffBranch compares a branch with the table.
func (t *Table) DiffBranch(ctx context.Context, name string) (*cherrypick.Diff, error) {
	diff, err := t.data.DiffBranch(ctx, name)
	return diff, t.translate(err)
}

// CherryPick adds the columns that a branch has added to the table. Without an error the columns are
// there, unless the difference has problems: then nothing has changed.
func (t *Table) CherryPick(ctx context.Context, name string) (Written, *cherrypick.Diff, error) {
	made, diff, err := t.data.CherryPick(ctx, name)
	if errors.Is(err, dataset.ErrNotPicked) {
		return Written{}, diff, nil
	}
	if err != nil {
		return Written{}, nil, t.translate(err)
	}
	return written(dataset.Commit{Dataset: made}), diff, nil
}
