package query

import (
	"context"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
)

// An index of lists of vectors has the vectors of all rows, each under its row. A search looks for the
// vectors that are near each query vector, some times as many as rows are wanted. A row that has none of
// them for a query vector counts as far as the farthest that was found.
//
// Source: io/exec/knn.rs of crate lance, MultivectorScoringExec.

// overFetch is how many times as many vectors are looked for as rows are wanted.
const overFetch = 10

// interacted returns the rows that are nearest to all query vectors together, nearest first. near has
// the vectors that are near each of them, nearest first, as the addresses of their rows.
func (x *indexedSearch) interacted(ctx context.Context, near [][]vector.Hit) ([]vector.Hit, error) {
	const perVector = 64 // an entry of a map of rows, and one of those that a query vector has met
	all := 0
	for _, hits := range near {
		all += len(hits)
	}
	held, err := memory.Take(ctx, perVector*int64(all))
	if err != nil {
		return nil, err
	}
	defer held.Release()
	nearer := map[uint64]float32{} // than rows that no query vector has found
	farthest := float32(0)         // how far these are
	for _, hits := range near {
		last := float32(1) // as far as a vector at a right angle
		if len(hits) > 0 {
			last = hits[len(hits)-1].Distance
		}
		farthest += last
		met := map[uint64]bool{}
		for _, h := range hits {
			if !met[h.RowID] {
				met[h.RowID] = true
				nearer[h.RowID] += h.Distance - last
			}
		}
	}
	bounds := x.bounds
	if x.exact != nil {
		bounds = vector.Bounds{} // those that are found are measured again
	}
	top := vector.NewTopK(x.limit, bounds)
	for row, d := range nearer {
		top.Add(farthest+d, row)
	}
	return top.Hits(), ctx.Err()
}
