package plan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/expr"
	"tiltyard/shared/sql/meter"
	"tiltyard/shared/sql/rustregex"
)

// A Probe is a test of one column against constants, as part of a filter. An index of the
// column may be able to answer it.
type Probe struct {
	// Column is the name of the column, followed by the names of struct members.
	Column []string
	Test   ProbeTest
	// Not means that the rows are wanted for which the test is false.
	Not bool
	// NullIsFalse means that the test is false for NULL, like IS TRUE. All other tests but
	// ProbeNull are NULL for it, so that the row passes neither the test nor its opposite.
	NullIsFalse bool
	// Text is the text that a ProbeContains searches for.
	Text string
	// Above is, for a ProbeRange, the side of its constant on which the values lie, and
	// Included whether the constant is one of them.
	Above, Included bool
	// Prefix is the beginning of the texts for a ProbePrefix.
	Prefix string
	// Every means, for a ProbeElements, that a list has each of the constants, and not just one.
	Every bool

	constants []*expr.Node    // of a ProbeEqual and a ProbeRange
	texts     *rustregex.Node // what texts pass that are not only asked where they are in the order
}

// Need returns what each text contains that passes the test, in pieces of texts that an index knows,
// as far as native Lance determines this; nil if that is nothing. pieces returns the pieces of a text,
// which are words for a ProbeTokens.
func (p Probe) Need(pieces func(text string) []string) *rustregex.Need {
	if p.texts == nil {
		return nil
	}
	return p.texts.Need(pieces)
}

// ProbeTest is the kind of a probe's test.
type ProbeTest uint8

// The kinds of tests.
const (
	ProbeEqual    ProbeTest = iota // to one of the constants, none of them NULL
	ProbeRange                     // below or above a constant
	ProbeNull                      // IS NULL
	ProbeElements                  // that a list has one of some elements, or all
	ProbePrefix                    // how a text begins
	ProbePattern                   // LIKE with anything before, within or behind the text
	ProbeRegexp                    // a regular expression
	ProbeContains                  // a piece of a text
	ProbeTokens                    // contains_tokens
)

// ProbeAnswer is the use of an index for a probe.
type ProbeAnswer uint8

// The answers.
const (
	ProbeOpen    ProbeAnswer = iota // nothing
	ProbeNarrows                    // it finds the rows, and others which the filter must still test
	ProbeAnswers                    // it finds just the rows
)

// A Narrowing is a set of probes that indices can answer for a filter: every row that
// passes the filter is among the rows of the answer. It is one probe, or several joined by
// AND or by OR.
type Narrowing struct {
	Probe Probe        // when nothing is joined
	All   []*Narrowing // by AND
	Any   []*Narrowing // by OR
}

