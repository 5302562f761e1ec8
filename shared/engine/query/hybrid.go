package query

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	account "tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// The halves of a hybrid search.
const (
	byDistance = iota
	byScore
	halves
)

// A hybridSearch finds the rows nearest to a vector and the rows that contain words, at the same time and in the same
// version, and joins them by their ranks. Each half finds as many rows as the whole search. The result is that of
// RRFReranker in the clients of LanceDB, also in the order of equal relevances: by distance, and then the rows that
// only the search for words has found, by score.
type hybridSearch struct {
	dataset *dataset.Dataset
	halves  [halves]finder
	weights [halves]float64
	fusion  Fusion
	k       int64 // rows to find, including skipped ones

	fuse *explain.Step
}

// newHybridSearch plans a search for a vector and words. An offset and an order apply to the joined rows, and
// everything else to each half.
func (p *Planner) newHybridSearch(ctx context.Context, r condition.Relation, q *Query) (finder, error) {
	s := &hybridSearch{dataset: r.Dataset, fusion: q.Fusion, k: q.most()}
	s.weights = [halves]float64{byDistance: q.Fusion.Vector, byScore: q.Fusion.Text}
	half := *p
	if p.Spread != nil {
		// The halves have no more parts at the same time than another query.
		spread := *p.Spread
		spread.Options, half.Spread = spread.Options.Shared(), &spread
	}
	var err error
	if s.halves[byDistance], err = half.newSearch(ctx, r, q); err != nil {
		return nil, err
	}
	if s.halves[byScore], err = half.newTextSearch(ctx, r, q); err != nil {
		return nil, err
	}
	if s.halves[byDistance].rated().numbered {
		return nil, protocol.Errorf(protocol.InvalidInput, "vector has several query vectors, which cannot be combined with full_text_query; send one query for each vector")
	}
	if s.halves[byScore].rated().index(elementColumn) >= 0 {
		return nil, protocol.Errorf(protocol.InvalidInput, "full_text_query: a search for list elements cannot be combined with vector; use document_granularity row and a text index of rows")
	}
	s.fuse = explain.New(s.dataset.Now, explain.Fuse, s.halves[byDistance].step(), s.halves[byScore].step()).
		With("method=rrf").With("k=%d", q.Fusion.K).With("weights=[vector=%g, text=%g]", q.Fusion.Vector, q.Fusion.Text)
	if s.k < math.MaxInt64 {
		s.fuse.With("limit=%d", s.k)
	}
	return s, nil
}

func (s *hybridSearch) step() *explain.Step { return s.fuse }

func (s *hybridSearch) rated() rating {
	return rating{columns: []ratedColumn{
		{scoreField(distanceColumn), scoresOf(byDistance)}, {scoreField(scoreColumn), scoresOf(byScore)}, {scoreField(relevanceColumn), scores},
	}}
}

// scoresOf returns a function for the column of a half's distances or scores.
func scoresOf(half int) func(hits []found) arrow.Array {
	return func(hits []found) arrow.Array {
		b := array.NewFloat32Builder(memory.DefaultAllocator)
		b.Reserve(len(hits))
		for _, h := range hits {
			if h.ranked[half] {
				b.Append(h.scored[half])
			} else {
				b.AppendNull()
			}
		}
		return b.NewArray()
	}
}

// find runs both halves, and returns the most relevant rows.
func (s *hybridSearch) find(ctx context.Context, ahead []string) ([]found, error) {
	began := s.dataset.Now()
	defer func() { s.fuse.Took(began) }()
	var lists [halves][]found
	err := lance.Each(ctx, halves, halves, func(ctx context.Context, half int) (err error) {
		lists[half], err = s.halves[half].find(ctx, ahead)
		return err
	})
	if err != nil {
		return nil, err
	}
	held, err := account.Take(ctx, fusedBytes*int64(len(lists[byDistance])+len(lists[byScore])))
	if err != nil {
		return nil, err
	}
	defer held.Release()
	all := s.fused(lists)
	best := slices.Clone(all[:min(int64(len(all)), s.k)])
	s.fuse.Found(len(best))
	return best, nil
}

// fusedBytes is the memory of a found row while the halves are joined: in the list of its half, in the joined list,
// and in a map.
const fusedBytes = 2*foundBytes + 64

// fused returns the rows of both lists, the most relevant first.
func (s *hybridSearch) fused(lists [halves][]found) []found {
	var all []found
	var relevance []float64
	places := make(map[uint64]int, len(lists[byDistance])+len(lists[byScore]))
	for half, list := range lists {
		for i, h := range list {
			at, known := places[h.RowID]
			if !known {
				at = len(all)
				places[h.RowID] = at
				all, relevance = append(all, found{Hit: vector.Hit{RowID: h.RowID}}), append(relevance, 0)
			}
			relevance[at] += s.weights[half] / float64(s.fusion.K+int64(i)+1)
			all[at].scored[half], all[at].ranked[half] = h.Distance, true
		}
	}
	for i := range all {
		all[i].Distance = float32(relevance[i])
	}
	// The clients compare relevances as float32, and leave equal ones in the order of the lists.
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.Distance, a.Distance) })
	return all
}
