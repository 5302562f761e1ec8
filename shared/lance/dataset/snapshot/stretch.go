package snapshot

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset/fragment"
)

// A Stretch is consecutive rows of a fragment.
type Stretch struct {
	Rows  int64             // with those that are deleted
	Live  []int32           // positions of the rows that are not deleted; nil: all
	Batch arrow.RecordBatch // of the rows that are not deleted; nil when all are
}

// Stretches yields columns of all rows of a fragment, in pieces like those of a scan. The memory of a
// piece is the caller's to account for.
func (s *Snapshot) Stretches(ctx context.Context, f *fragment.Fragment, p *Projection) iter.Seq2[Stretch, error] {
	return func(yield func(Stretch, error) bool) {
		deleted, err := f.Deletions(ctx)
		if err != nil {
			yield(Stretch{}, err)
			return
		}
		rowBytes, err := f.RowBytes(ctx, p.fields())
		if err != nil {
			yield(Stretch{}, err)
			return
		}
		step := windowRows(rowBytes)
		for from := int64(0); from < f.Rows; from += step {
			w := window{fragment: f, from: from, to: min(from+step, f.Rows)}
			piece := Stretch{Rows: w.to - w.from, Live: deleted.LivePositions(w.from, w.to)}
			if piece.Live == nil || len(piece.Live) > 0 {
				piece.Batch, err = s.assemble(ctx, w, p, piece.Live, nil)
			}
			if !yield(piece, err) || err != nil {
				return
			}
		}
	}
}