// Probes returns all probes of a narrowing; a nil narrowing has none.
func (n *Narrowing) Probes() []Probe {
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

// Narrow returns how indices narrow a filter down to some rows, or nil if they do not help.
// all reports whether every row of the answer passes the filter. Narrow calls answer once
// for each probe, for the use of an index.
//
// The parts of a filter that are left to indices are native Lance's choice: of parts joined
// by AND, all that an index can answer; of parts joined by OR, both or none; and of a LIKE
// that is more than a prefix, nothing inside of an OR.
func (b *Bound) Narrow(answer func(Probe) ProbeAnswer) (n *Narrowing, all bool) {
	p := probing{schema: b.schema, answer: answer}
	return p.of(b.root)
}

// trueLiteral is the constant of a probe for a column of type bool that is a filter by
// itself.
var trueLiteral = expr.Literal(column.BoolConstant(true), 0)

type probing struct {
	schema *arrow.Schema
	answer func(Probe) ProbeAnswer
}

// of returns the narrowing of a condition, and whether it covers the whole condition.
func (p *probing) of(n *expr.Node) (used *Narrowing, all bool) {
	switch n.Op {
	case expr.OpAnd:
		left, allOfLeft := p.of(n.Args[0])
		right, allOfRight := p.of(n.Args[1])
		switch {
		case left == nil:
			return right, false
		case right == nil:
			return left, false
		}
		return &Narrowing{All: []*Narrowing{left, right}}, allOfLeft && allOfRight
	case expr.OpOr:
		left, allOfLeft := p.of(n.Args[0])
		right, allOfRight := p.of(n.Args[1])
		if !allOfLeft || !allOfRight {
			return nil, false
		}
		return &Narrowing{Any: []*Narrowing{left, right}}, true
	}
	probe, partly := p.probe(n)
	if probe == nil {
		return nil, false
	}
	switch p.answer(*probe) {
	case ProbeAnswers:
		return &Narrowing{Probe: *probe}, !partly
	case ProbeNarrows:
		return &Narrowing{Probe: *probe}, false
	}
	return nil, false
}

// probe returns the probe for a condition, or nil. With partly, the probe covers a part of
// a LIKE and finds more rows than the condition.
func (p *probing) probe(n *expr.Node) (probe *Probe, partly bool) {
	switch n.Op {
	case expr.OpNot:
		if probe, partly = p.probe(n.Args[0]); probe == nil || partly {
			return nil, false
		}
		probe.Not = !probe.Not
		return probe, false
	case expr.OpCol, expr.OpMember:
		return p.on(n, ProbeEqual).to(trueLiteral), false // a bool that is to be true
	case expr.OpIsTrue, expr.OpIsFalse:
		if n.Not {
			return nil, false
		}
		probe = p.on(n.Args[0], ProbeEqual).to(expr.Literal(column.BoolConstant(n.Op == expr.OpIsTrue), n.Pos))
		if probe != nil {
			probe.NullIsFalse = true
		}
		return probe, false
	case expr.OpIsNull:
		if call := n.Args[0]; n.Not && call.Op == expr.OpCall && call.Func.Name == "regexp_match" {
			return p.regexp(call), false
		}
		return p.on(n.Args[0], ProbeNull).not(n.Not), false
	case expr.OpEq, expr.OpNe:
		return p.comparison(n, ProbeEqual).not(n.Op == expr.OpNe), false
	case expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
		return p.comparison(n, ProbeRange), false
	case expr.OpIn:
		if !areValues(n.Args[1:]) {
			return nil, false
		}
		return p.on(n.Args[0], ProbeEqual).to(n.Args[1:]...).not(n.Not), false
	case expr.OpLike:
		return p.like(n)
	case expr.OpCall:
		return p.call(n), false
	}
	return nil, false
}

func (p *Probe) not(not bool) *Probe {
	if p != nil {
		p.Not = not
	}
	return p
}

// on returns the probe of a column or of a struct member, or nil if n is something else.
func (p *probing) on(n *expr.Node, test ProbeTest) *Probe {
	var path []string
	for ; n.Op == expr.OpMember; n = n.Args[0] {
		of, ok := n.Args[0].Type.(*arrow.StructType)
		if !ok {
			return nil
		}
		path = append([]string{of.Field(n.Index).Name}, path...)
	}
	if n.Op != expr.OpCol {
		return nil
	}
	return &Probe{Column: append([]string{p.schema.Field(n.Index).Name}, path...), Test: test}
}

func (p *probing) comparison(n *expr.Node, test ProbeTest) *Probe {
	for i, x := range n.Args {
		constant := n.Args[1-i]
		if !areValues([]*expr.Node{constant}) {
			continue
		}
		probe := p.on(x, test).to(constant)
		if probe != nil && test == ProbeRange {
			greater := n.Op == expr.OpGt || n.Op == expr.OpGe
			probe.Above, probe.Included = greater == (i == 0), n.Op == expr.OpGe || n.Op == expr.OpLe
		}
		return probe
	}
	return nil
}

// to sets the constants of a probe.
func (p *Probe) to(constants ...*expr.Node) *Probe {
	if p != nil {
		p.constants = constants
	}
	return p
}

// Constants returns the values of a ProbeEqual, the bound of a ProbeRange, or the elements of a
// ProbeElements: at least one value, all of one type. None is NULL but among several elements. It is
// nil for other probes.
func (p Probe) Constants(ctx context.Context) (arrow.Array, error) {
	m := meter.Unshared(ctx)
	values := make([]arrow.Array, len(p.constants))
	for i, c := range p.constants {
		var err error
		if values[i], err = c.Value.Array(m, 1); err != nil {
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

// Type returns the type of the constants, or nil if there are none.
func (p Probe) Type() arrow.DataType {
	if len(p.constants) == 0 {
		return nil
	}
	if t := p.constants[0].Type; column.IsList(t) {
		return column.ElemType(t)
	}
	return p.constants[0].Type
}

// areValues reports whether all nodes are literals that are not NULL.
func areValues(nodes []*expr.Node) bool {
	for _, n := range nodes {
		if n.Op != expr.OpLit || n.Value.IsNull(0) {
			return false
		}
	}
	return true
}

// call returns the probe for a call of a function on a column and a literal.
func (p *probing) call(n *expr.Node) *Probe {
	if n.Func.Name == "regexp_like" {
		if len(n.Args) == 2 || expr.IsText(n.Args[2], "") || expr.IsText(n.Args[2], "i") {
			return nil
		}
		return p.regexp(n)
	}
	if len(n.Args) != 2 || !areValues(n.Args[1:]) {
		return nil
	}
	switch n.Func.Name {
	case "array_has":
		return p.on(n.Args[0], ProbeElements).to(n.Args[1])
	case "array_has_any", "array_has_all":
		if list := n.Args[1].Value.Data.(column.Lists); list.Off[0] == list.Off[1] {
			return nil
		}
		probe := p.on(n.Args[0], ProbeElements).to(n.Args[1])
		if probe != nil {
			probe.Every = n.Func.Name == "array_has_all"
		}
		return probe
	case "contains":
		probe := p.on(n.Args[0], ProbeContains)
		if probe != nil {
			probe.Text = string(n.Args[1].Value.Data.(column.Text).At(0))
			probe.texts = rustregex.Literal(probe.Text)
		}
		return probe
	case "contains_tokens":
		probe := p.on(n.Args[0], ProbeTokens)
		if probe != nil {
			probe.texts = rustregex.Literal(string(n.Args[1].Value.Data.(column.Text).At(0)))
		}
		return probe
	}
	return nil
}
