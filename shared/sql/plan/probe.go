package plan

import (
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/expr"
	"tiltyard/shared/sql/rustregex"
)

// A Probe is a test of one column within a filter, against constants: what an index of the
// column may know the answer to.
type Probe struct {
	// Column is the name of the column, followed by those of members of structs.
	Column []string
	Test   ProbeTest
	// Not says that the rows are wanted for which the test is false.
	Not bool
	// Characters is how many a ProbeContains asks for.
	Characters int
	texts      *rustregex.Node // what texts pass that are not only asked where they are in the order
}

// Needs says whether each text that passes the test has a piece that an index of such pieces
// knows, as far as native Lance finds out. known says whether the index knows a piece of a
// text. Of a ProbeContains nothing is found out.
func (p Probe) Needs(known func(text string) bool) bool {
	return p.texts != nil && p.texts.NeedsKnown(known)
}

// ProbeTest is the kind of test that a probe makes.
type ProbeTest uint8

// The kinds of tests.
const (
	ProbeEqual    ProbeTest = iota // to one of some values, none of them NULL
	ProbeRange                     // below or above a value
	ProbeNull                      // IS NULL
	ProbeElements                  // that a list has one of some elements, or all
	ProbePrefix                    // how a text begins
	ProbePattern                   // LIKE with anything before, within or behind the text
	ProbeRegexp                    // a regular expression
	ProbeContains                  // a piece of a text
	ProbeTokens                    // contains_tokens
)

// A ProbeAnswer is what an index does for a probe.
type ProbeAnswer uint8

// The answers.
const (
	ProbeOpen    ProbeAnswer = iota // nothing
	ProbeNarrows                    // it finds the rows, and others which the filter must still test
	ProbeAnswers                    // it finds just the rows
)

// Probes returns the probes by which indices narrow a filter down to some rows: outside of
// those, no row passes. There are none when indices do not help. What an index does is
// asked of answer, once for each probe.
//
// Which parts of a filter are left to indices is native Lance's choice: all that it can use
// of those joined by AND, either both or none of those joined by OR, and of a LIKE that is
// more than a prefix nothing within an OR.
func (b *Bound) Probes(answer func(Probe) ProbeAnswer) []Probe {
	p := probing{schema: b.schema, answer: answer}
	used, _ := p.of(b.root)
	return used
}

type probing struct {
	schema *arrow.Schema
	answer func(Probe) ProbeAnswer
}

// of returns the probes that are used of a condition, and whether they are all of it.
func (p *probing) of(n *expr.Node) (used []Probe, all bool) {
	switch n.Op {
	case expr.OpAnd:
		left, allOfLeft := p.of(n.Args[0])
		right, allOfRight := p.of(n.Args[1])
		return append(left, right...), allOfLeft && allOfRight
	case expr.OpOr:
		left, allOfLeft := p.of(n.Args[0])
		right, allOfRight := p.of(n.Args[1])
		if !allOfLeft || !allOfRight {
			return nil, false
		}
		return append(left, right...), true
	}
	probe, partly := p.probe(n)
	if probe == nil {
		return nil, false
	}
	switch p.answer(*probe) {
	case ProbeAnswers:
		return []Probe{*probe}, !partly
	case ProbeNarrows:
		return []Probe{*probe}, false
	}
	return nil, false
}

// probe returns the probe that a condition is, or nil. One that is made in part of a LIKE
// finds more rows than the condition.
func (p *probing) probe(n *expr.Node) (probe *Probe, partly bool) {
	switch n.Op {
	case expr.OpNot:
		if probe, partly = p.probe(n.Args[0]); probe == nil || partly {
			return nil, false
		}
		probe.Not = !probe.Not
		return probe, false
	case expr.OpCol, expr.OpMember:
		return p.on(n, ProbeEqual), false // a bool that is to be true
	case expr.OpIsTrue, expr.OpIsFalse:
		if n.Not {
			return nil, false
		}
		return p.on(n.Args[0], ProbeEqual), false
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
		return p.on(n.Args[0], ProbeEqual).not(n.Not), false
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

// on returns the probe of a column or a member of one, or nil when n is something else.
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
		if areValues(n.Args[1-i : 2-i]) {
			return p.on(x, test)
		}
	}
	return nil
}

// areValues says whether all nodes are literals that are not NULL.
func areValues(nodes []*expr.Node) bool {
	for _, n := range nodes {
		if n.Op != expr.OpLit || n.Value.IsNull(0) {
			return false
		}
	}
	return true
}

// call returns the probe that is a call of a function on a column and a literal.
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
		return p.on(n.Args[0], ProbeElements)
	case "array_has_any", "array_has_all":
		if list := n.Args[1].Value.Data.(column.Lists); list.Off[0] == list.Off[1] {
			return nil
		}
		return p.on(n.Args[0], ProbeElements)
	case "contains":
		probe := p.on(n.Args[0], ProbeContains)
		if probe != nil {
			probe.Characters = utf8.RuneCount(n.Args[1].Value.Data.(column.Text).At(0))
		}
		return probe
	case "contains_tokens":
		return p.on(n.Args[0], ProbeTokens)
	}
	return nil
}
