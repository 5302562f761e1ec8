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

// Cut returns the stretch in pieces of at most most rows.
func (s Stretch) Cut(most int64) []Stretch {
	if s.Rows <= most {
		return []Stretch{s}
	}
	var pieces []Stretch
	live := int64(0) // rows before the piece that are not deleted
	for from := int64(0); from < s.Rows; from += most {
		piece := Stretch{Rows: min(most, s.Rows-from)}
		n := piece.Rows
		if s.Live != nil {
			piece.Live = []int32{}
			for _, row := range s.Live[live:] {
				if int64(row) >= from+piece.Rows {
					break
				}
				piece.Live = append(piece.Live, row-int32(from))
			}
			n = int64(len(piece.Live))
		}
		if n > 0 {
			piece.Batch = s.Batch.NewSlice(live, live+n)
		}
		live += n
		pieces = append(pieces, piece)
	}
	return pieces
}

// Stretches yields columns of all rows of a fragment, in pieces like those of a scan. The memory of a
// piece is the caller's to account for.
func (s *Snapshot) Stretches(ctx context.Context, f *fragment.Fragment, p *Projection) iter.Seq2[Stretch, error] {
	return s.StretchesOf(ctx, f, p, 0, f.Rows)
}

// StretchesOf is Stretches for some of the rows, from one to before another, deleted ones too.
func (s *Snapshot) StretchesOf(ctx context.Context, f *fragment.Fragment, p *Projection, first, end int64) iter.Seq2[Stretch, error] {
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
		for from := first; from < end; from += step {
			w := window{fragment: f, from: from, to: min(from+step, end)}
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
