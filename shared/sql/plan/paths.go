package plan

import (
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/expr"
	"tiltyard/shared/sql/syntax"
)

// Paths returns the columns of a schema and the members of structs that the text of an expression
// names, each as the names from the column down, sorted and once. A column that is named as a whole
// is a path of one name. The errors are those of names in [Bind].
func Paths(e syntax.Expr, s *arrow.Schema, now time.Time) ([][]string, error) {
	p := planner{schema: s, now: now}
	n, err := p.plan(e)
	if err != nil {
		return nil, err
	}
	paths := appendPaths(nil, n, s)
	slices.SortFunc(paths, slices.Compare[[]string])
	return slices.CompactFunc(paths, slices.Equal[[]string]), nil
}

func appendPaths(paths [][]string, n *expr.Node, s *arrow.Schema) [][]string {
	if path, ok := pathOf(n, s); ok {
		return append(paths, path)
	}
	for _, a := range n.Args {
		paths = appendPaths(paths, a, s)
	}
	return paths
}
