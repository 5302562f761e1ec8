package build

import (
	"context"

	"tiltyard/shared/index"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/index/runs"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/sortkey"
)

// vectors builds an index of vectors by a complete recipe.
type vectors struct {
	source
	recipe ivf.Recipe
}

// write builds a segment of all rows.
func (v vectors) write(ctx context.Context, out index.Output) error {
	return ivf.Build(ctx, v.recipe, v.kind, v.dataset.IndexSource(v.column, v.stores), v.watch, out)
}

// Train implements Parts: all shards share a model.
func (v vectors) Train(ctx context.Context, out index.Output) (bool, error) {
	return ivf.Train(ctx, v.recipe, v.kind, v.dataset.IndexSource(v.column, v.stores), out)
}

// keyBytes is what a key has beside the code: partition and row.
const keyBytes = 4 + 8

// Effort implements Parts.
func (v vectors) Effort() Effort {
	rowNanos, keyNanos := v.recipe.Nanos(v.kind, v.dataset.CountRows())
	return Effort{
		RowNanos: rowNanos, RowBytes: v.rowBytes(), KeyNanos: keyNanos,
		Held: float64(v.recipe.CodeBytes(v.kind) + keyBytes + sortkey.Overhead),
	}
}

// sortBytes is how many bytes of keys are sorted in memory, if the share has so much.
const sortBytes = 256 << 20

// Shard implements Parts.
func (v vectors) Shard(ctx context.Context, span Span, name string, staged Staged, out index.Output) (Shard, error) {
	model, err := ivf.OpenModel(ctx, v.recipe, v.kind, unkept{staged.Trained})
	if err != nil {
		return Shard{}, err
	}
	defer model.Close()
	sorter := sortkey.NewSorter(ctx, sortkey.NoLimit, sortBytes)
	defer sorter.Close()
	scanned, err := snapshot.Map(ctx, v.dataset.Snapshot, snapshot.ScanOptions{Columns: []string{v.column, v.stores}, Span: span}, model.Keys)
	if err != nil {
		return Shard{}, err
	}
	for keys, err := range scanned {
		if err == nil {
			err = sorter.Add(keys)
		}
		if err != nil {
			return Shard{}, err
		}
		if v.watch != nil {
			v.watch(int64(len(keys)))
		}
	}
	shard := Shard{Name: name, Loss: model.Loss()}
	shard.Keys, shard.Bytes, err = runs.Write(ctx, sorter.Sorted(), out, name)
	shard.Rows = shard.Keys
	return shard, err
}

// Join implements Parts.
func (v vectors) Join(ctx context.Context, shards []Shard, staged Staged, out index.Output) (_ Joined, err error) {
	defer index.Contain(&err)
	model, err := ivf.OpenModel(ctx, v.recipe, v.kind, unkept{staged.Trained})
	if err != nil {
		return Joined{}, err
	}
	defer model.Close()
	files, err := open(ctx, shards, staged)
	if err != nil {
		return Joined{}, err
	}
	loss := 0.0
	for _, s := range shards {
		loss += s.Loss
	}
	keys := runs.Merge(ctx, files)
	if v.watch != nil {
		keys = watched(keys, v.watch)
	}
	return Joined{}, model.Write(ctx, keys, loss, out)
}

// unkept opens files and keeps nothing of them.
type unkept struct {
	open func(ctx context.Context, name string) (*datafile.File, error)
}

// Open implements index.Files.
func (u unkept) Open(ctx context.Context, name string) (*datafile.File, error) {
	return u.open(ctx, name)
}

// Names implements index.Files. A model has no files of other names than those that are opened.
func (unkept) Names() []string { return nil }

// Keep implements index.Files.
func (unkept) Keep(_ string, read func() (any, int64, error)) (any, error) {
	value, _, err := read()
	return value, err
}
