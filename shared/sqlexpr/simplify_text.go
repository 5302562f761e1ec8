package sqlexpr

import (
	"regexp"
	"slices"
	"strings"

	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/rustregex"
)

// Tests of texts become LIKE, =, IN and others where DataFusion makes them so: which index
// helps depends on it, and they are quicker.

var percentSigns = regexp.MustCompile("%%+")

// rewriteLike makes an equality of a pattern without wildcards, and one percent sign of
// several.
func rewriteLike(n *node) *node {
	pattern, ok := constantText(n.args[1])
	switch {
	case !ok || strings.Contains(pattern, `\`):
		return n
	case strings.Contains(pattern, "%%"):
		return n.with(n.args[0], textLike(n, percentSigns.ReplaceAllString(pattern, "%")))
	case n.fold || strings.ContainsAny(pattern, "%_"):
		return n
	}
	op := opEq
	if n.not {
		op = opNe
	}
	return n.binary(op, column.TypeBool, n.args[0], n.args[1])
}

// constantText returns the text that a node always is, which is not NULL.
func constantText(n *node) (s string, ok bool) {
	if n.op != opLit || !column.IsString(n.typ) || n.isNullLiteral() {
		return "", false
	}
	return string(n.val.Data.(column.Text).At(0)), true
}

// textLike makes a literal of the type of the text that n tests.
func textLike(n *node, s string) *node {
	return literal(column.TextConstant(n.args[0].typ, s), n.pos)
}

var likeEscapes = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)

// rewriteStartsWith makes a LIKE.
func rewriteStartsWith(n *node) *node {
	begin, ok := constantText(n.args[1])
	if !ok {
		return n
	}
	pattern := textLike(n, likeEscapes.Replace(begin)+"%")
	return &node{op: opLike, typ: column.TypeBool, args: []*node{n.args[0], pattern}, pos: n.pos}
}

// maxAlternatives is how many alternatives of a regular expression become tests of their own.
const maxAlternatives = 4

// rewriteRegexpLike makes simpler tests of an expression of literals, without flags or with
// i alone.
func rewriteRegexpLike(n *node) *node {
	pattern, ok := constantText(n.args[1])
	m := regexMatch{node: n}
	if len(n.args) == 3 {
		flags, isText := constantText(n.args[2])
		m.fold = flags == "i"
		ok = ok && isText && (m.fold || flags == "")
	}
	if !ok {
		return n
	}
	re, err := rustregex.Parse(pattern, "")
	if err != nil {
		return n
	}
	alternatives := []*rustregex.Node{re}
	if re.Kind == rustregex.KindAlternate {
		alternatives = re.Subs
	}
	if len(alternatives) > maxAlternatives || len(alternatives) > 1 && !n.args[0].isWithin(maxRepeatedNodes) {
		return n
	}
	var tests *node
	for _, re := range alternatives {
		switch test := m.test(re); {
		case test == nil:
			return n
		case tests == nil:
			tests = test
		default:
			tests = n.binary(opOr, column.TypeBool, tests, test)
		}
	}
	if _, err := rustregex.Compile(pattern, ""); err != nil {
		return n // which is told when the expression is prepared
	}
	return tests
}

// A regexMatch is a call of regexp_like of which the expression is known.
type regexMatch struct {
	*node
	fold bool
}

// test returns the test that says the same as an expression, or nil.
func (m regexMatch) test(re *rustregex.Node) *node {
	parts := []*rustregex.Node{re}
	if re.Kind == rustregex.KindConcat {
		parts = re.Subs
	}
	isAt := func(i int, look string) bool { return parts[i].Kind == rustregex.KindLook && parts[i].Look == look }
	last := len(parts) - 1
	begins, ends := isAt(0, "^"), isAt(last, "$")
	switch {
	case re.Kind == rustregex.KindEmpty:
		return m.like("%")
	case len(parts) == 1:
		return m.contains("%", re, "%")
	case begins && ends && last == 1:
		return m.equal("")
	case begins && ends && last == 2 && parts[1].Kind == rustregex.KindLiteral:
		if strings.ContainsAny(parts[1].Text, "%_") {
			return nil
		}
		return m.equal(parts[1].Text)
	case begins && ends && last == 2 && parts[1].Kind == rustregex.KindGroup && !m.fold:
		return m.in(parts[1].Subs[0])
	case begins && last == 1:
		return m.contains("", parts[1], "%")
	case ends && last == 1:
		return m.contains("%", parts[0], "")
	}
	return nil
}

func (m regexMatch) like(pattern string) *node {
	return &node{op: opLike, typ: column.TypeBool, fold: m.fold, args: []*node{m.args[0], textLike(m.node, pattern)}, pos: m.pos}
}

// contains returns a LIKE, or nil if the expression is no literal or has a special meaning
// in patterns. DataFusion forgets about the backslash, and has LIKE then find other rows
// than the expression.
func (m regexMatch) contains(before string, re *rustregex.Node, behind string) *node {
	if re.Kind != rustregex.KindLiteral || strings.ContainsAny(re.Text, `%_\`) {
		return nil
	}
	return m.like(before + re.Text + behind)
}

func (m regexMatch) equal(s string) *node {
	if m.fold {
		if strings.Contains(s, `\`) {
			return nil
		}
		return m.like(s)
	}
	return m.binary(opEq, column.TypeBool, m.args[0], textLike(m.node, s))
}

// in returns the test for one of some literals, nil if they are something else.
func (m regexMatch) in(re *rustregex.Node) *node {
	literals := []*rustregex.Node{re}
	if re.Kind == rustregex.KindAlternate {
		literals = re.Subs
	}
	if slices.ContainsFunc(literals, func(re *rustregex.Node) bool { return re.Kind != rustregex.KindLiteral }) {
		return nil
	}
	args := []*node{m.args[0]}
	for _, re := range literals {
		args = append(args, textLike(m.node, re.Text))
	}
	return &node{op: opIn, typ: column.TypeBool, args: args, pos: m.pos}
}
