package query

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"

	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/document"
	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// A textSearch finds the rows that contain words, best first. If all searched columns have text
// indices, it reads posting lists, and reads texts only in fragments without an index. Otherwise it
// reads all texts; it still uses the tokenizer of an index, and scores the rows that the index
// covers as the index would.
type textSearch struct {
	dataset  *dataset.Dataset
	warn     func(ctx context.Context, message string, about ...slog.Attr)
	query    fulltext.Query
	elements bool     // documents are list elements
	indices  []string // names of the indices whose posting lists it reads; nil: it reads all texts
	among    asked    // the rows to search
	fast     bool     // find only rows that an index covers
	k        int64    // rows to find, including skipped ones
	limit    int      // maximum number of rows to find

	read, score *explain.Step
}

// newTextSearch plans a search for words.
func (p *Planner) newTextSearch(ctx context.Context, r condition.Relation, q *Query) (finder, error) {
	d := r.Dataset
	s := &textSearch{dataset: d, warn: p.Policy.Warn, fast: q.FastSearch, k: q.most(), limit: p.TopK}
	indices, err := textIndices(d)
	if err != nil {
		return nil, err
	}
	asked := textQuery{indices: indices}
	if s.query, err = asked.of(q.Text); err != nil {
		return nil, err
	}
	s.elements = asked.elements
	if s.among, err = p.before(ctx, q, r); err != nil {
		return nil, err
	}
	columns, reads := fulltext.Columns(s.query), []string(nil)
	for _, column := range columns {
		text, err := document.Of(d, column)
		if err != nil {
			return nil, err
		}
		if s.elements && text.Lists() == 0 {
			return nil, protocol.Errorf(protocol.InvalidInput, "full_text_query: document_granularity list_element needs a list of texts; column %s is of %s", column, text.Field.Type)
		}
		reads = append(reads, text.Read)
		if x := indices.of(s.elements)[column]; coversAny(d, x) {
			s.indices = append(s.indices, x.Name)
		}
	}
	if len(s.indices) < len(columns) {
		s.among.filter.Narrowing = nil // all texts must be read to count their words
	}
	s.describe(q, columns, reads)
	return filtered(ctx, r, q, s)
}

// describe makes the plan steps of the search. reads are the names of the columns in scans.
func (s *textSearch) describe(q *Query, columns, reads []string) {
	s.read = s.among.step(s.dataset, reads)
	s.score = explain.New(s.dataset.Now, explain.MatchText, s.read).With("columns=%s", explain.List(columns))
	s.score.Like(textOperators(q.Text)...)
	if s.k < math.MaxInt64 {
		s.score.With("k=%d", s.k).Like("GlobalLimitExec")
	}
	if s.indices != nil {
		s.score.With("indices=%s", explain.List(s.indices))
	} else {
		s.score.Like("FlatMatchQuery")
	}
}

func (s *textSearch) step() *explain.Step { return s.score }

func (s *textSearch) rated() rating {
	score := ratedColumn{scoreField(scoreColumn), scores}
	if s.elements {
		return rating{columns: []ratedColumn{{elementField, elements}, score}}
	}
	return rating{columns: []ratedColumn{score}}
}

// textOperators returns the names of native Lance's operators for a text query and its parts.
func textOperators(q *queryapi.FullTextQuery) []string {
	switch {
	case q.Node != nil:
		return partOperators(q.Node)
	case strings.HasPrefix(q.Text, `"`):
		return []string{"PhraseQuery"}
	}
	return []string{"MatchQuery"}
}

func partOperators(parts ...*queryapi.TextQuery) (names []string) {
	for _, q := range parts {
		switch {
		case q == nil:
		case q.Match != nil:
			names = append(names, "MatchQuery")
		case q.Phrase != nil:
			names = append(names, "PhraseQuery")
		case q.MultiMatch != nil:
			names = append(names, "CompoundFtsScorer", "MultiMatchQuery", "MatchQuery")
		case q.CombinedFields != nil:
			names = append(names, "CombinedFieldsQuery")
		case q.Boost != nil:
			names = append(names, "CompoundFtsScorer", "BoostQuery")
			names = append(names, partOperators(q.Boost.Positive, q.Boost.Negative)...)
		case q.Boolean != nil:
			names = append(names, "CompoundFtsScorer", "BooleanQuery")
			for _, clauses := range [][]queryapi.TextQuery{q.Boolean.Must, q.Boolean.Should, q.Boolean.MustNot} {
				for i := range clauses {
					names = append(names, partOperators(&clauses[i])...)
				}
			}
		}
	}
	return names
}

// find returns the best rows.
func (s *textSearch) find(ctx context.Context, ahead []string) ([]found, error) {
	ctx = s.read.Reading(ctx)
	began := s.dataset.Now()
	hits, err := s.findIndexed(ctx, ahead)
	var unread *unreadIndex
	if errors.As(err, &unread) && prefilter.IsUnusable(err) {
		s.warn(ctx, "an index is not used", slog.String("index", unread.name), slog.Any("error", err))
		s.score.WithMore("index_not_used=%q", err)
		hits, err = s.findBy(ctx, false)
	}
	s.score.Took(began)
	s.score.Found(len(hits))
	return hits, textError(err)
}

// findIndexed returns the best rows, by posting lists if the columns have them. Its memory is
// released when it returns, so that a search without the lists can use it.
func (s *textSearch) findIndexed(ctx context.Context, ahead []string) ([]found, error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	if s.indices != nil {
		defer s.dataset.OpenAhead(ctx, ahead)()
	}
	return s.findBy(ctx, s.indices != nil)
}

// findBy returns the best rows. indexed chooses posting lists.
func (s *textSearch) findBy(ctx context.Context, indexed bool) ([]found, error) {
	scan, err := newTextScan(ctx, s.dataset, s.query, s.elements, indexed)
	if err != nil {
		return nil, err
	}
	scan.fast, scan.made, scan.among = s.fast, s.read.Made, s.among
	hits, err := scan.best(ctx, s.k, s.limit)
	if l := scan.lists; l != nil && err == nil {
		s.score.WithMore("index_partitions=%d", l.partitions).WithMore("index_blocks=%d", l.blocks).WithMore("index_rows=%d", l.scored)
	}
	return hits, err
}

// textError turns errors of the search into protocol errors.
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

// best returns the k best documents with their scores, best first; documents with equal scores are
// in the order of the table. The error is InvalidInput if k is larger than limit and more than
// limit documents match.
func (s *textScan) best(ctx context.Context, k int64, limit int) ([]found, error) {
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
	list := make([]found, len(hits))
	for i, h := range hits {
		h.Distance = -h.Distance // see addScores
		list[i] = found{Hit: h}
	}
	return list, nil
}

// scoreAll adds the scores of all rows to top: of counted texts, and of rows in posting lists.
func (s *textScan) scoreAll(ctx context.Context, counted *counts, top *vector.TopK) error {
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
