package indexbuild

import (
	"context"

	"tiltyard/shared/index"
	"tiltyard/shared/index/kinds"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
)

// Extender builds further segments of indices that exist, of each kind that can be built.
type Extender struct{}

// CanExtend implements dataset.Extender.
func (Extender) CanExtend(x snapshot.Index) bool {
	kind := kinds.Of(x.Kind.Of)
	return len(x.Named) == 1 && kind.Builds(x.Kind.Type) && (kind.Extends == nil || kind.Extends(x.Kind))
}

// Extend implements dataset.Extender. A segment has the parameters of the other one: one of texts makes the same terms of
// them, one of zones has zones of the same size, and one of vectors has the same centroids and codes.
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

// Like returns an index with the name and the parameters of one that exists, of which it reads a segment. What vectors
// are trained to is not among the parameters: further segments share the model of that segment.
func Like(ctx context.Context, x snapshot.Index, like *snapshot.Segment) (n Index, err error) {
	n = Index{Name: x.Name, Column: x.Named[0], Kind: x.Kind.Of}
	if kind := kinds.Of(n.Kind); kind != nil && kind.Like != nil {
		n.Params, err = kind.Like(ctx, segmentOf(x, like))
	}
	return n, err
}

func segmentOf(x snapshot.Index, s *snapshot.Segment) index.Segment {
	return index.Segment{Files: s, Index: x.Kind, Details: s.Details, Empty: s.IsEmpty()}
}
