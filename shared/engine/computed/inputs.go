package computed

import (
	"slices"

	"tiltyard/shared/sql/syntax"
)

// inputsOf returns the distinct paths of the columns in an expression, sorted. They include columns
// that cannot affect the value.
func inputsOf(e syntax.Expr) [][]string {
	var paths [][]string
	collect(e, nil, &paths)
	slices.SortFunc(paths, slices.Compare)
	return slices.CompactFunc(paths, slices.Equal)
}

// collect adds the paths in an expression. below is the path of the member that is read from it.
func collect(e syntax.Expr, below []string, to *[][]string) {
	all := func(of ...syntax.Expr) {
		for _, x := range of {
			if x != nil {
				collect(x, nil, to)
			}
		}
	}
	switch e := e.(type) {
	case *syntax.Column:
		var path []string
		for _, name := range e.Path {
			path = append(path, name.Text)
		}
		*to = append(*to, append(path, below...))
	case *syntax.Member:
		collect(e.X, append([]string{e.Name}, below...), to)
	case *syntax.Unary:
		all(e.X)
	case *syntax.Binary:
		all(e.L, e.R)
	case *syntax.Is:
		all(e.X)
	case *syntax.In:
		all(e.X)
		all(e.List...)
	case *syntax.Between:
		all(e.X, e.Low, e.High)
	case *syntax.Like:
		all(e.X, e.Pattern)
	case *syntax.Cast:
		all(e.X)
	case *syntax.Case:
		all(e.X, e.Else)
		for _, when := range e.Whens {
			all(when.Cond, when.Then)
		}
	case *syntax.Call:
		all(e.Args...)
	case *syntax.Array:
		all(e.Elems...)
	}
}
