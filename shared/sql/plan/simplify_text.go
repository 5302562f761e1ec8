package plan

import (
	"regexp"
	"slices"
	"strings"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/rustregex"
)

// Like DataFusion, the rules of this file rewrite tests of texts as LIKE, =, IN and others. These are
// faster, and determine which index is used.

var percentSigns = regexp.MustCompile("%%+")

// rewriteLike turns a pattern without wildcards into an equality, and joins successive
// percent signs.
func rewriteLike(n *expr.Node) *expr.Node {
	pattern, ok := constantText(n.Args[1])
	switch {
	case !ok || strings.Contains(pattern, `\`):
		return n
	case strings.Contains(pattern, "%%"):
		return n.With(n.Args[0], textLike(n, percentSigns.ReplaceAllString(pattern, "%")))
	case n.Fold || strings.ContainsAny(pattern, "%_"):
		return n
	}
	op := expr.OpEq
	if n.Not {
		op = expr.OpNe
	}
	return n.Binary(op, column.TypeBool, n.Args[0], n.Args[1])
}

// constantText returns the text of a non-NULL string literal.
func constantText(n *expr.Node) (s string, ok bool) {
	if n.Op != expr.OpLit || !column.IsString(n.Type) || n.IsNullLiteral() {
		return "", false
	}
	return string(n.Value.Data.(column.Text).At(0)), true
}

// textLike returns a literal of the same text type as n.
func textLike(n *expr.Node, s string) *expr.Node {
	return expr.Literal(column.TextConstant(n.Args[0].Type, s), n.Pos)
}

var likeEscapes = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)

// rewriteStartsWith turns starts_with into a LIKE.
func rewriteStartsWith(n *expr.Node) *expr.Node {
	begin, ok := constantText(n.Args[1])
	if !ok {
		return n
	}
	pattern := textLike(n, likeEscapes.Replace(begin)+"%")
	return &expr.Node{Op: expr.OpLike, Type: column.TypeBool, Args: []*expr.Node{n.Args[0], pattern}, Pos: n.Pos}
}

// maxAlternatives is the largest number of alternatives in a regular expression that become
// tests of their own.
const maxAlternatives = 4

// rewriteRegexpLike turns a regular expression of literals, without flags or only with i,
// into simpler tests.
func rewriteRegexpLike(n *expr.Node) *expr.Node {
	pattern, ok := constantText(n.Args[1])
	m := regexMatch{Node: n}
	if len(n.Args) == 3 {
		flags, isText := constantText(n.Args[2])
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
	if len(alternatives) > maxAlternatives || len(alternatives) > 1 && !n.Args[0].IsWithin(maxRepeatedNodes) {
		return n
	}
	var tests *expr.Node
	for _, re := range alternatives {
		switch test := m.test(re); {
		case test == nil:
			return n
		case tests == nil:
			tests = test
		default:
			tests = n.Binary(expr.OpOr, column.TypeBool, tests, test)
		}
	}
	if _, err := rustregex.Compile(pattern, ""); err != nil {
		return n // preparing the expression reports the error
	}
	return tests
}

// A regexMatch is a call of regexp_like with a constant expression.
type regexMatch struct {
	*expr.Node
	fold bool
}

// test returns the test that is equivalent to an expression, or nil.
func (m regexMatch) test(re *rustregex.Node) *expr.Node {
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

func (m regexMatch) like(pattern string) *expr.Node {
	return &expr.Node{Op: expr.OpLike, Type: column.TypeBool, Fold: m.fold, Args: []*expr.Node{m.Args[0], textLike(m.Node, pattern)}, Pos: m.Pos}
}

// contains returns a LIKE, or nil if the expression is not a literal or contains a character that is
// special in LIKE patterns. DataFusion overlooks the backslash, so that its LIKE finds different rows; this
// error is not repeated here.
func (m regexMatch) contains(before string, re *rustregex.Node, behind string) *expr.Node {
	if re.Kind != rustregex.KindLiteral || strings.ContainsAny(re.Text, `%_\`) {
		return nil
	}
	return m.like(before + re.Text + behind)
}

// equal returns an equality or, if case is ignored, a LIKE. A backslash is special in LIKE, so the latter
// returns nil for it.
func (m regexMatch) equal(s string) *expr.Node {
	if m.fold {
		if strings.Contains(s, `\`) {
			return nil
		}
		return m.like(s)
	}
	return m.Binary(expr.OpEq, column.TypeBool, m.Args[0], textLike(m.Node, s))
}

// in returns an IN test if the expression is an alternation of literals, or nil.
func (m regexMatch) in(re *rustregex.Node) *expr.Node {
	literals := []*rustregex.Node{re}
	if re.Kind == rustregex.KindAlternate {
		literals = re.Subs
	}
	if slices.ContainsFunc(literals, func(re *rustregex.Node) bool { return re.Kind != rustregex.KindLiteral }) {
		return nil
	}
	args := []*expr.Node{m.Args[0]}
	for _, re := range literals {
		args = append(args, textLike(m.Node, re.Text))
	}
	return &expr.Node{Op: expr.OpIn, Type: column.TypeBool, Args: args, Pos: m.Pos}
}
