package query

import (
	"context"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
)

// An index on lists of vectors contains each vector of a row under the address of the row. For each
// query vector, a search finds the nearest vectors, overFetch times the number of requested rows.
// If a row has none of them, its distance to this query vector is assumed to be that of the
// farthest vector found.
//
// Source: io/exec/knn.rs of crate lance, MultivectorScoringExec.

// overFetch is the number of vectors to find per requested row.
const overFetch = 10

// interacted returns the rows that are nearest to all query vectors together, nearest first. near
// contains, for each query vector, the nearest vectors in ascending distance, as the addresses of
// their rows.
func (x *indexedSearch) interacted(ctx context.Context, near [][]vector.Hit) ([]vector.Hit, error) {
	const perVector = 64 // one map entry for the row, and one for the query vectors that found it
	all := 0
	for _, hits := range near {
		all += len(hits)
	}
	held, err := memory.Take(ctx, perVector*int64(all))
	if err != nil {
		return nil, err
	}
	defer held.Release()
	nearer := map[uint64]float32{} // by row, its distance relative to a row that no query vector found
	farthest := float32(0)         // the distance of such a row
	for _, hits := range near {
		last := float32(1) // the cosine distance of orthogonal vectors
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
		bounds = vector.Bounds{} // the exact distances are checked against the bounds later
	}
	top := vector.NewTopK(x.limit, bounds)
	for row, d := range nearer {
		top.Add(farthest+d, row)
	}
	return top.Hits(), ctx.Err()
}
