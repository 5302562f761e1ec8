package syntax

import (
	"slices"

	"tiltyard/shared/sql"
)

// Rewrite returns an expression in which replace has replaced expressions. It calls replace from the outside in, and
// looks into an expression only if replace returns nil for it. The expression itself does not change.
func Rewrite(e Expr, replace func(Expr) (Expr, error)) (Expr, error) {
	r := rewriter{replace: replace}
	e = r.expr(e)
	return e, r.err
}

// A rewriter rewrites an expression until the first error.
type rewriter struct {
	replace func(Expr) (Expr, error)
	err     error
}

// expr returns the rewritten expression. It is nil for nil, which stands for an absent part.
func (r *rewriter) expr(e Expr) Expr {
	if e == nil || r.err != nil {
		return e
	}
	replaced, err := r.replace(e)
	if r.err = err; err != nil || replaced != nil {
		return replaced
	}
	return r.inside(e)
}

// inside returns a copy of an expression with rewritten operands. Literals and columns have none.
func (r *rewriter) inside(e Expr) Expr {
	switch e := e.(type) {
	case *Member:
		c := *e
		c.X = r.expr(e.X)
		return &c
	case *Unary:
		c := *e
		c.X = r.expr(e.X)
		return &c
	case *Binary:
		c := *e
		c.L, c.R = r.expr(e.L), r.expr(e.R)
		return &c
	case *Is:
		c := *e
		c.X = r.expr(e.X)
		return &c
	case *In:
		c := *e
		c.X, c.List = r.expr(e.X), r.list(e.List)
		return &c
	case *InQuery:
		c := *e
		c.X = r.expr(e.X)
		return &c
	case *Between:
		c := *e
		c.X, c.Low, c.High = r.expr(e.X), r.expr(e.Low), r.expr(e.High)
		return &c
	case *Like:
		c := *e
		c.X, c.Pattern = r.expr(e.X), r.expr(e.Pattern)
		return &c
	case *Cast:
		c := *e
		c.X = r.expr(e.X)
		return &c
	case *Case:
		c := *e
		c.X, c.Else = r.expr(e.X), r.expr(e.Else)
		c.Whens = make([]When, len(e.Whens))
		for i, w := range e.Whens {
			c.Whens[i] = When{Cond: r.expr(w.Cond), Then: r.expr(w.Then)}
		}
		return &c
	case *Call:
		c := *e
		c.Args, c.Filter = r.list(e.Args), r.expr(e.Filter)
		return &c
	case *Array:
		c := *e
		c.Elems = r.list(e.Elems)
		return &c
	}
	return e
}

func (r *rewriter) list(list []Expr) []Expr {
	out := make([]Expr, len(list))
	for i, e := range list {
		out[i] = r.expr(e)
	}
	return out
}

// Place returns the position in the text of an expression of the part that is at a position of what its String returns, or
// sql.NoPos if no part is there.
func Place(e Expr, pos int) int {
	again, err := Parse(e.String())
	if err != nil {
		return sql.NoPos
	}
	first, second := positions(e), positions(again)
	if i := slices.Index(second, pos); i >= 0 && len(first) == len(second) {
		return first[i]
	}
	return sql.NoPos
}

// positions returns the positions of all parts of an expression, from the outside in.
func positions(e Expr) (all []int) {
	_, _ = Rewrite(e, func(e Expr) (Expr, error) {
		all = append(all, e.Pos())
		return nil, nil //nolint:nilnil // look inside
	})
	return all
}

// At returns a column with another path at the position of this one.
func (e *Column) At(path []Name) *Column { return &Column{position: e.position, Path: path} }
