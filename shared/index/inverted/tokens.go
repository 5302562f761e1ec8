package inverted

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
)

// maxTerms bounds the terms of a partition: their numbers have 32 bits.
const maxTerms = 1<<32 - 1

// A dictionary has the terms of a partition. The number of a term is the row of its postings.
type dictionary interface {
	// get returns the number of a term.
	get(term string) (number uint64, ok bool, err error)
	// each calls yield with each term in the order of their bytes. term is good until yield
	// returns.
	each(ctx context.Context, yield func(term []byte) error) error
}

// openDictionary returns the terms of a partition, cached or read from storage.
func (p *partition) openDictionary(ctx context.Context) (dictionary, error) {
	kept, err := p.files.Keep(p.termsName(), func() (any, int64, error) {
		file, err := p.files.Open(ctx, p.name("tokens"))
		if err != nil {
			return nil, 0, err
		}
		d, bytes, err := readDictionary(ctx, file, p.tokenFormat)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", p.name("tokens"), err)
		}
		return d, bytes, nil
	})
	if err != nil {
		return nil, err
	}
	return kept.(dictionary), nil
}

// readDictionary reads the terms of a partition in one of two formats: "fst", an automaton in one row, or
// "arrow", a row per term. It also returns the size in bytes.
func readDictionary(ctx context.Context, file *datafile.File, format string) (dictionary, int64, error) {
	switch format {
	case "fst":
		c, err := index.ColumnsOf(ctx, file, "_token_fst_bytes")
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
		a, err := newAutomaton(bytes.Value(0))
		return a, int64(len(bytes.Value(0))), err
	case "", "arrow":
		return readSorted(ctx, file)
	}
	return nil, 0, fmt.Errorf("%w: terms in the form %q", lance.ErrUnsupported, format)
}

// sorted is a dictionary of an early form: terms in their order, with their numbers.
type sorted struct {
	terms   *array.String
	numbers []uint32
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
	return &sorted{terms: terms, numbers: numbers.Uint32Values()}, int64(terms.Data().SizeInBytes() + numbers.Data().SizeInBytes()), nil
}

// get finds a term by binary search, and returns its number.
func (s *sorted) get(term string) (uint64, bool, error) {
	low, high := 0, s.terms.Len()
	for low < high {
		middle := (low + high) / 2
		if s.terms.Value(middle) < term {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == s.terms.Len() || s.terms.Value(low) != term {
		return 0, false, nil
	}
	return uint64(s.numbers[low]), true, nil
}

// each yields the terms in order.
func (s *sorted) each(ctx context.Context, yield func(term []byte) error) error {
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
