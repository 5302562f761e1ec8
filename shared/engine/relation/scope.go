package relation

import (
	"errors"
	"slices"
	"strings"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
)

// A scope has the columns that an expression can name, in order.
type scope []field

// A field is a column of a source.
type field struct {
	source []string // the alias of its source, or the whole name of a table without one; nil if it is a column of no named source
	name   string
	column string // its name in the steps
	hidden bool   // only named together with its source: the right column of USING
	inner  bool   // the value of a query inside an expression, which * leaves out
}

// find returns the column that a path begins with, and the names of members behind it. As in DataFusion, as many names as
// possible are those of the source. A name without quotes also finds a column that differs from it in case, if no column is
// equal.
func (s scope) find(c *syntax.Column) (*field, []syntax.Name, error) {
	for _, fold := range []bool{false, true} {
		for n := len(c.Path) - 1; n >= 0; n-- {
			f, err := s.only(c, func(f *field) bool {
				return (n > 0 || !f.hidden) && syntax.EndsWith(f.source, c.Path[:n], fold) && c.Path[n].Is(f.name, fold)
			})
			if f != nil || err != nil {
				return f, c.Path[n+1:], err
			}
		}
	}
	return nil, nil, &unseen{sql.Errorf(sql.ErrUnknownColumn, c.Pos(), "no column %s; there are %s", c, s), c}
}

// An unseen is the error for a column that no source has.
type unseen struct {
	error
	column *syntax.Column
}

// Unwrap returns the error of package sql.
func (u *unseen) Unwrap() error { return u.error }

// unseenIn turns the error of a table that does not have a column of its query into an unseen.
func unseenIn(q *syntax.Query, err error) error {
	var bad *sql.Error
	if !errors.As(err, &bad) || !errors.Is(err, sql.ErrUnknownColumn) {
		return err
	}
	b := q.Body.(*syntax.Block)
	exprs := []syntax.Expr{b.Where}
	for _, out := range b.Outputs {
		exprs = append(exprs, out.Expr)
	}
	for _, e := range exprs {
		_, _ = syntax.Rewrite(e, func(e syntax.Expr) (syntax.Expr, error) {
			if c, ok := e.(*syntax.Column); ok && c.Pos() == bad.Pos {
				err = &unseen{err, c}
			}
			return nil, nil //nolint:nilnil // look inside
		})
	}
	return err
}

// only returns the one column for which is is true, or nil.
func (s scope) only(c *syntax.Column, is func(*field) bool) (found *field, err error) {
	for i := range s {
		switch f := &s[i]; {
		case !is(f):
		case found == nil:
			found = f
		default:
			return nil, sql.Errorf(sql.ErrUnknownColumn, c.Pos(), "column %s is in %s and in %s: write the source before it", c, strings.Join(found.source, "."), strings.Join(f.source, "."))
		}
	}
	return found, nil
}

// label returns the name of the source of a column: its last part, unless another source has it, too.
func (s scope) label(f field) string {
	if f.source == nil {
		return ""
	}
	last := f.source[len(f.source)-1]
	for _, o := range s {
		if syntax.EndsWith(o.source, []syntax.Name{{Text: last, Quoted: true}}, false) && !slices.Equal(o.source, f.source) {
			return strings.Join(f.source, ".")
		}
	}
	return last
}

// String lists the columns for messages.
func (s scope) String() string {
	const most = 50
	var list []string
	for i, f := range s {
		if i == most {
			list = append(list, "…")
			break
		}
		name := syntax.Identifier(f.name)
		if f.source != nil {
			name = syntax.Identifier(f.source[len(f.source)-1]) + "." + name
		}
		list = append(list, name)
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

// resolve returns an expression over the columns of the steps.
func (s scope) resolve(e syntax.Expr) (syntax.Expr, error) {
	return syntax.Rewrite(e, func(e syntax.Expr) (syntax.Expr, error) {
		switch e := e.(type) {
		case *syntax.Column:
			f, members, err := s.find(e)
			if err != nil {
				return nil, err
			}
			return e.At(append([]syntax.Name{{Text: f.column, Quoted: true}}, members...)), nil
		case *syntax.Scalar:
			return nil, sql.Errorf(sql.ErrUnsupported, e.Pos(), "a query as a value in this place: it may be in WHERE, in columns of the answer, and in ORDER BY")
		case *syntax.Exists:
			return nil, sql.Errorf(sql.ErrUnsupported, e.Pos(), "EXISTS in this place: it may be in WHERE, in columns of the answer, and in ORDER BY")
		case *syntax.InQuery:
			return nil, sql.Errorf(sql.ErrUnsupported, e.Pos(), "IN (SELECT …) other than as a condition in WHERE, alone or beside AND")
		}
		return nil, nil //nolint:nilnil // look inside
	})
}

// renamed returns an expression in which columns have other names.
func renamed(e syntax.Expr, name func(string) string) syntax.Expr {
	e, _ = syntax.Rewrite(e, func(e syntax.Expr) (syntax.Expr, error) {
		if c, ok := e.(*syntax.Column); ok {
			return c.At(append([]syntax.Name{{Text: name(c.Path[0].Text), Quoted: true}}, c.Path[1:]...)), nil
		}
		return nil, nil //nolint:nilnil // look inside
	})
	return e
}
