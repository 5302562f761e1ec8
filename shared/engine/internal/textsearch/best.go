package textsearch

import (
	"context"

	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// hitBytes is the memory of a hit in a TopK, whose capacity may be twice its length.
const hitBytes = 32

// Best returns the k best documents, best first, with their scores as distances; documents with equal scores are in the
// order of the table. The error is InvalidInput if k is larger than limit and more than
// limit documents match.
func (s *Search) Best(ctx context.Context, k int64, limit int) ([]vector.Hit, error) {
	if s.part != nil {
		return s.bestOfPart(ctx, min(k, int64(limit)))
	}
	if s.fast && s.coverage == nil {
		return nil, nil
	}
	if err := s.expand(ctx); err != nil {
		return nil, err
	}
	if err := s.find(ctx); err != nil {
		return nil, err
	}
	counted, err := s.count(ctx)
	defer counted.release()
	if err != nil {
		return nil, err
	}
	top, room, err := s.newTop(ctx, min(k, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	defer room.Release()
	if err := s.scoreAll(ctx, counted, top); err != nil {
		return nil, err
	}
	hits := hitsOf(top)
	if len(hits) > limit {
		return nil, protocol.Errorf(protocol.InvalidInput,
			"the full_text_query finds more than %d documents; ask for fewer rows with k, or make the query more specific", limit)
	}
	return hits, nil
}

// newTop returns an empty TopK, and its memory.
func (s *Search) newTop(ctx context.Context, k int64) (*vector.TopK, memory.Hold, error) {
	most := k
	if !s.elements {
		most = min(most, s.dataset.CountRows())
	}
	room, err := memory.Take(ctx, 2*hitBytes*most)
	return vector.NewTopK(int(k), vector.Bounds{}), room, err
}

// hitsOf returns the documents in top with their scores as distances.
func hitsOf(top *vector.TopK) []vector.Hit {
	hits := top.Hits()
	for i := range hits {
		hits[i].Distance = -hits[i].Distance // see addScores
	}
	return hits
}

// find finds out the document counts of the indices, and reads the posting lists unless parts may do so.
func (s *Search) find(ctx context.Context) (err error) {
	if s.lists == nil {
		return nil
	}
	if s.elsewhere != nil {
		if s.work, err = s.lists.work(ctx, s.elsewhere.Above); err != nil {
			return err
		}
	}
	if s.work == nil {
		return s.lists.find(ctx)
	}
	s.lists.knowCounts(&s.work.Counts)
	return nil
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
	if s.lists == nil || !s.lists.whole() {
		return nil
	}
	var among *rowset.Set
	if s.among.Filter.Where != nil {
		var err error
		if among, err = s.lists.allowedRows(ctx, s.among); err != nil {
			return err
		}
	}
	if s.work != nil {
		hits, done, err := s.elsewhere.Search(ctx, s.work, among)
		for _, h := range hits {
			top.AddPart(-h.Distance, h.RowID, h.Part)
		}
		if done || err != nil {
			return err
		}
		if err := s.lists.find(ctx); err != nil {
			return err
		}
	}
	return s.lists.score(ctx, among, scorer, top)
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
