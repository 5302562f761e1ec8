package snapshot

import (
	"context"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset/fragment"
)

// A Stretch is a run of rows of a fragment, with its columns.
type Stretch struct {
	Rows  int64             // physical rows, including deleted ones
	Live  []int32           // positions of the live rows; nil: all
	Batch arrow.RecordBatch // the live rows; nil if all are deleted
}

// Cut splits the stretch into pieces of at most most rows.
func (s Stretch) Cut(most int64) []Stretch {
	if s.Rows <= most {
		return []Stretch{s}
	}
	var pieces []Stretch
	for from := int64(0); from < s.Rows; from += most {
		pieces = append(pieces, s.Slice(from, min(most, s.Rows-from)))
	}
	return pieces
}

// Slice returns rows [from, from+rows) of the stretch.
func (s Stretch) Slice(from, rows int64) Stretch {
	piece := Stretch{Rows: rows}
	first, end := from, from+rows // positions in the batch
	if s.Live != nil {
		at := func(row int64) int64 { i, _ := slices.BinarySearch(s.Live, int32(row)); return int64(i) }
		first, end = at(from), at(from+rows)
		piece.Live = make([]int32, 0, end-first)
		for _, row := range s.Live[first:end] {
			piece.Live = append(piece.Live, row-int32(from))
		}
	}
	if end > first {
		piece.Batch = s.Batch.NewSlice(first, end)
	}
	return piece
}

// Stretches yields the projected columns of all rows of a fragment, in pieces like the windows of a
// scan. The caller accounts for the memory of a piece.
func (s *Snapshot) Stretches(ctx context.Context, f *fragment.Fragment, p *Projection) iter.Seq2[Stretch, error] {
	return s.StretchesOf(ctx, f, p, 0, f.Rows)
}

// StretchesOf yields the projected columns of the physical rows [first, end), like Stretches.
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
