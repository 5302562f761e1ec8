package compute

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// Concat computes l || r of two strings or two binaries.
func Concat(m *meter.Meter, typ arrow.DataType, l, r column.Vec, rows column.Bitset) (column.Vec, error) {
	n, konst := column.Width(l, r)
	out := column.Vec{Type: typ, N: n, Const: konst, Valid: column.BothValid(l, r, n)}
	if konst {
		rows = nil
	}
	live := column.And(rows, out.Valid)
	a, b, ml, mr := l.Data.(column.Text), r.Data.(column.Text), l.Mask(), r.Mask()
	t := column.NewTextBuilder(m, n)
	for i := range n {
		if live == nil || live.Has(i) {
			x, y := a.At(i&ml), b.At(i&mr)
			if err := t.Reserve(len(x) + len(y)); err != nil {
				return column.Vec{}, err
			}
			t.Data = append(append(t.Data, x...), y...)
			if err := m.Step(len(x) + len(y)); err != nil {
				return column.Vec{}, err
			}
		}
		t.Done()
	}
	out.Data = t.Text()
	return out, nil
}

// Between computes x BETWEEN low AND high as two comparisons.
func Between(n *expr.Node, args []column.Vec) column.Vec {
	low, high := expr.OpGe, expr.OpLe
	if n.Not {
		low, high = expr.OpLt, expr.OpGt
	}
	return Kleene(Compare(low, args[0], args[1]), Compare(high, args[0], args[2]), n.Not)
}

// TextTest evaluates a test on one string column for the given rows.
func TextTest(m *meter.Meter, v column.Vec, rows column.Bitset, test func(s []byte) (bool, error)) (column.Vec, error) {
	out := column.Vec{Type: column.TypeBool, N: v.N, Const: v.Const, Valid: v.Valid, Data: column.NewBitset(v.N)}
	if v.Const {
		rows = nil
	}
	t, bits := v.Data.(column.Text), out.Data.(column.Bitset)
	long := t.AreLong(v.N)
	var err error
	v.Live(rows, v.N).Each(v.N, func(i int) bool {
		var ok bool
		s := t.At(i)
		if ok, err = test(s); ok {
			bits.Set(i)
		}
		if long && err == nil {
			err = m.Step(len(s))
		}
		return err == nil
	})
	return out, err
}

// TextTest2 evaluates a test of two strings for the rows that count.
func TextTest2(m *meter.Meter, l, r column.Vec, rows column.Bitset, test func(a, b []byte) (bool, error)) (column.Vec, error) {
	n, konst := column.Width(l, r)
	out := column.Vec{Type: column.TypeBool, N: n, Const: konst, Valid: column.BothValid(l, r, n), Data: column.NewBitset(n)}
	if konst {
		rows = nil
	}
	a, b, ml, mr, bits := l.Data.(column.Text), r.Data.(column.Text), l.Mask(), r.Mask(), out.Data.(column.Bitset)
	long := a.AreLong(l.N) || b.AreLong(r.N)
	var err error
	column.And(rows, out.Valid).Each(n, func(i int) bool {
		var ok bool
		x, y := a.At(i&ml), b.At(i&mr)
		if ok, err = test(x, y); ok {
			bits.Set(i)
		}
		if long && err == nil {
			err = m.Step(len(x) + len(y))
		}
		return err == nil
	})
	return out, err
}
