package engine

import (
	"context"

	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/objectstore"
)

// DeleteVersions is [dataset.Table.DeleteVersions].
func (t *Table) DeleteVersions(ctx context.Context, doomed func(version uint64) bool, all bool) (deleted int, err error) {
	deleted, err = t.data.DeleteVersions(ctx, doomed, all)
	return deleted, t.translate(err)
}

// ChooseVersions is [dataset.Table.ChooseVersions].
func (t *Table) ChooseVersions(ctx context.Context, doomed func(version uint64) bool, all bool) ([]objectstore.Info, error) {
	chosen, err := t.data.ChooseVersions(ctx, doomed, all)
	return chosen, t.translate(err)
}

// ForgetVersions is [dataset.Table.ForgetVersions].
func (t *Table) ForgetVersions(deleted []objectstore.Info) { t.data.ForgetVersions(deleted) }

// Branch returns the description of a branch, or TableBranchNotFound.
func (t *Table) Branch(ctx context.Context, name string) (refs.Branch, error) {
	info, err := t.data.BranchInfo(ctx, name)
	return info, t.translate(err)
}
