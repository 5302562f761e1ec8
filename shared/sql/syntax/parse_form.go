package syntax

import (
	"strings"

	"tiltyard/shared/sql"
)

// The functions of this file parse calls with keywords between their arguments, and return plain calls:
//
//	EXTRACT(field FROM x)                      date_part('field', x)
//	SUBSTRING(x FROM a FOR n)                  substr(x, a, n)
//	TRIM([BOTH | LEADING | TRAILING] c FROM x) btrim, ltrim or rtrim(x, c)
//	POSITION(a IN x)                           strpos(x, a)
//	OVERLAY(x PLACING y FROM a FOR n)          overlay(x, y, a, n)
//
// Native Lance has separate expressions for these. It refuses them outside of the arguments of another
// function, even in the form with commas.

// specialCall parses a call with keywords, or returns nil if the next tokens are none.
func (p *parser) specialCall() (Expr, error) {
	t := p.peek()
	if !p.peekAt(1).isOp("(") {
		return nil, nil
	}
	var read func() (name string, args []Expr, err error)
	switch t.keyword() {
	case "EXTRACT":
		read = p.extract
	case "SUBSTRING", "SUBSTR":
		read = p.substring
	case "TRIM":
		read = p.trim
	case "POSITION":
		read = p.positionOf
	case "OVERLAY":
		read = p.overlay
	default:
		return nil, nil
	}
	p.mark(form)
	p.next += 2
	name, args, err := read()
	if err == nil {
		err = p.expectOp(")")
	}
	return &Call{position: position(t.pos), Name: name, Args: args}, err
}

// extract reads the name of a part of a date, as a word or a string.
func (p *parser) extract() (string, []Expr, error) {
	p.mark(keyword)
	field := p.take()
	if field.kind != tokWord && field.kind != tokString {
		return "", nil, sql.Errorf(sql.ErrSyntax, field.pos, "expected the name of a part of a date, found %s", field.describe())
	}
	if err := p.expectWord("FROM"); err != nil {
		return "", nil, err
	}
	x, err := p.expr(precNone)
	return "date_part", []Expr{&Text{position: position(field.pos), Value: strings.ToLower(field.text)}, x}, err
}

// substring reads both forms. Without FROM the result begins at the first character.
func (p *parser) substring() (string, []Expr, error) {
	args, err := p.arguments(1)
	if err != nil {
		return "", nil, err
	}
	if !p.takeOp(",") {
		args, err = p.fromFor(args, 1)
		return "substr", args, err
	}
	rest, err := p.arguments(2)
	return "substr", append(args, rest...), err
}

// fromFor appends the operands of FROM and FOR to the arguments.
func (p *parser) fromFor(args []Expr, least int) ([]Expr, error) {
	if p.takeWords("FROM") {
		from, err := p.expr(precNone)
		if err != nil {
			return nil, err
		}
		args = append(args, from)
	} else if p.peek().keyword() == "FOR" {
		args = append(args, &Number{position: position(p.peek().pos), Text: "1"})
	}
	if len(args) == least {
		return nil, p.unexpected("FROM")
	}
	if p.takeWords("FOR") {
		count, err := p.expr(precNone)
		if err != nil {
			return nil, err
		}
		args = append(args, count)
	}
	return args, nil
}

// arguments parses up to most expressions.
func (p *parser) arguments(most int) ([]Expr, error) {
	var args []Expr
	for {
		e, err := p.expr(precNone)
		if err != nil {
			return nil, err
		}
		if args = append(args, e); len(args) == most || !p.takeOp(",") {
			return args, nil
		}
	}
}

// trim reads the sides, the characters and the text.
func (p *parser) trim() (string, []Expr, error) {
	name := "btrim"
	switch {
	case p.takeWords("BOTH"):
	case p.takeWords("LEADING"):
		name = "ltrim"
	case p.takeWords("TRAILING"):
		name = "rtrim"
	}
	args, err := p.arguments(2)
	if err != nil || !p.takeWords("FROM") {
		return name, args, err
	}
	if len(args) > 1 {
		return "", nil, p.unexpected("\")\"")
	}
	x, err := p.expr(precNone)
	return name, append([]Expr{x}, args...), err
}

// positionOf reads the text to find, which binds more strongly than IN.
func (p *parser) positionOf() (string, []Expr, error) {
	part, err := p.expr(precCompare)
	if err != nil {
		return "", nil, err
	}
	if err := p.expectWord("IN"); err != nil {
		return "", nil, err
	}
	x, err := p.expr(precNone)
	return "strpos", []Expr{x, part}, err
}

// overlay reads both forms.
func (p *parser) overlay() (string, []Expr, error) {
	name := p.next - 2
	args, err := p.arguments(4)
	if err != nil || len(args) > 1 {
		p.tokens[name].role = plain // the form with commas is an ordinary call
		return "overlay", args, err
	}
	if err := p.expectWord("PLACING"); err != nil {
		return "", nil, err
	}
	over, err := p.expr(precNone)
	if err != nil {
		return "", nil, err
	}
	args, err = p.fromFor(append(args, over), 2)
	return "overlay", args, err
}
