package syntax

import "slices"

// A Parameter is a parameter of a statement, with what its place tells about its values.
type Parameter struct {
	Name   string
	Column string // that it is compared with, or that is searched; "" if that is not clear
	Count  bool   // it is a number of rows, or of a version
}

// Parameters returns the parameters of a statement, in the order in which they occur first.
func Parameters(src string) ([]Parameter, error) {
	tokens, err := (lexer{src: src, names: true}).tokens()
	if err != nil {
		return nil, err
	}
	var all []Parameter
	for i, t := range tokens {
		if t.kind != tokParameter || slices.ContainsFunc(all, func(p Parameter) bool { return p.Name == t.text }) {
			continue
		}
		p := Parameter{Name: t.text}
		if i > 0 {
			switch tokens[i-1].keyword() {
			case "LIMIT", "OFFSET", "OF":
				p.Count = true
			default:
				p.Column = comparedWith(tokens, i)
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// comparedWith returns the name of the column next to a parameter: behind an operator, or before it.
func comparedWith(tokens []token, at int) string {
	if tokens[at+1].isComparison() && (tokens[at+2].kind == tokWord || tokens[at+2].kind == tokQuoted) {
		return tokens[at+2].text
	}
	for at--; at >= 0; at-- {
		t := tokens[at]
		switch t.keyword() {
		case "AND", "BETWEEN", "IN", "LIKE", "ILIKE", "NOT":
			continue
		}
		switch {
		case t.kind == tokQuoted || t.kind == tokWord:
			if at > 0 && tokens[at-1].isOp(".") {
				return "" // a member of a struct
			}
			return t.text
		case t.isComparison() || t.isOp(",") || t.isOp("(") || t.kind == tokParameter || t.kind == tokNumber || t.kind == tokString:
			continue
		}
		return ""
	}
	return ""
}

// isComparison reports whether the token compares two values.
func (t token) isComparison() bool {
	return t.kind == tokOp && slices.Contains([]string{"=", "==", "!=", "<>", "<", "<=", ">", ">="}, t.text)
}

// Reads reports whether a statement only reads, by its first word.
func Reads(src string) bool {
	tokens, err := (lexer{src: src, names: true}).tokens()
	if err != nil {
		return true // it will be refused
	}
	switch tokens[0].keyword() {
	case "SELECT", "WITH", "VALUES", "EXPLAIN", "SHOW", "DESCRIBE", "DESC":
		return true
	}
	return false
}
