package maintenance

import (
	"context"
	"errors"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
)

// Folded is the result of extending one index. Index is empty if there was nothing to do.
type Folded struct {
	engine.Written
	Index  string
	Merged int // number of older segments that the new one replaced
}

// FoldIndex brings one index up to date: the first one after the given name for which take is true.
// It builds a segment of the fragments that the index does not cover, which also replaces small
// segments. If an index cannot be extended, FoldIndex logs the reason and skips it. If concurrent
// commits keep changing these fragments or the index, the error is ConcurrentModification.
func FoldIndex(ctx context.Context, t *engine.Table, after string, take func(context.Context, *dataset.Dataset, segments.Fold) (bool, error), extend segments.Extender) (Folded, error) {
	for range maxCompactions {
		done, err := engine.Settled(ctx, t, nil, func(ctx context.Context, d *dataset.Dataset) (Folded, error) {
			folds, err := segments.Folds(d, extend.CanExtend)
			if err != nil {
				return Folded{}, err
			}
			for _, f := range folds {
				if f.Index.Name <= after {
					continue
				}
				var made *dataset.Dataset
				taken, err := take(ctx, d, f)
				if err == nil && taken {
					made, err = segments.Apply(ctx, d, f, extend)
				}
				// One unusable index must not keep the others from being extended.
				if isUnfoldable(err) {
					t.Warn(ctx, "an index cannot be brought up to date", err)
					continue
				}
				if made != nil || err != nil {
					return Folded{engine.Made(made), f.Index.Name, f.Merged}, err
				}
			}
			return Folded{}, nil
		})
		if !dataset.IsRowsChanged(err) {
			return done, err
		}
	}
	return Folded{}, protocol.Errorf(protocol.ConcurrentModification, "table %s changes faster than its indices can be brought up to date", t.Name())
}

// isUnfoldable reports whether an error means that an index cannot be extended, because its files
// are unusable or the column no longer fits.
func isUnfoldable(err error) bool {
	code := protocol.CodeOf(err)
	return err != nil && (errors.Is(err, lance.ErrUnsupported) || snapshot.IsDamage(err) || code == protocol.InvalidInput || code == protocol.Unsupported)
}

// ToFold returns the number of indices of the table and of its branches that FoldIndex would bring
// up to date, assuming that all of them can be extended.
func (f Family) ToFold(ctx context.Context, worth func(segments.Fold) bool) (indices int, err error) {
	for _, one := range f {
		folds, err := engine.Read(ctx, one, nil, func(_ context.Context, d *dataset.Dataset) ([]segments.Fold, error) {
			return segments.Folds(d, func(snapshot.Index) bool { return true })
		})
		if err != nil {
			return 0, err
		}
		for _, fold := range folds {
			if worth(fold) {
				indices++
			}
		}
	}
	return indices, nil
}
