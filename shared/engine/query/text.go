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
	"tiltyard/shared/engine/internal/textsearch"
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
	elements bool           // documents are list elements
	indices  []string       // names of the indices whose posting lists it reads; nil: it reads all texts
	among    condition.Rows // the rows to search
	fast     bool           // find only rows that an index covers
	k        int64          // rows to find, including skipped ones
	limit    int            // maximum number of rows to find

	planner   *Planner
	relation  condition.Relation
	asked     *queryapi.FullTextQuery
	part      *textsearch.Part // what a part searches; nil: all
	elsewhere bool             // parts have searched the index

	read, score *explain.Step
}

// newTextSearch plans a search for words.
func (p *Planner) newTextSearch(ctx context.Context, r condition.Relation, q *Query) (finder, error) {
	s, err := p.newWordSearch(ctx, r, q)
	if err != nil {
		return nil, err
	}
	return filtered(ctx, r, q, s)
}

// newWordSearch plans the search without a filter of the found rows.
func (p *Planner) newWordSearch(ctx context.Context, r condition.Relation, q *Query) (*textSearch, error) {
	d := r.Dataset
	s := &textSearch{dataset: d, warn: p.Policy.Warn, fast: q.FastSearch, k: q.most(), limit: p.TopK, planner: p, relation: r, asked: q.Text}
	indices, err := textsearch.IndexesOf(d)
	if err != nil {
		return nil, err
	}
	if s.query, s.elements, err = indices.Convert(q.Text); err != nil {
		return nil, err
	}
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
		if x := indices.Covering(d, column, s.elements); x != nil {
			s.indices = append(s.indices, x.Name)
		}
	}
	if len(s.indices) < len(columns) {
		s.among.Filter.Narrowing = nil // all texts must be read to count their words
	}
	s.describe(q, columns, reads)
	return s, nil
}

// describe makes the plan steps of the search. reads are the names of the columns in scans.
func (s *textSearch) describe(q *Query, columns, reads []string) {
	s.read = s.among.Step(s.dataset, reads)
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
	var unread *textsearch.UnreadIndex
	if errors.As(err, &unread) && prefilter.IsUnusable(err) {
		s.warn(ctx, "an index is not used", slog.String("index", unread.Name), slog.Any("error", err))
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
	o := textsearch.Options{Among: s.among, Elements: s.elements, Indexed: indexed, Fast: s.fast, Made: s.read.Made, Part: s.part}
	if spread := s.planner.Spread; indexed && spread != nil && s.k > 0 && s.k <= int64(s.limit) {
		o.Elsewhere = &textsearch.Elsewhere{Above: spread.Bytes, Search: s.searchElsewhere}
	}
	search, err := textsearch.New(ctx, s.dataset, s.query, o)
	if err != nil {
		return nil, err
	}
	hits, err := search.Best(ctx, s.k, s.limit)
	if err != nil {
		return nil, err
	}
	if read, some := search.Stats(); some && !s.elsewhere {
		s.score.WithMore("index_partitions=%d", read.Partitions).WithMore("index_blocks=%d", read.Blocks).WithMore("index_rows=%d", read.Rows)
	}
	return flattened([][]vector.Hit{hits}), nil
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
