package build

import (
	"context"

	"tiltyard/shared/fulltext"
	"tiltyard/shared/index/bloomfilter"
	"tiltyard/shared/index/inverted"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/index/zonemap"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
)

// Extender builds further segments of indices that exist, of each kind that can be built.
type Extender struct{}

// CanExtend implements dataset.Extender.
func (Extender) CanExtend(x snapshot.Index) bool {
	return len(x.Named) == 1 && indexLike(x).CanBuild() == nil && ivf.Extends(x.Kind.Metric)
}

func indexLike(x snapshot.Index) Index {
	return Index{Name: x.Name, Column: x.Named[0], Kind: x.Kind.Of, Vectors: ivf.Recipe{Kind: x.Kind.Type}}
}

// Extend implements dataset.Extender. A segment of texts makes the same terms of them, one of zones has
// zones of the same size, and one of vectors has the same centroids and codes.
func (Extender) Extend(ctx context.Context, part *dataset.Dataset, x snapshot.Index, like *snapshot.Segment) (dataset.NewIndex, error) {
	n, err := Like(ctx, x, like)
	if err != nil {
		return dataset.NewIndex{}, err
	}
	if n.Kind == indexmeta.Vector {
		return extendVectors(ctx, part, n, like)
	}
	return n.Resolve(part)
}

// Like returns an index with the name and the parameters of one that exists, of which it reads a segment. What vectors
// are trained to is not among the parameters: further segments share the model of that segment.
func Like(ctx context.Context, x snapshot.Index, like *snapshot.Segment) (Index, error) {
	n := indexLike(x)
	var err error
	switch n.Kind {
	case indexmeta.Text:
		n.Text, err = inverted.ParamsOf(ctx, like)
		if err == nil {
			n.Text.DocumentGranularity, err = granularityOf(x)
		}
	case indexmeta.ZoneMap, indexmeta.BloomFilter:
		err = n.zonesLike(ctx, like)
	case indexmeta.Vector:
		n.Vectors, err = ivf.RecipeOf(like.Details)
	}
	return n, err
}

// zonesLike has zones as those of a segment, unless this was never built.
func (n *Index) zonesLike(ctx context.Context, like *snapshot.Segment) (err error) {
	switch {
	case like.IsEmpty():
	case n.Kind == indexmeta.ZoneMap:
		n.ZoneRows, err = zonemap.SizeOf(ctx, like)
	default:
		n.Filters, err = bloomfilter.RecipeOf(ctx, like)
	}
	return err
}

// granularityOf returns what is a document of an index of texts, which only its entry in the manifest has.
func granularityOf(x snapshot.Index) (string, error) {
	entry, err := fulltext.ParseParams([]byte(x.Kind.Details))
	return entry.DocumentGranularity, err
}

// extendVectors returns how a segment is built beside one of vectors. An index that had too few vectors
// to train with has no files yet: then it is trained.
func extendVectors(ctx context.Context, part *dataset.Dataset, n Index, like *snapshot.Segment) (dataset.NewIndex, error) {
	made, err := n.Resolve(part)
	if err != nil || like.IsEmpty() {
		return made, err
	}
	column, err := part.Column(n.Column)
	if err != nil {
		return made, err
	}
	model, err := ivf.Open(ctx, like)
	if err != nil {
		return made, err
	}
	made.Details = like.Details
	made.Build = func(ctx context.Context, out *dataset.SegmentFiles) error {
		return ivf.Extend(ctx, model, n.Vectors, column.Type, part.IndexSource(n.Column, snapshot.RowID), segment{out})
	}
	return made, nil
}
