package ivf

import (
	"context"
	"fmt"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/extsort"
	"tiltyard/shared/lance/indexmeta"
)

// Kind is the kind of indices of vectors.
var Kind = &index.Kind{
	Kind: indexmeta.Vector, Types: Kinds(),
	Fits:    func(b index.Build) bool { return Fits(b.Field.Type) },
	Fitting: "fixed-size lists of float16, float32, float64 or uint8, and lists of fixed-size lists of floats",
	Plan:    plan,
	Like:    func(_ context.Context, s index.Segment) (any, error) { return RecipeOf(s.Details) },
	Extends: func(d indexmeta.Description) bool { return Extends(d.Metric) },
	Extend:  extend,
}

// plan plans a build. Its parameters are a [Recipe].
func plan(b index.Build) (index.Plan, error) {
	recipe, _ := b.Params.(Recipe)
	recipe, err := recipe.Complete(b.Field.Type)
	if err != nil {
		return index.Plan{}, &index.Refusal{Message: fmt.Sprintf("column %q: %v", b.Column, err)}
	}
	return index.Plan{Version: recipe.Version(), Details: recipe.Details(), Parts: vectors{b, recipe}}, nil
}

// extend plans a segment with the model of an existing one. An index that had too few vectors to train with
// has no files yet; its extension trains a model of its own.
func extend(ctx context.Context, like index.Segment, b index.Build) (index.Plan, error) {
	p, err := plan(b)
	if err != nil || like.Empty {
		return p, err
	}
	model, err := open(ctx, like)
	recipe, _ := b.Params.(Recipe)
	return index.Plan{Version: p.Version, Details: like.Details, Parts: extension{vectors{b, recipe}, model}}, err
}

// An extension builds a segment with the model of an existing one.
type extension struct {
	vectors
	model *Index
}

// Write implements index.Parts.
func (e extension) Write(ctx context.Context, out index.Output) error {
	return Extend(ctx, e.model, e.recipe, e.Field.Type, e.Rows, out)
}

// vectors builds an index of vectors by a complete recipe.
type vectors struct {
	index.Build
	recipe Recipe
}

// Write implements index.Parts.
func (v vectors) Write(ctx context.Context, out index.Output) error {
	return Build(ctx, v.recipe, v.Field.Type, v.Rows, v.Watch, out)
}

// Train implements index.Parts: all shards use the same model.
func (v vectors) Train(ctx context.Context, out index.Output) (bool, error) {
	return Train(ctx, v.recipe, v.Field.Type, v.Rows, out)
}

// Effort implements index.Parts.
func (v vectors) Effort() index.Effort {
	rowNanos, keyNanos := v.recipe.Nanos(v.Field.Type, v.Rows.Rows())
	return index.Effort{
		RowNanos: rowNanos, RowBytes: v.Rows.RowBytes(), KeyNanos: keyNanos,
		Held: float64(v.recipe.CodeBytes(v.Field.Type) + keyBytes + sortkey.Overhead),
	}
}

// Shard implements index.Parts.
func (v vectors) Shard(ctx context.Context, span index.Span, name string, staged index.Staged, out index.Output) (index.Shard, error) {
	model, err := OpenModel(ctx, v.recipe, v.Field.Type, index.Unkept{File: staged.Trained})
	if err != nil {
		return index.Shard{}, err
	}
	defer model.Close()
	sorter := sortkey.NewSorter(ctx, sortkey.NoLimit, sortBytes)
	defer sorter.Close()
	for keys, err := range index.Map(ctx, v.Rows, span, model.Keys) {
		if err == nil {
			err = sorter.Add(keys)
		}
		if err != nil {
			return index.Shard{}, err
		}
		if v.Watch != nil {
			v.Watch(int64(len(keys)))
		}
	}
	shard := index.Shard{Name: name, Loss: model.Loss()}
	shard.Keys, shard.Bytes, err = extsort.Write(ctx, sorter.Sorted(), out, name)
	shard.Rows = shard.Keys
	return shard, err
}

// Join implements index.Parts.
func (v vectors) Join(ctx context.Context, shards []index.Shard, staged index.Staged, out index.Output) (_ index.Joined, err error) {
	defer index.Contain(&err)
	model, err := OpenModel(ctx, v.recipe, v.Field.Type, index.Unkept{File: staged.Trained})
	if err != nil {
		return index.Joined{}, err
	}
	defer model.Close()
	files, err := index.OpenShards(ctx, shards, staged)
	if err != nil {
		return index.Joined{}, err
	}
	loss := 0.0
	for _, s := range shards {
		loss += s.Loss
	}
	return index.Joined{}, model.Write(ctx, v.Watched(extsort.Merge(ctx, files)), loss, out)
}
