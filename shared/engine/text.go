package engine

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"tiltyard/shared/fulltext"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/vector"
)

// A textSearch answers a query for the rows that hold words, the best first, by reading
// all texts. What an index on them says of how words are told apart is heeded; the rows
// that it covers are scored as it would score them.
type textSearch struct {
	*foundRows
	query fulltext.Query
	among asked // of which rows the best are looked for
	fast  bool  // only rows that an index covers may be found
	k     int64 // those to be skipped among them
	limit int   // rows that may be found at most

	read, score *step
}

// newTextSearch resolves a query for words.
func (e *Engine) newTextSearch(ctx context.Context, d *dataset.Dataset, req *protocol.QueryTableRequest) (answer, error) {
	s := &textSearch{fast: req.FastSearch, k: textK(req), limit: e.limits.TopK}
	var err error
	if s.foundRows, err = newFoundRows(ctx, d, req, scoreColumn); err != nil {
		return nil, err
	}
	if s.among, err = before(ctx, req, d); err != nil {
		return nil, err
	}
	indices, err := textIndices(d)
	if err != nil {
		return nil, err
	}
	if s.query, err = (textQuery{indexed: slices.Sorted(maps.Keys(indices))}).of(req.FullTextQuery); err != nil {
		return nil, err
	}
	columns := fulltext.Columns(s.query)
	for _, column := range columns {
		if _, err := newTextColumn(d, column); err != nil {
			return nil, err
		}
	}
	s.describe(req, columns)
	return s, nil
}

// describe makes the steps of the search.
func (s *textSearch) describe(req *protocol.QueryTableRequest, columns []string) {
	s.read = s.among.step(s.dataset, req, columns)
	s.score = newStep(s.dataset, "MatchText", s.read).says("columns=%s", list(columns))
	if s.k < math.MaxInt64 {
		s.score.says("k=%d", s.k)
	}
	s.follow(req, s.score)
}

// rows is the answer's. The search is over when it returns.
func (s *textSearch) rows(ctx context.Context) (*protocol.Rows, error) {
	hits, err := s.find(s.read.reading(ctx))
	if err != nil {
		return nil, textError(err)
	}
	return s.of(ctx, hits)
}

// find returns the best rows.
func (s *textSearch) find(ctx context.Context) ([]found, error) {
	began := s.dataset.Now()
	scan, err := newTextScan(ctx, s.dataset, s.query)
	if err != nil {
		return nil, err
	}
	scan.fast, scan.made, scan.filter, scan.only = s.fast, s.read.made, s.among.where, s.among.only
	hits, err := scan.best(ctx, s.k, s.limit)
	s.score.took(began)
	s.score.rows.Add(int64(len(hits)))
	return hits, err
}

// textK returns how many rows to look for: those to be returned and those to be skipped
// before them. Without a limit it is the largest number that there is.
func textK(req *protocol.QueryTableRequest) int64 {
	if req.K == nil || *req.K == 0 {
		return math.MaxInt64
	}
	return saturating(*req.K, req.Offset)
}

// textError gives errors of the search its name in the protocol.
func textError(err error) error {
	var bad *fulltext.Error
	switch {
	case errors.As(err, &bad):
		return &protocol.Error{Code: protocol.InvalidInput, Message: "full_text_query: " + bad.Error(), Err: err}
	case errors.Is(err, lance.ErrUnsupported):
		return &protocol.Error{Code: protocol.Unsupported, Message: "full_text_query: " + err.Error(), Err: err}
	}
	return err
}

// best returns the k best rows with their scores, best first, and of equal ones those that
// come first in the table. When there are more than limit of them, and as many were asked
// for, that is an error.
func (s *textScan) best(ctx context.Context, k int64, limit int) ([]found, error) {
	if s.fast && s.coverage == nil {
		return nil, nil
	}
	if err := s.expand(ctx); err != nil {
		return nil, err
	}
	counted, err := s.count(ctx)
	defer counted.release()
	if err != nil {
		return nil, err
	}
	room, err := memory.Take(ctx, 2*hitBytes*min(k, int64(limit)+1, s.dataset.CountRows()))
	if err != nil {
		return nil, err
	}
	defer room.Release()
	top := vector.NewTopK(int(min(k, int64(limit)+1)), vector.Bounds{})
	scorer := s.search.Scorer(counted.total)
	if counted.overflow {
		err = s.scoreAgain(ctx, scorer, top)
	} else {
		for _, rows := range counted.rows {
			addScores(top, scorer, rows)
		}
	}
	if err != nil {
		return nil, err
	}
	hits := top.Hits()
	if len(hits) > limit {
		return nil, protocol.Errorf(protocol.InvalidInput,
			"the full_text_query finds more than %d rows; ask for fewer of them with k, or narrow it down", limit)
	}
	list := make([]found, len(hits))
	for i, h := range hits {
		h.Distance = -h.Distance // see addScores
		list[i] = found{Hit: h}
	}
	return list, nil
}

// addScores shows the rows that a tally has kept, as hits whose distance is the score with
// the other sign: the nearest are the best.
func addScores(top *vector.TopK, scorer *fulltext.Scorer, rows *fulltext.Tally) {
	for i, address := range rows.Addresses {
		if score, ok := scorer.Score(rows.Row(i)); ok {
			top.Add(-score, address)
		}
	}
}
