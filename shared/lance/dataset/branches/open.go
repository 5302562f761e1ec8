// Package branches opens, makes and deletes branches of a table. A branch is a table of its own below the folder of its
// table, with a name in package refs. Begin with [Open] and [Create].
package branches

import (
	"context"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/refs"
)

// Open returns a branch of the table t as a table of its own, or refs.ErrNoBranch. The names refs.Main and "" are t
// itself. Callers open a branch anew for each use, because it may be deleted and made again with other versions.
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
