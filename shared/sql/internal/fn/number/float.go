// Package number holds the functions of numbers: of floats (float.go), and rounding,
// absolute values and integer functions (round.go, abs.go).
package number

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// floatFunctions are the functions on floats: float32 stays float32, and all other numbers become float64.
// The last digit may differ from native Lance, which uses the C library of its platform.
//
// A NaN argument is returned unchanged. An argument outside the domain of a function gives a NaN, whose
// sign depends on the processor. The sign matters, because the total order has negative NaNs first and
// positive ones last.
var floatFunctions = map[string]*expr.Function{
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

	"atan2": {MinArgs: 2, MaxArgs: 2, Bind: bindFloats, Eval: float2(math.Atan2)},
	"power": {MinArgs: 2, MaxArgs: 2, Bind: bindPower, Eval: evalPower},
	"log":   {MinArgs: 1, MaxArgs: 2, Bind: bindLog, Eval: evalLog},
	"nanvl": {MinArgs: 2, MaxArgs: 2, Bind: bindNanvl},
	"pi": {Bind: func(n *expr.Node) (*expr.Node, error) {
		return expr.Literal(column.Constant(column.TypeFloat64, []float64{math.Pi}), n.Pos), nil
	}},

	"isnan":  {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.Gives(column.TypeBool), expr.FloatNumber), Eval: evalIsNaN},
	"iszero": {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.Gives(column.TypeBool), expr.FloatNumber), Eval: evalIsZero},
}

// floatFunction returns a function on one float.
func floatFunction(f func(float64) float64) *expr.Function {
	return &expr.Function{MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.LikeFirst, expr.FloatNumber),
		Eval: func(_ *meter.Meter, _ *expr.Node, args []column.Vec, _ column.Bitset) (column.Vec, error) {
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

// mapFloats applies f to each value. A NaN argument is kept with its payload; a new NaN gets the sign that
// x86 processors give it.
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

// positiveNaN returns f, except that a NaN that f makes is positive.
func positiveNaN(f func(float64) float64) func(float64) float64 {
	return func(x float64) float64 {
		y := f(x)
		if math.IsNaN(y) {
			return column.QuietNaN
		}
		return y
	}
}

// signum returns 0.0 for both zeros.
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

// bindFloats casts all arguments to float32 if they are float32, integers or NULL, and
// otherwise to float64.
func bindFloats(n *expr.Node) (*expr.Node, error) {
	return expr.Signature(expr.LikeFirst, floatsOf(n))(n)
}

// floatsOf returns the parameter type of bindFloats.
func floatsOf(n *expr.Node) expr.Param {
	for _, a := range n.Args {
		if t := a.Type; t.ID() != arrow.FLOAT32 && !column.IsInteger(t) && t.ID() != arrow.NULL {
			return expr.DoubleNumber
		}
	}
	return func(arrow.DataType) arrow.DataType { return column.TypeFloat32 }
}

// bindNanvl turns nanvl(x, y) into CASE WHEN isnan(x) THEN y ELSE x END.
func bindNanvl(n *expr.Node) (*expr.Node, error) {
	n, err := bindFloats(n)
	if err != nil {
		return nil, err
	}
	x, y := n.Args[0], n.Args[1]
	isNaN := &expr.Function{Name: "isnan", Eval: evalIsNaN}
	test := &expr.Node{Op: expr.OpCall, Func: isNaN, Type: column.TypeBool, Args: []*expr.Node{x}, Pos: n.Pos}
	return &expr.Node{Op: expr.OpCase, Type: n.Type, Args: []*expr.Node{test, y, x}, Pos: n.Pos}, nil
}

// bindLog computes in float32 if the number is a float32, whatever the base is.
func bindLog(n *expr.Node) (*expr.Node, error) {
	last := n.Args[len(n.Args)-1].Type
	if last.ID() != arrow.FLOAT32 {
		return expr.Signature(expr.LikeFirst, expr.DoubleNumber)(n)
	}
	return expr.Signature(expr.LikeFirst, func(t arrow.DataType) arrow.DataType {
		if expr.FloatNumber(t) == nil {
			return nil
		}
		return last
	})(n)
}

// bindPower computes in float64. Decimals are unsupported, because native Lance has special rules for them.
func bindPower(n *expr.Node) (*expr.Node, error) {
	if column.IsDecimal(n.Args[0].Type) {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s", n.Func.Name, n.Args[0].Type)
	}
	if n.Args[1].IsNumber(0) && expr.DoubleNumber(n.Args[0].Type) != nil {
		return expr.Literal(column.Constant(column.TypeFloat64, []float64{1}), n.Pos), nil // of NULL too
	}
	return expr.Signature(expr.Gives(column.TypeFloat64), expr.DoubleNumber)(n)
}

// evalPower fails for zero to a negative power.
func evalPower(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	x, y, pow := column.ValuesOf[float64](args[0]), column.ValuesOf[float64](args[1]), keepNaN(math.Pow)
	return expr.FixedRows(m, n, args, rows, func(i int) (float64, error) {
		if x(i) == 0 && y(i) < 0 {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "zero to a negative power")
		}
		return pow(x(i), y(i)), nil
	})
}

// float2 computes a function of two floats.
func float2(f func(x, y float64) float64) func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	f = keepNaN(f)
	return func(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
		if n.Type.ID() == arrow.FLOAT32 {
			x, y := column.ValuesOf[float32](args[0]), column.ValuesOf[float32](args[1])
			return expr.FixedRows(m, n, args, rows, func(i int) (float32, error) {
				return float32(f(float64(x(i)), float64(y(i)))), nil
			})
		}
		x, y := column.ValuesOf[float64](args[0]), column.ValuesOf[float64](args[1])
		return expr.FixedRows(m, n, args, rows, func(i int) (float64, error) { return f(x(i), y(i)), nil })
	}
}

// keepNaN returns f with the rules for NaN.
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

// evalLog returns the logarithm to base 10, or with two arguments to the base of the first.
func evalLog(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	if len(args) == 1 {
		ten := column.Constant(n.Type, column.Zeros(n.Type, 1))
		switch n.Type.ID() {
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

func evalIsNaN(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return testFloats(m, n, args, rows, math.IsNaN)
}

func evalIsZero(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return testFloats(m, n, args, rows, func(x float64) bool { return x == 0 })
}

func testFloats(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset, test func(x float64) bool) (column.Vec, error) {
	if args[0].Type.ID() == arrow.FLOAT32 {
		x := column.ValuesOf[float32](args[0])
		return expr.BoolRows(m, n, args, rows, func(i int) bool { return test(float64(x(i))) })
	}
	x := column.ValuesOf[float64](args[0])
	return expr.BoolRows(m, n, args, rows, func(i int) bool { return test(x(i)) })
}
