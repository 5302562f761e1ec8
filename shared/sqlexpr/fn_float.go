package sqlexpr

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// floatFunctions compute with floats: float32 stays float32, all other numbers become
// float64. The last digit may differ from the native Lance's, whose mathematics are those of
// the machine it runs on.
//
// A NaN stays as it is. Values outside of a function's domain give a NaN too; which one is a
// matter of the machine, but matters, as the order of floats has the negative NaN first and
// the other one last.
var floatFunctions = map[string]*function{
	"sqrt": floatFunction(math.Sqrt), "cbrt": floatFunction(math.Cbrt), "exp": floatFunction(math.Exp),
	"ln": floatFunction(positiveNaN(math.Log)), "log2": floatFunction(positiveNaN(math.Log2)), "log10": floatFunction(positiveNaN(math.Log10)),
	"sin": floatFunction(math.Sin), "cos": floatFunction(math.Cos), "tan": floatFunction(math.Tan),
	"asin": floatFunction(positiveNaN(math.Asin)), "acos": floatFunction(positiveNaN(math.Acos)), "atan": floatFunction(math.Atan),
	"sinh": floatFunction(math.Sinh), "cosh": floatFunction(math.Cosh), "tanh": floatFunction(math.Tanh),
	"asinh": floatFunction(math.Asinh), "acosh": floatFunction(math.Acosh), "atanh": floatFunction(math.Atanh),
	"cot":     floatFunction(func(x float64) float64 { return 1 / math.Tan(x) }),
	"degrees": floatFunction(func(x float64) float64 { return x * (180 / math.Pi) }),
	"radians": floatFunction(func(x float64) float64 { return x * (math.Pi / 180) }),
	"signum":  floatFunction(signum),

	"atan2": {minArgs: 2, maxArgs: 2, bind: bindFloats, eval: float2(math.Atan2)},
	"power": {minArgs: 2, maxArgs: 2, bind: bindPower, eval: evalPower},
	"log":   {minArgs: 1, maxArgs: 2, bind: bindLog, eval: evalLog},
	"nanvl": {minArgs: 2, maxArgs: 2, bind: bindNanvl},
	"pi": {bind: func(n *node) (*node, error) {
		return literal(column.Constant(column.TypeFloat64, []float64{math.Pi}), n.pos), nil
	}},

	"isnan":  {minArgs: 1, maxArgs: 1, bind: signature(gives(column.TypeBool), floatNumber), eval: evalIsNaN},
	"iszero": {minArgs: 1, maxArgs: 1, bind: signature(gives(column.TypeBool), floatNumber), eval: evalIsZero},
}

// floatFunction is a function of one float.
func floatFunction(f func(float64) float64) *function {
	return &function{minArgs: 1, maxArgs: 1, bind: signature(likeFirst, floatNumber),
		eval: func(_ *meter.Meter, _ *node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
			x := args[0]
			out := column.Vec{Type: x.Type, N: x.N, Const: x.Const, Valid: x.Valid}
			switch d := x.Data.(type) {
			case []float32:
				out.Data = mapFloats(d, f)
			case []float64:
				out.Data = mapFloats(d, f)
			}
			return out, nil
		}}
}

func mapFloats[T float32 | float64](d []T, f func(float64) float64) []T {
	out := make([]T, len(d))
	for i, x := range d {
		if column.IsNaN(x) {
			out[i] = x
			continue
		}
		y := f(float64(x))
		if math.IsNaN(y) && math.Float64bits(y) != math.Float64bits(column.QuietNaN) {
			y = math.Copysign(column.QuietNaN, -1)
		}
		out[i] = T(y)
	}
	return out
}

// positiveNaN is f with a NaN, where it makes one, whose sign is not set.
func positiveNaN(f func(float64) float64) func(float64) float64 {
	return func(x float64) float64 {
		y := f(x)
		if math.IsNaN(y) {
			return column.QuietNaN
		}
		return y
	}
}

// signum is 0.0 of both zeros.
func signum(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	case x == 0:
		return 0
	}
	return x
}

// bindFloats casts all arguments to float32 if that takes them, integers included, else to
// float64.
func bindFloats(n *node) (*node, error) { return signature(likeFirst, floatsOf(n))(n) }

// floatsOf is the one of the two float types for all arguments that are not float64.
func floatsOf(n *node) param {
	for _, a := range n.args {
		if t := a.typ; t.ID() != arrow.FLOAT32 && !column.IsInteger(t) && t.ID() != arrow.NULL {
			return doubleNumber
		}
	}
	return func(arrow.DataType) arrow.DataType { return column.TypeFloat32 }
}

