package textsearch

import (
	"context"

	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// hitBytes is the memory of a hit in a TopK, whose capacity may be twice its length.
const hitBytes = 32

// Best returns the k best documents, best first, with their scores as distances; documents with equal scores are in the
// order of the table. The error is InvalidInput if k is larger than limit and more than
// limit documents match.
func (s *Search) Best(ctx context.Context, k int64, limit int) ([]vector.Hit, error) {
	if s.fast && s.coverage == nil {
		return nil, nil
	}
	if err := s.expand(ctx); err != nil {
		return nil, err
	}
	if s.lists != nil {
		if err := s.lists.find(ctx); err != nil {
			return nil, err
		}
	}
	counted, err := s.count(ctx)
	defer counted.release()
	if err != nil {
		return nil, err
	}
	most := min(k, int64(limit)+1)
	if !s.elements {
		most = min(most, s.dataset.CountRows())
	}
	room, err := memory.Take(ctx, 2*hitBytes*most)
	if err != nil {
		return nil, err
	}
	defer room.Release()
	top := vector.NewTopK(int(min(k, int64(limit)+1)), vector.Bounds{})
	if err := s.scoreAll(ctx, counted, top); err != nil {
		return nil, err
	}
	hits := top.Hits()
	if len(hits) > limit {
		return nil, protocol.Errorf(protocol.InvalidInput,
			"the full_text_query finds more than %d documents; ask for fewer rows with k, or make the query more specific", limit)
	}
	for i := range hits {
		hits[i].Distance = -hits[i].Distance // see addScores
	}
	return hits, nil
}

// scoreAll adds the scores of all rows to top: of counted texts, and of rows in posting lists.
func (s *Search) scoreAll(ctx context.Context, counted *counts, top *vector.TopK) error {
	scorer := s.search.Scorer(counted.total)
	if counted.overflow {
		if err := s.scoreAgain(ctx, scorer, top); err != nil {
			return err
		}
	}
	for _, rows := range counted.rows {
		addScores(top, scorer, rows)
	}
	if s.lists == nil {
		return nil
	}
	return s.lists.score(ctx, s.among, scorer, top)
}

// addScores adds the rows of a tally to top. Their distance is the negative score, because top
// keeps the least distances.
func addScores(top *vector.TopK, scorer *fulltext.Scorer, rows *fulltext.Tally) {
	for i, address := range rows.Addresses {
		if score, ok := scorer.Score(rows.Row(i)); ok {
			top.AddPart(-score, address, rows.Element(i))
		}
	}
}

// Stats are the numbers of partitions of the index that a search has read, of blocks of posting lists in them, and of rows
// that were scored by them.
type Stats struct{ Partitions, Blocks, Rows int }

// Stats returns what a search has read of indices. read is false if it reads none.
func (s *Search) Stats() (stats Stats, read bool) {
	if s.lists == nil {
		return Stats{}, false
	}
	return Stats{s.lists.partitions, s.lists.blocks, s.lists.scored}, true
}
