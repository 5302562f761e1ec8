// Package text implements the functions on strings, including LIKE and regular expressions.
package text

import (
	"bytes"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/compute"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// bindText binds a function from string to string.
func bindText(n *expr.Node) (*expr.Node, error) {
	t := expr.AsText(n.Args[0].Type)
	if t == nil {
		return nil, expr.Mismatch(n)
	}
	return expr.CastArgs(n, t, t)
}

// bindCharLength also accepts integers and binaries, which it casts to strings.
func bindCharLength(n *expr.Node) (*expr.Node, error) {
	t := expr.AsText(n.Args[0].Type)
	if t == nil {
		if arg := n.Args[0].Type; !column.IsInteger(arg) && !column.IsVarBinary(arg) {
			return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s", n.Func.Name, arg)
		}
		t = column.TypeString
	}
	return expr.CastArgs(n, expr.LengthType(t), t)
}

// bindOctetLength accepts only strings.
func bindOctetLength(n *expr.Node) (*expr.Node, error) {
	t := expr.AsText(n.Args[0].Type)
	if t == nil {
		return nil, expr.Mismatch(n)
	}
	return expr.CastArgs(n, expr.LengthType(t), t)
}

// bindTextTest accepts two strings, whose offsets may have different widths.
func bindTextTest(n *expr.Node) (*expr.Node, error) {
	l, r := expr.AsText(n.Args[0].Type), expr.AsText(n.Args[1].Type)
	if l == nil || r == nil {
		return nil, expr.Mismatch(n)
	}
	return expr.CastArgs(n, column.TypeBool, l, r)
}

func evalLower(m *meter.Meter, _ *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return mapText(m, args[0], appendLowerPart)
}

func evalUpper(m *meter.Meter, _ *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return mapText(m, args[0], func(dst, s []byte, from, to int) []byte { return appendUpper(dst, s[from:to]) })
}

// mapText applies f to each string. f appends the result for s[from:to].
func mapText(m *meter.Meter, x column.Vec, f func(dst, s []byte, from, to int) []byte) (column.Vec, error) {
	b := column.NewTextBuilder(m, x.N)
	t := x.Data.(column.Text)
	long := t.AreLong(x.N)
	if err := b.Reserve(min(t.Bytes(), column.ShortText*x.N)); err != nil {
		return column.Vec{}, err
	}
	for i := range x.N {
		if !x.IsNull(i) {
			s := t.At(i)
			if long {
				if err := b.Reserve(len(s)); err != nil {
					return column.Vec{}, err
				}
				if err := m.Step(2 * len(s)); err != nil {
					return column.Vec{}, err
				}
			}
			if err := m.Pieces(s, func(from, to int) { b.Data = f(b.Data, s, from, to) }); err != nil {
				return column.Vec{}, err
			}
			if err := b.Account(); err != nil {
				return column.Vec{}, err
			}
		}
		b.Done()
	}
	return column.Vec{Type: x.Type, N: x.N, Const: x.Const, Valid: x.Valid, Data: b.Text()}, nil
}

func evalCharLength(m *meter.Meter, n *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return measureText(m, n.Type, args[0], utf8.RuneCount)
}

func evalOctetLength(m *meter.Meter, n *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return measureText(m, n.Type, args[0], func(s []byte) int { return len(s) })
}

// measureText computes a number for every string, as int32 or int64.
func measureText(m *meter.Meter, typ arrow.DataType, x column.Vec, f func(s []byte) int) (column.Vec, error) {
	out := column.Vec{Type: typ, N: x.N, Const: x.Const, Valid: x.Valid, Data: column.Zeros(typ, x.N)}
	t := x.Data.(column.Text)
	var err error
	x.Valid.Each(x.N, func(i int) bool {
		switch d := out.Data.(type) {
		case []int32:
			d[i] = int32(f(t.At(i)))
		case []int64:
			d[i] = int64(f(t.At(i)))
		}
		err = m.Step(len(t.At(i)))
		return err == nil
	})
	return out, err
}

func evalStartsWith(m *meter.Meter, _ *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return compute.TextTest2(m, args[0], args[1], rows, func(s, prefix []byte) (bool, error) { return bytes.HasPrefix(s, prefix), nil })
}

func evalEndsWith(m *meter.Meter, _ *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return compute.TextTest2(m, args[0], args[1], rows, func(s, suffix []byte) (bool, error) { return bytes.HasSuffix(s, suffix), nil })
}

func evalContains(m *meter.Meter, _ *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return compute.TextTest2(m, args[0], args[1], rows, func(s, part []byte) (bool, error) { return bytes.Contains(s, part), nil })
}

// Tables are the functions of texts.
var Tables = []map[string]*expr.Function{
	basicTextFunctions, textPartFunctions, textMakeFunctions, textCodeFunctions, regexpFunctions,
}

// basicTextFunctions are the functions of one string, and tests of two.
var basicTextFunctions = map[string]*expr.Function{
	"lower":            {MinArgs: 1, MaxArgs: 1, Bind: bindText, Eval: evalLower},
	"upper":            {MinArgs: 1, MaxArgs: 1, Bind: bindText, Eval: evalUpper},
	"character_length": {MinArgs: 1, MaxArgs: 1, Bind: bindCharLength, Eval: evalCharLength},
	"octet_length":     {MinArgs: 1, MaxArgs: 1, Bind: bindOctetLength, Eval: evalOctetLength},
	"starts_with":      {MinArgs: 2, MaxArgs: 2, Bind: bindTextTest, Eval: evalStartsWith},
	"ends_with":        {MinArgs: 2, MaxArgs: 2, Bind: bindTextTest, Eval: evalEndsWith},
	"contains":         {MinArgs: 2, MaxArgs: 2, Bind: bindTextTest, Eval: evalContains},
}
