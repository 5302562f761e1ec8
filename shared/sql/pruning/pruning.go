// Package pruning describes the conditions of a filter that indices may test. Package plan extracts a
// [Tree] from a filter, and each kind of index selects the [Probe]s that it can answer.
package pruning

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/meter"
	"tiltyard/shared/sql/rustregex"
)

// A Probe is a test of one column against constants, as part of a filter. An index of the
// column may be able to answer it.
type Probe struct {
	// Column is the name of the column, followed by the names of struct members.
	Column []string
	Test   Test
	// Not negates the test.
	Not bool
	// NullIsFalse means that the test is false for NULL, like IS TRUE. All other tests except Null return
	// NULL for NULL, so that the row passes neither the test nor its negation.
	NullIsFalse bool
	// Text is the text that Contains searches for.
	Text string
	// Above is, for Range, true if the values lie above the constant. Included is true if the constant
	// itself is in the range.
	Above, Included bool
	// Prefix is the beginning of the texts, for Prefix.
	Prefix string
	// Every means, for Elements, that a list must contain all constants instead of at least one.
	Every bool

	Values []column.Vec    // the constants of Equal, Range and Elements; see Constants
	Type   arrow.DataType  // type of the constants; nil if there are none
	Texts  *rustregex.Node // texts that pass, for tests other than comparisons
}

// Need returns the pieces, such as trigrams or words, that every passing text contains, as far as native
// Lance determines them; nil if there are none. pieces cuts a text into the pieces of an index.
func (p Probe) Need(pieces func(text string) []string) *rustregex.Need {
	if p.Texts == nil {
		return nil
	}
	return p.Texts.Need(pieces)
}

// Test is the kind of a probe's test.
type Test uint8

// The kinds of tests.
const (
	Equal    Test = iota // equal to one of the constants, which are not NULL
	Range                // below or above a constant
	Null                 // IS NULL
	Elements             // a list has at least one, or all, of some elements
	Prefix               // how a text begins
	Pattern              // LIKE with anything before, within or behind the text
	Regexp               // a regular expression
	Contains             // a piece of a text
	Tokens               // contains_tokens
)

// Answer is the use of an index for a probe.
type Answer uint8

// The answers.
const (
	Open    Answer = iota // nothing
	Narrows               // it finds the rows and possibly others, so the filter must test them again
	Answers               // it finds just the rows
)

// A Tree is a superset condition of a filter in terms of probes: every row that passes the filter is among
// the rows of the answer. It is one probe, or several combined by AND or OR.
type Tree struct {
	Probe Probe   // when nothing is joined
	All   []*Tree // by AND
	Any   []*Tree // by OR
}

// Probes returns all probes of a tree; a nil tree has none.
func (n *Tree) Probes() []Probe {
	switch {
	case n == nil:
		return nil
	case len(n.All)+len(n.Any) == 0:
		return []Probe{n.Probe}
	}
	var probes []Probe
	for _, part := range append(n.All[:len(n.All):len(n.All)], n.Any...) {
		probes = append(probes, part.Probes()...)
	}
	return probes
}

// Constants returns the values of Equal, the bound of Range, or the elements of Elements: at least one
// value, all of one type. An element may be NULL only if there are several. It returns nil for other
// probes.
func (p Probe) Constants(ctx context.Context) (arrow.Array, error) {
	m := meter.Unshared(ctx)
	values := make([]arrow.Array, len(p.Values))
	for i, v := range p.Values {
		var err error
		if values[i], err = v.Array(m, 1); err != nil {
			return nil, err
		}
	}
	switch len(values) {
	case 0:
		return nil, nil
	case 1:
		if list, ok := values[0].(array.ListLike); ok {
			from, to := list.ValueOffsets(0)
			return array.NewSlice(list.ListValues(), from, to), nil
		}
		return values[0], nil
	}
	return array.Concatenate(values, memory.DefaultAllocator)
}
