package plan

import (
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/syntax"
)

// Paths returns the columns and struct members that an expression names. Each path lists the names from the
// column down; the paths are sorted and distinct. A column that is named as a whole has a path of one name.
// Errors for names are the same as in [Bind].
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

// appendPaths appends the paths below a node. It does not descend into a path, whose prefixes are no paths
// of their own.
func appendPaths(paths [][]string, n *expr.Node, s *arrow.Schema) [][]string {
	if path, ok := pathOf(n, s); ok {
		return append(paths, path)
	}
	for _, a := range n.Args {
		paths = appendPaths(paths, a, s)
	}
	return paths
}
