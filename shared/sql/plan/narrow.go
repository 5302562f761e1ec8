package plan

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/pruning"
	"tiltyard/shared/sql/rustregex"
)

// Narrow returns how indices narrow a filter down to some rows, or nil if they do not help.
// all reports whether every row of the answer passes the filter. Narrow calls answer once
// for each probe, for the use of an index.
//
// The parts of a filter that are left to indices are native Lance's choice: of parts joined
// by AND, all that an index can answer; of parts joined by OR, both or none; and of a LIKE
// that is more than a prefix, nothing inside of an OR.
func (b *Bound) Narrow(answer func(pruning.Probe) pruning.Answer) (n *pruning.Tree, all bool) {
	p := probing{schema: b.schema, answer: answer}
	return p.of(b.root)
}

// trueLiteral is the constant of a probe for a column of type bool that is a filter by
// itself.
var trueLiteral = expr.Literal(column.BoolConstant(true), 0)

// probing derives probes from the nodes of a filter. answer selects the probes that some index answers.
type probing struct {
	schema *arrow.Schema
	answer func(pruning.Probe) pruning.Answer
}

// of returns the narrowing of a condition, and whether it covers the whole condition.
func (p *probing) of(n *expr.Node) (used *pruning.Tree, all bool) {
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
		return &pruning.Tree{All: []*pruning.Tree{left, right}}, allOfLeft && allOfRight
	case expr.OpOr:
		left, allOfLeft := p.of(n.Args[0])
		right, allOfRight := p.of(n.Args[1])
		if !allOfLeft || !allOfRight {
			return nil, false
		}
		return &pruning.Tree{Any: []*pruning.Tree{left, right}}, true
	}
	probe, partly := p.probe(n)
	if probe == nil {
		return nil, false
	}
	switch p.answer(*probe) {
	case pruning.Answers:
		return &pruning.Tree{Probe: *probe}, !partly
	case pruning.Narrows:
		return &pruning.Tree{Probe: *probe}, false
	}
	return nil, false
}

// probe returns the probe for a condition, or nil. With partly, the probe covers a part of
// a LIKE and finds more rows than the condition.
func (p *probing) probe(n *expr.Node) (probe *pruning.Probe, partly bool) {
	switch n.Op {
	case expr.OpNot:
		if probe, partly = p.probe(n.Args[0]); probe == nil || partly {
			return nil, false
		}
		probe.Not = !probe.Not
		return probe, false
	case expr.OpCol, expr.OpMember:
		return against(p.on(n, pruning.Equal), trueLiteral), false // a bool that is to be true
	case expr.OpIsTrue, expr.OpIsFalse:
		if n.Not {
			return nil, false
		}
		probe = against(p.on(n.Args[0], pruning.Equal), expr.Literal(column.BoolConstant(n.Op == expr.OpIsTrue), n.Pos))
		if probe != nil {
			probe.NullIsFalse = true
		}
		return probe, false
	case expr.OpIsNull:
		if call := n.Args[0]; n.Not && call.Op == expr.OpCall && call.Func.Name == "regexp_match" {
			return p.regexp(call), false
		}
		return negated(n.Not, p.on(n.Args[0], pruning.Null)), false
	case expr.OpEq, expr.OpNe:
		return negated(n.Op == expr.OpNe, p.comparison(n, pruning.Equal)), false
	case expr.OpLt, expr.OpLe, expr.OpGt, expr.OpGe:
		return p.comparison(n, pruning.Range), false
	case expr.OpIn:
		if !areValues(n.Args[1:]) {
			return nil, false
		}
		return negated(n.Not, against(p.on(n.Args[0], pruning.Equal), n.Args[1:]...)), false
	case expr.OpLike:
		return p.like(n)
	case expr.OpCall:
		return p.call(n), false
	}
	return nil, false
}

// negated sets whether a probe selects the rows that fail its test.
func negated(not bool, p *pruning.Probe) *pruning.Probe {
	if p != nil {
		p.Not = not
	}
	return p
}

// on returns the probe of a column or of a struct member, or nil if n is something else.
func (p *probing) on(n *expr.Node, test pruning.Test) *pruning.Probe {
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
	return &pruning.Probe{Column: append([]string{p.schema.Field(n.Index).Name}, path...), Test: test}
}

// comparison returns the probe of a comparison of a column with a constant, on either side; for a constant
// on the left the direction is reversed.
func (p *probing) comparison(n *expr.Node, test pruning.Test) *pruning.Probe {
	for i, x := range n.Args {
		constant := n.Args[1-i]
		if !areValues([]*expr.Node{constant}) {
			continue
		}
		probe := against(p.on(x, test), constant)
		if probe != nil && test == pruning.Range {
			greater := n.Op == expr.OpGt || n.Op == expr.OpGe
			probe.Above, probe.Included = greater == (i == 0), n.Op == expr.OpGe || n.Op == expr.OpLe
		}
		return probe
	}
	return nil
}

// against sets the constants of a probe.
func against(p *pruning.Probe, constants ...*expr.Node) *pruning.Probe {
	if p == nil {
		return nil
	}
	if p.Type = constants[0].Type; column.IsList(p.Type) {
		p.Type = column.ElemType(p.Type)
	}
	for _, c := range constants {
		p.Values = append(p.Values, c.Value)
	}
	return p
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
func (p *probing) call(n *expr.Node) *pruning.Probe {
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
		return against(p.on(n.Args[0], pruning.Elements), n.Args[1])
	case "array_has_any", "array_has_all":
		if list := n.Args[1].Value.Data.(column.Lists); list.Off[0] == list.Off[1] {
			return nil
		}
		probe := against(p.on(n.Args[0], pruning.Elements), n.Args[1])
		if probe != nil {
			probe.Every = n.Func.Name == "array_has_all"
		}
		return probe
	case "contains":
		probe := p.on(n.Args[0], pruning.Contains)
		if probe != nil {
			probe.Text = string(n.Args[1].Value.Data.(column.Text).At(0))
			probe.Texts = rustregex.Literal(probe.Text)
		}
		return probe
	case "contains_tokens":
		probe := p.on(n.Args[0], pruning.Tokens)
		if probe != nil {
			probe.Texts = rustregex.Literal(string(n.Args[1].Value.Data.(column.Text).At(0)))
		}
		return probe
	}
	return nil
}
