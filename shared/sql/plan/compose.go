package plan

import (
	"cmp"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/expr"
)

// Over returns the expression over the columns of another schema s, by substitution. values holds, by name,
// expressions over s for the columns that s lacks; s must have all other columns, with the same types. For
// example, y + 1 becomes n * 2 + 1 over a schema with n, if values has n * 2 for y. Types do not change: a
// value stands for its column as if it were stored. Errors wrap sql.ErrTooLarge.
func (b *Bound) Over(s *arrow.Schema, values map[string]*Bound) (*Bound, error) {
	root, err := b.replace(b.root, s, values)
	if err != nil {
		return nil, err
	}
	volatile := b.volatile
	for _, v := range values {
		volatile = cmp.Or(volatile, v.volatile)
	}
	return bound(root, s, volatile), root.CheckSize()
}

// replace copies a tree and replaces its columns by values, or by the columns of the same name in s.
func (b *Bound) replace(n *expr.Node, s *arrow.Schema, values map[string]*Bound) (*expr.Node, error) {
	if n.Op != expr.OpCol {
		if len(n.Args) == 0 {
			return n, nil
		}
		args := make([]*expr.Node, len(n.Args))
		for i, a := range n.Args {
			var err error
			if args[i], err = b.replace(a, s, values); err != nil {
				return nil, err
			}
		}
		return n.With(args...), nil
	}
	name := b.schema.Field(n.Index).Name
	if v := values[name]; v != nil {
		return v.replace(v.root, s, nil)
	}
	at := s.FieldIndices(name)
	if len(at) == 0 {
		return nil, sql.Errorf(sql.ErrUnknownColumn, n.Pos, "no column %q", name)
	}
	moved := *n
	moved.Index = at[0]
	return &moved, nil
}

// And returns the conjunction of two filters over one schema.
func (b *Bound) And(other *Bound) (*Bound, error) {
	n := &expr.Node{Op: expr.OpAnd, Type: b.root.Type, Args: []*expr.Node{b.root, other.root}, Pos: b.root.Pos}
	return bound(n, b.schema, cmp.Or(b.volatile, other.volatile)), n.CheckSize()
}
