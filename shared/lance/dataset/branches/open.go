// Package branches opens, creates and deletes branches of a table. A branch is a table in a folder
// below its main table, with a name stored by package refs. For example, branch b made from version
// 7 consists of
//
//	_refs/branches/b.json       its parent, and the version 7 that it was made from
//	tree/b/_versions/           its manifests; the first refers to the data files of the main table
//	tree/b/data/                data files of its own commits
//
// Begin with [Open] and [Create].
package branches

import (
	"context"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/refs"
)

// Open returns a branch of the table t as a table, or refs.ErrNoBranch. The names refs.Main and ""
// return t itself. Open a branch again for each use, because it may be deleted and created again
// with other versions.
func Open(ctx context.Context, t *dataset.Table, name string) (*dataset.Table, error) {
	if refs.IsMain(name) {
		return t, nil
	}
	info, _, err := t.Refs().Branch(ctx, name)
	if err != nil {
		return nil, err
	}
	return t.Branch(name, info), nil
}
