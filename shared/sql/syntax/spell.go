package syntax

import (
	"slices"
	"strings"

	"tiltyard/shared/sql"
)

// A role is the syntactic role of a token. The parser sets it where the token alone does not determine its
// spelling.
type role uint8

const (
	plain   role = iota // a name, a literal, an infix operator or a bracket
	keyword             // AND, CASE, NULL, units of time
	form                // a keyword or type that parentheses may follow: CAST, TRIM, decimal
	truth               // TRUE and FALSE
	isNot               // the NOT of x NOT NULL
	prefix              // the minus sign
	tight               // an operator without blanks around: ::, the bracket after an operand, the comma of decimal(10,2)
	long                // a number with L at its end
)

// spell writes the tokens of an expression in the spelling of native LanceDB: one blank between words,
// keywords and types in upper case, parentheses unchanged.
//
// It refuses a string in which a quote follows another quote or a backslash, because native LanceDB would
// store a different or unreadable string.
//
// Source: sqlparser 0.62, the Display of ast.Expr, and lancedb 0.40, materialized_view/query.rs.
func spell(tokens []token) (string, error) {
	var b strings.Builder
	for i, t := range tokens {
		if t.kind == tokString && (strings.Contains(t.text, "''") || strings.Contains(t.text, `\'`)) {
			return "", sql.Errorf(sql.ErrUnsupported, t.pos, "a string in which a quote follows a quote or a backslash")
		}
		if i > 0 && spaced(tokens[i-1], t) {
			b.WriteByte(' ')
		}
		b.WriteString(t.spelling())
	}
	return b.String(), nil
}

// spaced reports whether a blank is between two tokens.
func spaced(left, right token) bool {
	switch {
	case left.role == tight, left.role == prefix, right.role == tight:
		return false
	case left.kind == tokOp && (left.text == "(" || left.text == "[" || left.text == "."):
		return false
	case right.kind == tokOp && (right.text == ")" || right.text == "]" || right.text == "," || right.text == "."):
		return false
	case right.isOp("("): // of a call or a type
		return !(left.kind == tokQuoted || left.kind == tokWord && (left.role == plain || left.role == form))
	}
	return true
}

// spelling returns the canonical text of a token. Synonyms of operators are unified: == becomes =, and !=
// becomes <>.
func (t token) spelling() string {
	switch t.kind {
	case tokWord:
		switch t.role {
		case keyword, form:
			return strings.ToUpper(t.text)
		case truth:
			return strings.ToLower(t.text)
		case isNot:
			return "IS NOT"
		}
	case tokQuoted:
		return Identifier(t.text)
	case tokNumber:
		if t.role == long {
			return t.text + "L"
		}
	case tokString:
		return quote(t.text, '\'')
	case tokHex:
		return "X'" + t.text + "'"
	case tokParameter:
		return "$" + t.text
	case tokOp:
		switch t.text {
		case "==":
			return "="
		case "!=":
			return "<>"
		}
	}
	return t.text
}

// Identifier returns a name as native LanceDB writes it in the text of a query: bare if it
// has only the letters a-z, digits and _, and is not a word that the parsers reserve, and
// otherwise in backticks.
//
// Source: lancedb 0.40, materialized_view/query.rs, needs_quote.
func Identifier(name string) string {
	if IsBare(name) {
		return name
	}
	return quote(name, '`')
}

// IsBare reports whether Identifier writes a name without backticks.
func IsBare(name string) bool {
	_, reserved := slices.BinarySearch(reservedWords, name)
	return isPlain(name) && !reserved
}

// reservedWords are the column names that lancedb 0.40 writes in backticks, sorted. They come from a view
// over a table with a column for each keyword of sqlparser 0.62.
var reservedWords = strings.Fields(`
	all analyze anti array asof cluster connect cross current_date current_time current_timestamp
	distinct distribute end except exclude exists explain false fetch for format from full global
	group having inner intersect interval into join lateral left limit match_condition
	match_recognize minus natural not null offset on open order outer output partition pivot
	prewhere qualify returning right sample select semi set settings sort start struct table
	tablesample top trim true union unnest unpivot using values view where window with`)

// LastName returns the last name of an expression that is a path, such as title for meta.title, and "" for
// any other expression, including a path in parentheses.
func LastName(src string) string {
	e, err := Parse(src)
	if err != nil {
		return ""
	}
	if c, ok := e.(*Column); ok && !strings.HasPrefix(src, "(") {
		return c.Path[len(c.Path)-1].Text
	}
	return ""
}
