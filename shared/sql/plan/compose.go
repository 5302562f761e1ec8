package plan

import (
	"cmp"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/expr"
)

// Over returns an expression over the columns of another schema. values has, by name, the
// values of columns that the other schema does not have, as expressions over it; it must have
// all others, with their types. So over a schema with n, the expression y + 1 becomes n * 2 +
// 1 if values has n * 2 for y. Types are those that were bound: a value stands for a column
// wherever it is, as if it had been stored. Errors wrap sql.ErrTooLarge.
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

// And returns the expression that is TRUE where both are, which are filters over one schema.
func (b *Bound) And(other *Bound) (*Bound, error) {
	n := &expr.Node{Op: expr.OpAnd, Type: b.root.Type, Args: []*expr.Node{b.root, other.root}, Pos: b.root.Pos}
	return bound(n, b.schema, cmp.Or(b.volatile, other.volatile)), n.CheckSize()
}
