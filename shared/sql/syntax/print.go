package syntax

import (
	"strconv"
	"strings"
)

// String prints the literal.
func (e *Number) String() string { return e.Text }

// String prints the literal in single quotes.
func (e *Text) String() string { return quote(e.Value, '\'') }

// String prints the literal as X'…'.
func (e *Bytes) String() string { return "X'" + e.Digits + "'" }

// String prints TRUE or FALSE.
func (e *Bool) String() string { return strings.ToUpper(strconv.FormatBool(e.Value)) }

// String prints NULL.
func (e *Null) String() string { return "NULL" }

// String prints the type and the string.
func (e *TypedText) String() string { return e.Type.String() + " " + quote(e.Value, '\'') }

// String prints INTERVAL and the string.
func (e *Interval) String() string { return "INTERVAL " + quote(e.Value, '\'') }

// String prints the path with dots, and names in backticks if they were written so.
func (e *Column) String() string {
	parts := make([]string, len(e.Path))
	for i, name := range e.Path {
		parts[i] = name.Text
		if name.Quoted {
			parts[i] = quote(name.Text, '`')
		}
	}
	return strings.Join(parts, ".")
}

// String prints x['name'].
func (e *Member) String() string { return operandString(e.X) + "[" + quote(e.Name, '\'') + "]" }

// String prints the operator and its operand.
func (e *Unary) String() string {
	if e.Op == Not {
		return "NOT " + childString(e.X, precNot)
	}
	switch e.X.(type) {
	case *Column, *Call, *Member:
		return "-" + e.X.String()
	}
	return "-(" + e.X.String() + ")"
}

// String returns the operands around the operator, in parentheses where necessary.
func (e *Binary) String() string {
	if e.Grouped {
		return "(" + e.body() + ")"
	}
	return e.body()
}

func (e *Binary) body() string {
	if e.Op == Distinct || e.Op == NotDistinct {
		return childString(e.L, precIs-1) + " " + string(e.Op) + " " + e.R.String()
	}
	prec := infix[string(e.Op)].prec
	return childString(e.L, prec-1) + " " + string(e.Op) + " " + childString(e.R, prec)
}

// String prints the test.
func (e *Is) String() string {
	return childString(e.X, precIs-1) + " IS " + notWord(e.Not) + string(e.Test)
}

// String prints the operand and the list.
func (e *In) String() string {
	return childString(e.X, precCompare-1) + " " + notWord(e.Not) + "IN (" + joinExprs(e.List) + ")"
}

// String prints the operand, but not the query.
func (e *InQuery) String() string {
	return childString(e.X, precCompare-1) + " " + notWord(e.Not) + "IN (SELECT …)"
}

// String prints the words, but not the query.
func (e *Exists) String() string { return notWord(e.Not) + "EXISTS (SELECT …)" }

// String prints parentheses around the query, but not the query.
func (e *Scalar) String() string { return "(SELECT …)" }

// String prints the operand and its bounds.
func (e *Between) String() string {
	return childString(e.X, precCompare-1) + " " + notWord(e.Not) + "BETWEEN " +
		childString(e.Low, precCompare) + " AND " + childString(e.High, precCompare)
}

// String prints the operand, the pattern and the escape character.
func (e *Like) String() string {
	op := "LIKE "
	if e.Fold {
		op = "ILIKE "
	}
	s := childString(e.X, precLike-1) + " " + notWord(e.Not) + op + childString(e.Pattern, precLike)
	if e.Escape != "" {
		s += " ESCAPE " + quote(e.Escape, '\'')
	}
	return s
}

// String prints the cast in its long form.
func (e *Cast) String() string {
	name := "CAST("
	if e.Try {
		name = "TRY_CAST("
	}
	return name + e.X.String() + " AS " + e.Type.String() + ")"
}

// String prints the name with its numbers, such as decimal(10, 2).
func (t TypeName) String() string {
	if len(t.Args) == 0 {
		return t.Name
	}
	args := make([]string, len(t.Args))
	for i, a := range t.Args {
		args[i] = strconv.Itoa(a)
	}
	// Numbers precede the words that follow a name.
	base, rest := t.Name, ""
	for _, suffix := range []string{" unsigned", " with time zone", " without time zone"} {
		if b, ok := strings.CutSuffix(t.Name, suffix); ok {
			base, rest = b, suffix
		}
	}
	return base + "(" + strings.Join(args, ", ") + ")" + rest
}

// String prints the branches.
func (e *Case) String() string {
	var b strings.Builder
	b.WriteString("CASE")
	if e.X != nil {
		b.WriteString(" (" + e.X.String() + ")")
	}
	for _, w := range e.Whens {
		b.WriteString(" WHEN " + w.Cond.String() + " THEN " + w.Then.String())
	}
	if e.Else != nil {
		b.WriteString(" ELSE " + e.Else.String())
	}
	return b.String() + " END"
}

// String prints the name and the arguments.
func (e *Call) String() string {
	args := joinExprs(e.Args)
	switch {
	case e.Star:
		args = "*"
	case e.Distinct:
		args = "DISTINCT " + args
	}
	text := e.Name + "(" + args + ")"
	if e.Filter != nil {
		text += " FILTER (WHERE " + e.Filter.String() + ")"
	}
	return text
}

// String prints the elements in brackets.
func (e *Array) String() string { return "[" + joinExprs(e.Elems) + "]" }

// precedenceOf returns the precedence of the outermost operator of e.
func precedenceOf(e Expr) precedence {
	switch e := e.(type) {
	case *Unary:
		if e.Op == Not {
			return precNot
		}
		return precProduct
	case *Exists:
		if e.Not {
			return precNot
		}
	case *Binary:
		if e.Grouped {
			return precCast + 1
		}
		if e.Op == Distinct || e.Op == NotDistinct {
			return precNone // its right side has no end
		}
		return infix[string(e.Op)].prec
	case *Is:
		return precIs
	case *In, *InQuery, *Between:
		return precCompare
	case *Like:
		return precLike
	}
	return precCast + 1
}

// childString prints e as an operand of an operator: in parentheses unless it binds more
// strongly than outer.
func childString(e Expr, outer precedence) string {
	if precedenceOf(e) <= outer {
		return "(" + e.String() + ")"
	}
	return e.String()
}

// operandString prints e in a form that any text may precede or follow.
func operandString(e Expr) string {
	if n, ok := e.(*Number); ok && strings.HasPrefix(n.Text, "-") {
		return "(" + n.Text + ")"
	}
	return childString(e, precCast)
}

func joinExprs(list []Expr) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = e.String()
	}
	return strings.Join(parts, ", ")
}

func notWord(not bool) string {
	if not {
		return "NOT "
	}
	return ""
}

func quote(s string, q byte) string {
	return string(q) + strings.ReplaceAll(s, string(q), string(q)+string(q)) + string(q)
}
