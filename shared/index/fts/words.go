// Package fts is the FTS kind. It builds full text indices of the documents of a column (build.go), and
// answers filters on words (this file). Package inverted reads and writes the files.
//
// The parameters of a segment define how words become terms: lower case, stemming, stop words. Different
// words may have the same term, so a row with all terms need not contain the words themselves.
package fts

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/inverted"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// A Reader answers questions from one segment. It is safe for concurrent use.
type Reader struct {
	terms    *inverted.Reader
	analyzer *fulltext.Analyzer
}

// Open reads the terms and documents of a segment. t is the type of the column. Segments whose tokens are
// not single words, such as n-grams, are lance.ErrUnsupported.
func Open(ctx context.Context, files index.Files, t arrow.DataType) (*Reader, error) {
	if t.ID() != arrow.STRING {
		return nil, fmt.Errorf("%w: the words of a column of type %s", lance.ErrUnsupported, t)
	}
	terms, err := inverted.Open(ctx, files, inverted.Expected{})
	if err != nil {
		return nil, err
	}
	params, err := fulltext.ParseParams([]byte(terms.Params))
	if err != nil {
		return nil, err
	}
	if params.BaseTokenizer != "simple" || params.LanceTokenizer != "" && params.LanceTokenizer != "text" {
		return nil, fmt.Errorf("%w: filters by a text index with the tokenizer %s", lance.ErrUnsupported, params.BaseTokenizer)
	}
	analyzer, err := fulltext.NewAnalyzer(params)
	if err != nil {
		return nil, err
	}
	return &Reader{terms, analyzer}, nil
}

// Cost estimates the matches by the average document frequency of a term. A question without terms matches
// all rows; its cost is above any other.
func (r *Reader) Cost(q index.Question) (index.Cost, error) {
	terms, err := r.termsOf(q)
	if len(terms) == 0 {
		return index.Cost{Pages: math.MaxInt32, Rows: math.MaxInt32 << 16}, err
	}
	return index.Cost{Pages: len(terms) * r.terms.Partitions(), Rows: r.terms.Holding()}, nil
}

// Search returns the rows that contain the terms of all words of a question. If no word has a term, it
// returns lance.ErrUnsupported.
func (r *Reader) Search(ctx context.Context, q index.Question) (index.Answer, error) {
	terms, err := r.termsOf(q)
	if err != nil {
		return index.Answer{}, err
	}
	if len(terms) == 0 {
		return index.Answer{}, fmt.Errorf("%w: words that the text index leaves out", lance.ErrUnsupported)
	}
	found, err := r.terms.Find(ctx, terms, false)
	if err != nil {
		return index.Answer{}, err
	}
	answer := index.Answer{Rows: rowset.At(), Pages: len(terms) * r.terms.Partitions()}
	for _, m := range found {
		if slices.Contains(m.Holding, 0) {
			continue // no document of the partition has all terms
		}
		if err := add(ctx, answer.Rows, m); err != nil {
			return index.Answer{}, err
		}
	}
	return answer, nil
}

// termsOf returns the distinct terms of the words of a question.
func (r *Reader) termsOf(q index.Question) ([]string, error) {
	var terms []string
	for _, part := range q.All {
		if len(part.Ranges) != 1 {
			return nil, fmt.Errorf("%w: words asked for by %s", lance.ErrUnsupported, q)
		}
		word, ok := part.Ranges[0].From.Value.(*array.String)
		if !ok {
			return nil, fmt.Errorf("%w: words asked for by %s", lance.ErrUnsupported, q)
		}
		made, err := r.analyzer.Query(word.Value(0))
		if err != nil {
			return nil, err
		}
		for _, term := range made {
			terms = append(terms, term.Text)
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms), nil
}

// rowsAtOnce is the number of rows that are added to a set together.
const rowsAtOnce = 1 << 12

// add adds the rows of the documents with all terms to a set, and accounts for their memory.
func add(ctx context.Context, set *rowset.Set, m *inverted.Matches) error {
	numbers := make([]int64, 0, rowsAtOnce)
	rows, elements := make([]uint64, rowsAtOnce), make([]uint32, rowsAtOnce)
	flush := func() error {
		some := rows[:len(numbers)]
		if err := m.Locate(ctx, numbers, some, elements); err != nil {
			return err
		}
		slices.Sort(some)
		before := set.Bytes()
		set.Add(some)
		numbers = numbers[:0]
		return memory.FromContext(ctx).Take(ctx, set.Bytes()-before)
	}
	err := m.EachUnmeasured(ctx, func(d *inverted.Document) error {
		if slices.Contains(d.Frequencies, 0) {
			return nil
		}
		if numbers = append(numbers, d.Number); len(numbers) == rowsAtOnce {
			return flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}
