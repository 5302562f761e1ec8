package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/engine/internal/textsearch"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// Words are what a part searches of a text index, by the counts of the whole index.
type Words struct {
	Index    string                  `json:"index"` // name
	Segments []textsearch.Partitions `json:"segments"`
	Counts   textsearch.Counts       `json:"counts"`
	// Among are the rows that pass the filter of the query, which the part does not filter again. Nil: all rows pass.
	Among *rowset.Set `json:"among,omitempty"`
}

// mostTerms is the size of the terms of a search above which they are not sent with each part.
const mostTerms = 1 << 20

// check refuses what no search for words sends.
func (w *Words) check(q *Query) error {
	if q.Text == nil || q.Nearest != nil || q.Filter != "" || len(q.Order) > 0 || q.Limit == nil || *q.Limit < 1 {
		return protocol.Errorf(protocol.InvalidInput, "part: a search for words needs words and a limit, and sends the rows of a filter")
	}
	if len(w.Segments) == 0 {
		return protocol.Errorf(protocol.InvalidInput, "part: a search for words needs partitions")
	}
	for i := range w.Segments {
		if err := w.Segments[i].Check(); err != nil {
			return protocol.Errorf(protocol.InvalidInput, "part: %w", err)
		}
	}
	if err := w.Counts.Check(); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "part: %w", err)
	}
	return nil
}

// searchElsewhere searches the partitions of the index in parts. Rows that pass a filter are sent with each part.
func (s *textSearch) searchElsewhere(ctx context.Context, work *textsearch.Work, among *rowset.Set) (hits []vector.Hit, done bool, err error) {
	terms := 0
	for _, term := range work.Counts.Terms {
		terms += len(term)
	}
	if fit, err := fits(among); err != nil || !fit || terms > mostTerms {
		return nil, false, err
	}
	held, err := memory.Take(ctx, 2*hitBytes*min(s.k, s.dataset.CountRows()))
	if err != nil {
		return nil, false, err
	}
	defer held.Release()
	divided := s.planner.division(s.relation, Part{Kind: worded, Query: &Query{Limit: &s.k, Text: s.asked}})
	for _, segments := range work.Cut(s.planner.Spread.count(work.Bytes())) {
		divided.add(func(p *Part) {
			p.Words = &Words{Index: s.indices[0], Segments: segments, Counts: work.Counts, Among: among}
		})
	}
	top := vector.NewTopK(int(s.k), vector.Bounds{})
	here, err := divided.each(ctx, toStep(s.score), func(batch arrow.RecordBatch) error {
		return hitsOf(batch, 1, func(h found) { top.Add(-h.Distance, h.RowID) })
	})
	if here {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, err
	}
	s.elsewhere = true
	s.score.WithMore("parts=%d", len(divided.parts)).WithMore("partitions=%d", work.Partitions())
	hits = top.Hits()
	for i := range hits {
		hits[i].Distance = -hits[i].Distance // the best have the least
	}
	return hits, true, nil
}

// wordsPart searches partitions of a text index. Views cannot be searched for words, and rows that somebody has sent do not
// show what the caller of a view may see.
func (p *Planner) wordsPart(ctx context.Context, r condition.Relation, part *Part) (*protocol.Rows, error) {
	if r.View != nil {
		return nil, errWordsOfView
	}
	if *part.Query.Limit > int64(p.TopK) {
		return nil, protocol.Errorf(protocol.InvalidInput, "part: a limit of %d rows, more than %d", *part.Query.Limit, p.TopK)
	}
	s, err := p.newWordSearch(ctx, r, part.Query)
	if err != nil {
		return nil, err
	}
	if s.elements || len(s.indices) != 1 || s.indices[0] != part.Words.Index {
		return nil, protocol.Errorf(protocol.Unsupported, "part: index %.100q is not the one that answers", part.Words.Index)
	}
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	among := part.Words.Among
	if among != nil {
		if err := memory.FromContext(ctx).Take(ctx, among.Bytes()); err != nil {
			return nil, err
		}
	}
	s.part = &textsearch.Part{Segments: part.Words.Segments, Counts: part.Words.Counts, Among: among}
	hits, err := s.findBy(ctx, true)
	switch {
	case prefilter.IsUnusable(err):
		return nil, protocol.Errorf(protocol.Unsupported, "part: %w", err)
	case err != nil:
		return nil, textError(err)
	}
	return answerOf(hits)
}
