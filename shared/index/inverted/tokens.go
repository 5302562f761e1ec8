package inverted

import (
	"context"
	"fmt"
	"sort"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/index/inverted/fst"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
)

// maxTerms bounds the terms of a partition: their numbers have 32 bits.
const maxTerms = 1<<32 - 1

// A dictionary has the terms of a partition. The number of a term is the row of its postings.
type dictionary interface {
	// Numbers returns the numbers of terms, and -1 for those that are not in it.
	Numbers(ctx context.Context, terms []string) ([]int64, error)
	// Each calls yield with each term in the order of their bytes. term is good until yield
	// returns.
	Each(ctx context.Context, yield func(term []byte) error) error
}

// The forms of the terms of a partition, by their names in the metadata of the segment.
const automatonForm, sortedForm = "fst", "arrow"

// automatonColumn is the column with the automaton.
const automatonColumn = "_token_fst_bytes"

// openDictionary returns the terms of a partition, cached or read from storage. Many terms are paged.
func (p *partition) openDictionary(ctx context.Context) (dictionary, error) {
	file, err := p.files.Open(ctx, p.name("tokens"))
	if err != nil {
		return nil, err
	}
	kept, err := p.files.Keep(p.termsName(), func() (any, int64, error) {
		if p.tokenFormat == automatonForm && file.Size() > p.upTo.termBytes {
			pages, err := readTermPages(ctx, p.name("tokens"), p.files, file)
			if pages != nil || err != nil {
				return pages, termPagesBytes, err
			}
		}
		d, bytes, err := readDictionary(ctx, file, p.tokenFormat)
		return d, bytes, err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name("tokens"), err)
	}
	if pages, ok := kept.(*termPages); ok {
		return &pagedAutomaton{pages, p.files, file}, nil
	}
	return kept.(dictionary), nil
}

// readDictionary reads the terms of a partition in one of two forms: an automaton in one row, or a row per term. It also
// returns the size in bytes.
func readDictionary(ctx context.Context, file *datafile.File, format string) (dictionary, int64, error) {
	switch format {
	case automatonForm:
		c, err := index.ColumnsOf(ctx, file, automatonColumn)
		if err != nil {
			return nil, 0, err
		}
		if file.NumRows() < 1 {
			return nil, 0, fmt.Errorf("%w: no terms", lance.ErrCorrupt)
		}
		read, err := c.Read(ctx, 0, 1)
		if err != nil {
			return nil, 0, err
		}
		bytes, ok := read[0].(*array.LargeBinary)
		if !ok || bytes.IsNull(0) {
			return nil, 0, fmt.Errorf("%w: terms of type %s", lance.ErrCorrupt, read[0].DataType())
		}
		a, err := fst.New(bytes.Value(0))
		return a, int64(len(bytes.Value(0))), err
	case "", sortedForm:
		return readSorted(ctx, file)
	}
	return nil, 0, fmt.Errorf("%w: terms in the form %q", lance.ErrUnsupported, format)
}

// sorted is a dictionary of an early form: terms in their order, with their numbers.
type sorted struct {
	terms *array.String
	ids   []uint32
}

// readSorted reads terms that have a row each, and checks that they are strictly ascending.
func readSorted(ctx context.Context, file *datafile.File) (dictionary, int64, error) {
	c, err := index.ColumnsOf(ctx, file, "_token", "_token_id")
	if err != nil {
		return nil, 0, err
	}
	read, err := c.Read(ctx, 0, file.NumRows())
	if err != nil {
		return nil, 0, err
	}
	terms, ok := read[0].(*array.String)
	numbers, numbered := read[1].(*array.Uint32)
	if !ok || !numbered || terms.NullN() > 0 || numbers.NullN() > 0 {
		return nil, 0, fmt.Errorf("%w: terms of type %s with numbers of type %s", lance.ErrCorrupt, read[0].DataType(), read[1].DataType())
	}
	for i := 1; i < terms.Len(); i++ {
		if terms.Value(i-1) >= terms.Value(i) {
			return nil, 0, fmt.Errorf("%w: terms out of their order", lance.ErrCorrupt)
		}
	}
	return &sorted{terms: terms, ids: numbers.Uint32Values()}, int64(terms.Data().SizeInBytes() + numbers.Data().SizeInBytes()), nil
}

// Numbers finds terms by binary search.
func (s *sorted) Numbers(_ context.Context, terms []string) ([]int64, error) {
	all := make([]int64, len(terms))
	for i, term := range terms {
		row := sort.Search(s.terms.Len(), func(row int) bool { return s.terms.Value(row) >= term })
		if all[i] = -1; row < s.terms.Len() && s.terms.Value(row) == term {
			all[i] = int64(s.ids[row])
		}
	}
	return all, nil
}

// Each yields the terms in order.
func (s *sorted) Each(ctx context.Context, yield func(term []byte) error) error {
	for i := range s.terms.Len() {
		if i%contextSteps == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := yield([]byte(s.terms.Value(i))); err != nil {
			return err
		}
	}
	return nil
}
