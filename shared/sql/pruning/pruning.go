// Package pruning describes the conditions of a filter that indices may test: package plan makes a [Tree] of them, and
// kinds of indices choose their [Probe]s.
package pruning

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
	"tiltyard/shared/sql/rustregex"
)

// A Probe is a test of one column against constants, as part of a filter. An index of the
// column may be able to answer it.
type Probe struct {
	// Column is the name of the column, followed by the names of struct members.
	Column []string
	Test   Test
	// Not means that the rows are wanted for which the test is false.
	Not bool
	// NullIsFalse means that the test is false for NULL, like IS TRUE. All other tests but
	// Null are NULL for it, so that the row passes neither the test nor its opposite.
	NullIsFalse bool
	// Text is the text that Contains searches for.
	Text string
	// Above is, for Range, the side of its constant on which the values lie, and
	// Included whether the constant is one of them.
	Above, Included bool
	// Prefix is the beginning of the texts, for Prefix.
	Prefix string
	// Every means, for Elements, that a list has each of the constants, and not just one.
	Every bool

	Values []column.Vec    // the constants of Equal, Range and Elements; see Constants
	Type   arrow.DataType  // of the constants; nil if there are none
	Texts  *rustregex.Node // what texts pass that are not only asked where they are in the order
}

// Need returns what each text contains that passes the test, in pieces of texts that an index knows,
// as far as native Lance determines this; nil if that is nothing. pieces returns the pieces of a text,
// which are words for Tokens.
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
	Equal    Test = iota // to one of the constants, none of them NULL
	Range                // below or above a constant
	Null                 // IS NULL
	Elements             // that a list has one of some elements, or all
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
	Narrows               // it finds the rows, and others which the filter must still test
	Answers               // it finds just the rows
)

// A Tree is a set of probes that indices can answer for a filter: every row that
// passes the filter is among the rows of the answer. It is one probe, or several joined by
// AND or by OR.
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

// Constants returns the values of Equal, the bound of Range, or the elements of
// Elements: at least one value, all of one type. None is NULL but among several elements. It is
// nil for other probes.
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
