package sqlexpr

import (
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/column"
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
func (p *probing) of(n *node) (used []Probe, all bool) {
	switch n.op {
	case opAnd:
		left, allOfLeft := p.of(n.args[0])
		right, allOfRight := p.of(n.args[1])
		return append(left, right...), allOfLeft && allOfRight
	case opOr:
		left, allOfLeft := p.of(n.args[0])
		right, allOfRight := p.of(n.args[1])
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
func (p *probing) probe(n *node) (probe *Probe, partly bool) {
	switch n.op {
	case opNot:
		if probe, partly = p.probe(n.args[0]); probe == nil || partly {
			return nil, false
		}
		probe.Not = !probe.Not
		return probe, false
	case opCol, opMember:
		return p.on(n, ProbeEqual), false // a bool that is to be true
	case opIsTrue, opIsFalse:
		if n.not {
			return nil, false
		}
		return p.on(n.args[0], ProbeEqual), false
	case opIsNull:
		if call := n.args[0]; n.not && call.op == opCall && call.fn.name == "regexp_match" {
			return p.regexp(call), false
		}
		return p.on(n.args[0], ProbeNull).not(n.not), false
	case opEq, opNe:
		return p.comparison(n, ProbeEqual).not(n.op == opNe), false
	case opLt, opLe, opGt, opGe:
		return p.comparison(n, ProbeRange), false
	case opIn:
		if !areValues(n.args[1:]) {
			return nil, false
		}
		return p.on(n.args[0], ProbeEqual).not(n.not), false
	case opLike:
		return p.like(n)
	case opCall:
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
func (p *probing) on(n *node, test ProbeTest) *Probe {
	var path []string
	for ; n.op == opMember; n = n.args[0] {
		of, ok := n.args[0].typ.(*arrow.StructType)
		if !ok {
			return nil
		}
		path = append([]string{of.Field(n.index).Name}, path...)
	}
	if n.op != opCol {
		return nil
	}
	return &Probe{Column: append([]string{p.schema.Field(n.index).Name}, path...), Test: test}
}

func (p *probing) comparison(n *node, test ProbeTest) *Probe {
	for i, x := range n.args {
		if areValues(n.args[1-i : 2-i]) {
			return p.on(x, test)
		}
	}
	return nil
}

// areValues says whether all nodes are literals that are not NULL.
func areValues(nodes []*node) bool {
	for _, n := range nodes {
		if n.op != opLit || n.val.IsNull(0) {
			return false
		}
	}
	return true
}

// call returns the probe that is a call of a function on a column and a literal.
func (p *probing) call(n *node) *Probe {
	if n.fn.name == "regexp_like" {
		if len(n.args) == 2 || isText(n.args[2], "") || isText(n.args[2], "i") {
			return nil
		}
		return p.regexp(n)
	}
	if len(n.args) != 2 || !areValues(n.args[1:]) {
		return nil
	}
	switch n.fn.name {
	case "array_has":
		return p.on(n.args[0], ProbeElements)
	case "array_has_any", "array_has_all":
		if list := n.args[1].val.Data.(column.Lists); list.Off[0] == list.Off[1] {
			return nil
		}
		return p.on(n.args[0], ProbeElements)
	case "contains":
		probe := p.on(n.args[0], ProbeContains)
		if probe != nil {
			probe.Characters = utf8.RuneCount(n.args[1].val.Data.(column.Text).At(0))
		}
		return probe
	case "contains_tokens":
		return p.on(n.args[0], ProbeTokens)
	}
	return nil
}
