package sqlexpr

import (
	"bytes"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
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
		if arg := n.args[0].typ; !isInteger(arg) && !isVarBinary(arg) {
			return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "%s of %s", n.fn.name, arg)
		}
		t = typeString
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
	return castArgs(n, typeBool, l, r)
}

func evalLower(m *meter.Meter, _ *node, args []vec, _ bitset) (vec, error) {
	return mapText(m, args[0], appendLowerPart)
}

func evalUpper(m *meter.Meter, _ *node, args []vec, _ bitset) (vec, error) {
	return mapText(m, args[0], func(dst, s []byte, from, to int) []byte { return appendUpper(dst, s[from:to]) })
}

// mapText applies a function to every string, which appends its result for a part of one.
func mapText(m *meter.Meter, x vec, f func(dst, s []byte, from, to int) []byte) (vec, error) {
	b := newTextBuilder(m, x.n)
	t := x.data.(text)
	long := t.areLong(x.n)
	if err := b.reserve(min(t.bytes(), shortText*x.n)); err != nil {
		return vec{}, err
	}
	for i := range x.n {
		if !x.isNull(i) {
			s := t.at(i)
			if long {
				if err := b.reserve(len(s)); err != nil {
					return vec{}, err
				}
				if err := m.Step(2 * len(s)); err != nil {
					return vec{}, err
				}
			}
			if err := m.Pieces(s, func(from, to int) { b.data = f(b.data, s, from, to) }); err != nil {
				return vec{}, err
			}
			if err := b.account(); err != nil {
				return vec{}, err
			}
		}
		b.done()
	}
	return vec{typ: x.typ, n: x.n, konst: x.konst, valid: x.valid, data: b.text()}, nil
}

func evalCharLength(m *meter.Meter, n *node, args []vec, _ bitset) (vec, error) {
	return measureText(m, n.typ, args[0], utf8.RuneCount)
}

func evalOctetLength(m *meter.Meter, n *node, args []vec, _ bitset) (vec, error) {
	return measureText(m, n.typ, args[0], func(s []byte) int { return len(s) })
}

// measureText computes a number for every string, as int32 or int64.
func measureText(m *meter.Meter, typ arrow.DataType, x vec, f func(s []byte) int) (vec, error) {
	out := vec{typ: typ, n: x.n, konst: x.konst, valid: x.valid, data: zeroData(typ, x.n)}
	t := x.data.(text)
	var err error
	x.valid.each(x.n, func(i int) bool {
		switch d := out.data.(type) {
		case []int32:
			d[i] = int32(f(t.at(i)))
		case []int64:
			d[i] = int64(f(t.at(i)))
		}
		err = m.Step(len(t.at(i)))
		return err == nil
	})
	return out, err
}

func evalStartsWith(m *meter.Meter, _ *node, args []vec, rows bitset) (vec, error) {
	return textTest2(m, args[0], args[1], rows, func(s, prefix []byte) (bool, error) { return bytes.HasPrefix(s, prefix), nil })
}

func evalEndsWith(m *meter.Meter, _ *node, args []vec, rows bitset) (vec, error) {
	return textTest2(m, args[0], args[1], rows, func(s, suffix []byte) (bool, error) { return bytes.HasSuffix(s, suffix), nil })
}

func evalContains(m *meter.Meter, _ *node, args []vec, rows bitset) (vec, error) {
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
