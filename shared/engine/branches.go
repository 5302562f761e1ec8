package engine

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// On returns a branch of the table, or TableBranchNotFound; "" and "main" are the table
// itself, and cost nothing. A branch is a table like others, but for what is below here and
// tags, which are asked of the table itself. It is looked for anew for each request: what
// it names may have been deleted and made again.
func (t *Table) On(ctx context.Context, branch string) (*Table, error) {
	if dataset.IsMain(branch) {
		return t, nil
	}
	data, err := t.data.OpenBranch(ctx, branch)
	if err != nil {
		return nil, t.translate(err)
	}
	return &Table{engine: t.engine, name: t.branchName(branch), data: data, onBranch: true}, nil
}

// branchName returns what messages call a branch.
func (t *Table) branchName(branch string) string { return t.name + ", branch " + branch + "," }

// Branches lists branches as Tags lists tags.
func (t *Table) Branches(ctx context.Context, after string, limit int) (branches map[string]dataset.BranchInfo, next string, err error) {
	branches, next, err = t.data.Branches(ctx, after, limit)
	return branches, next, t.translate(err)
}

// CreateBranch makes a branch of a version of another one, "" being the table itself; nil
// is the newest. What was written is the first version of the branch.
func (t *Table) CreateBranch(ctx context.Context, name, from string, version *int64) (Written, error) {
	number := uint64(0)
	if version != nil {
		number = uint64(*version)
	}
	made, err := t.data.CreateBranch(ctx, name, from, number)
	if errors.Is(err, dataset.ErrRefExists) {
		return Written{}, &protocol.Error{
			Code: protocol.TableBranchAlreadyExists, Message: fmt.Sprintf("table %s has a branch %q already", t.name, name), Err: err,
		}
	}
	if err != nil {
		return Written{}, t.translate(err)
	}
	return written(dataset.Commit{Dataset: made}), nil
}

// DeleteBranch deletes a branch and its versions. One that tags or other branches refer to
// is InvalidInput.
func (t *Table) DeleteBranch(ctx context.Context, name string) error {
	return t.translate(t.data.DeleteBranch(ctx, name))
}
