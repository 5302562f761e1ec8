package indexbuild

import (
	"context"

	"tiltyard/shared/index"
	"tiltyard/shared/index/kinds"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
)

// Extender builds additional segments of existing indices. It implements [segments.Extender].
type Extender struct{}

// CanExtend reports whether segments of the index can be built: it has one column, and a kind that
// the server builds.
func (Extender) CanExtend(x snapshot.Index) bool {
	kind := kinds.Of(x.Kind.Of)
	return len(x.Named) == 1 && kind.Builds(x.Kind.Type) && (kind.Extends == nil || kind.Extends(x.Kind))
}

// Extend builds a segment with the parameters of an existing one: a text index keeps its tokenizer, a zone index its zone
// size, and a vector index its centroids and codebooks.
func (Extender) Extend(ctx context.Context, part *dataset.Dataset, x snapshot.Index, like *snapshot.Segment) (segments.NewIndex, error) {
	n, err := Like(ctx, x, like)
	if err != nil {
		return segments.NewIndex{}, err
	}
	return n.resolve(part, func(kind *index.Kind, b index.Build) (index.Plan, error) {
		if kind.Extend == nil {
			return kind.Plan(b)
		}
		return kind.Extend(ctx, segmentOf(x, like), b)
	})
}

// Like returns an index with the name and the parameters of an existing one, which it reads from a segment. The trained
// model of a vector index is not a parameter: further segments reuse the model of that segment.
func Like(ctx context.Context, x snapshot.Index, like *snapshot.Segment) (n Index, err error) {
	n = Index{Name: x.Name, Column: x.Named[0], Kind: x.Kind.Of}
	if kind := kinds.Of(n.Kind); kind != nil && kind.Like != nil {
		n.Params, err = kind.Like(ctx, segmentOf(x, like))
	}
	return n, err
}

// segmentOf converts a segment of a version to the form of package index.
func segmentOf(x snapshot.Index, s *snapshot.Segment) index.Segment {
	return index.Segment{Files: s, Index: x.Kind, Details: s.Details, Empty: s.IsEmpty()}
}
