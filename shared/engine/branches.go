package engine

import (
	"context"

	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/refs"
)

// On returns a branch of the table, or TableBranchNotFound. The names "" and "main" mean the table
// itself, and need no request. A branch can be used like a table, except for the methods below and
// for tags, which belong to the table itself. On opens the branch for each request, because another
// client may have deleted and recreated it.
func (t *Table) On(ctx context.Context, branch string) (*Table, error) {
	if refs.IsMain(branch) {
		return t, nil
	}
	data, err := branches.Open(ctx, t.data, branch)
	if err != nil {
		return nil, t.Translate(err)
	}
	return &Table{engine: t.engine, name: t.branchName(branch), data: data, onBranch: true}, nil
}

// branchName returns the name of a branch for messages.
func (t *Table) branchName(branch string) string { return t.name + ", branch " + branch + "," }