// bindNanvl makes CASE WHEN isnan(x) THEN y ELSE x END.
func bindNanvl(n *node) (*node, error) {
	n, err := bindFloats(n)
	if err != nil {
		return nil, err
	}
	x, y := n.args[0], n.args[1]
	isNaN := &function{name: "isnan", eval: evalIsNaN}
	test := &node{op: opCall, fn: isNaN, typ: column.TypeBool, args: []*node{x}, pos: n.pos}
	return &node{op: opCase, typ: n.typ, args: []*node{test, y, x}, pos: n.pos}, nil
}

// bindLog computes in float32 if that is what the number is, whatever the base.
func bindLog(n *node) (*node, error) {
	last := n.args[len(n.args)-1].typ
	if last.ID() != arrow.FLOAT32 {
		return signature(likeFirst, doubleNumber)(n)
	}
	return signature(likeFirst, func(t arrow.DataType) arrow.DataType {
		if floatNumber(t) == nil {
			return nil
		}
		return last
	})(n)
}

// bindPower computes everything in float64 but decimals, for which it has rules that are not
// followed yet.
func bindPower(n *node) (*node, error) {
	if column.IsDecimal(n.args[0].typ) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.pos, "%s of %s", n.fn.name, n.args[0].typ)
	}
	if n.args[1].isNumber(0) && doubleNumber(n.args[0].typ) != nil {
		return literal(column.Constant(column.TypeFloat64, []float64{1}), n.pos), nil // of NULL too
	}
	return signature(gives(column.TypeFloat64), doubleNumber)(n)
}

// evalPower fails for zero to a negative power.
func evalPower(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	x, y, pow := column.ValuesOf[float64](args[0]), column.ValuesOf[float64](args[1]), keepNaN(math.Pow)
	return fixedRows(m, n, args, rows, func(i int) (float64, error) {
		if x(i) == 0 && y(i) < 0 {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "zero to a negative power")
		}
		return pow(x(i), y(i)), nil
	})
}

// float2 computes a function of two floats.
func float2(f func(x, y float64) float64) func(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	f = keepNaN(f)
	return func(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
		if n.typ.ID() == arrow.FLOAT32 {
			x, y := column.ValuesOf[float32](args[0]), column.ValuesOf[float32](args[1])
			return fixedRows(m, n, args, rows, func(i int) (float32, error) {
				return float32(f(float64(x(i)), float64(y(i)))), nil
			})
		}
		x, y := column.ValuesOf[float64](args[0]), column.ValuesOf[float64](args[1])
		return fixedRows(m, n, args, rows, func(i int) (float64, error) { return f(x(i), y(i)), nil })
	}
}

// keepNaN is f with the rules for NaN.
func keepNaN(f func(x, y float64) float64) func(x, y float64) float64 {
	return func(x, y float64) float64 {
		z := f(x, y)
		switch {
		case !math.IsNaN(z):
			return z
		case math.IsNaN(x):
			return x
		case math.IsNaN(y):
			return y
		case math.Float64bits(z) == math.Float64bits(column.QuietNaN):
			return z
		}
		return math.Copysign(column.QuietNaN, -1)
	}
}

// evalLog is the logarithm to base 10, or of two arguments to the base of the first.
func evalLog(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	if len(args) == 1 {
		ten := column.Constant(n.typ, column.Zeros(n.typ, 1))
		switch n.typ.ID() {
		case arrow.FLOAT32:
			ten.Data = []float32{10}
		default:
			ten.Data = []float64{10}
		}
		args = []column.Vec{ten, args[0]}
	}
	return float2(func(base, x float64) float64 {
		return positiveNaN(func(x float64) float64 { return math.Log(x) / math.Log(base) })(x)
	})(m, n, args, rows)
}

func evalIsNaN(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return testFloats(m, n, args, rows, math.IsNaN)
}

func evalIsZero(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return testFloats(m, n, args, rows, func(x float64) bool { return x == 0 })
}

func testFloats(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset, test func(x float64) bool) (column.Vec, error) {
	if args[0].Type.ID() == arrow.FLOAT32 {
		x := column.ValuesOf[float32](args[0])
		return boolRows(m, n, args, rows, func(i int) bool { return test(float64(x(i))) })
	}
	x := column.ValuesOf[float64](args[0])
	return boolRows(m, n, args, rows, func(i int) bool { return test(x(i)) })
}
