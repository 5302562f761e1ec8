package sqlexpr

import (
	"bytes"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// bindText binds a function from string to string.
func bindText(n *node) (*node, error) {
	t := asText(n.args[0].typ)
	if t == nil {
		return nil, mismatch(n)
	}
	return castArgs(n, t, t)
}

// bindCharLength accepts what can be cast to a string as well.
func bindCharLength(n *node) (*node, error) {
	t := asText(n.args[0].typ)
	if t == nil {
		if arg := n.args[0].typ; !column.IsInteger(arg) && !column.IsVarBinary(arg) {
			return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "%s of %s", n.fn.name, arg)
		}
		t = column.TypeString
	}
	return castArgs(n, lengthType(t), t)
}

// bindOctetLength counts the bytes of a string, and of nothing else.
func bindOctetLength(n *node) (*node, error) {
	t := asText(n.args[0].typ)
	if t == nil {
		return nil, mismatch(n)
	}
	return castArgs(n, lengthType(t), t)
}

// bindTextTest takes two strings, whose offsets need not be of one width.
func bindTextTest(n *node) (*node, error) {
	l, r := asText(n.args[0].typ), asText(n.args[1].typ)
	if l == nil || r == nil {
		return nil, mismatch(n)
	}
	return castArgs(n, column.TypeBool, l, r)
}

func evalLower(m *meter.Meter, _ *node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return mapText(m, args[0], appendLowerPart)
}

func evalUpper(m *meter.Meter, _ *node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return mapText(m, args[0], func(dst, s []byte, from, to int) []byte { return appendUpper(dst, s[from:to]) })
}

// mapText applies a function to every string, which appends its result for a part of one.
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

func evalCharLength(m *meter.Meter, n *node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return measureText(m, n.typ, args[0], utf8.RuneCount)
}

func evalOctetLength(m *meter.Meter, n *node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
	return measureText(m, n.typ, args[0], func(s []byte) int { return len(s) })
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

func evalStartsWith(m *meter.Meter, _ *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return textTest2(m, args[0], args[1], rows, func(s, prefix []byte) (bool, error) { return bytes.HasPrefix(s, prefix), nil })
}

func evalEndsWith(m *meter.Meter, _ *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return textTest2(m, args[0], args[1], rows, func(s, suffix []byte) (bool, error) { return bytes.HasSuffix(s, suffix), nil })
}

func evalContains(m *meter.Meter, _ *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return textTest2(m, args[0], args[1], rows, func(s, part []byte) (bool, error) { return bytes.Contains(s, part), nil })
}

// textTables are the functions of texts.
var textTables = []map[string]*function{
	basicTextFunctions, textPartFunctions, textMakeFunctions, textCodeFunctions, regexpFunctions,
}

// basicTextFunctions are the functions of one string, and tests of two.
var basicTextFunctions = map[string]*function{
	"lower":            {minArgs: 1, maxArgs: 1, bind: bindText, eval: evalLower},
	"upper":            {minArgs: 1, maxArgs: 1, bind: bindText, eval: evalUpper},
	"character_length": {minArgs: 1, maxArgs: 1, bind: bindCharLength, eval: evalCharLength},
	"octet_length":     {minArgs: 1, maxArgs: 1, bind: bindOctetLength, eval: evalOctetLength},
	"starts_with":      {minArgs: 2, maxArgs: 2, bind: bindTextTest, eval: evalStartsWith},
	"ends_with":        {minArgs: 2, maxArgs: 2, bind: bindTextTest, eval: evalEndsWith},
	"contains":         {minArgs: 2, maxArgs: 2, bind: bindTextTest, eval: evalContains},
}
