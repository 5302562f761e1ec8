package number

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// Tables are the functions of numbers.
var Tables = []map[string]*expr.Function{floatFunctions, roundFunctions}

// roundFunctions round numbers, return absolute values, and compute with integers.
var roundFunctions = map[string]*expr.Function{
	"abs": {MinArgs: 1, MaxArgs: 1, Bind: bindAbs, Eval: evalAbs},

	"ceil":  {MinArgs: 1, MaxArgs: 1, Bind: bindWhole, Eval: evalWhole},
	"floor": {MinArgs: 1, MaxArgs: 1, Bind: bindWhole, Eval: evalWhole},
	"round": {MinArgs: 1, MaxArgs: 2, Bind: bindRound, Eval: evalRound},
	"trunc": {MinArgs: 1, MaxArgs: 2, Bind: bindTrunc, Eval: evalTrunc},

	"gcd":       {MinArgs: 2, MaxArgs: 2, Bind: expr.Signature(expr.Gives(column.TypeInt64), expr.WholeNumber), Eval: evalGCD},
	"lcm":       {MinArgs: 2, MaxArgs: 2, Bind: expr.Signature(expr.Gives(column.TypeInt64), expr.WholeNumber), Eval: evalLCM},
	"factorial": {MinArgs: 1, MaxArgs: 1, Bind: expr.Signature(expr.Gives(column.TypeInt64), expr.WholeNumber), Eval: evalFactorial},
}

// bindWhole accepts floats, integers as float64, and decimals, which keep their scale.
func bindWhole(n *expr.Node) (*expr.Node, error) {
	if t := n.Args[0].Type; column.IsDecimal(t) {
		return expr.CastArgs(n, t, t)
	}
	return expr.Signature(expr.LikeFirst, expr.FloatNumber)(n)
}

// evalWhole computes ceil and floor.
func evalWhole(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	up := n.Func.Name == "ceil"
	if column.IsDecimal(args[0].Type) {
		_, scale := column.PrecisionScale(args[0].Type)
		return roundDecimals(n, args[0], rows, func(x *big.Int) *big.Int {
			unit := column.Pow10(scale)
			q, rest := new(big.Int).DivMod(x, unit, new(big.Int)) // rounds down, as the unit is positive
			if up && rest.Sign() != 0 {
				q.Add(q, big.NewInt(1))
			}
			return q.Mul(q, unit)
		})
	}
	f := math.Floor
	if up {
		f = math.Ceil
	}
	return floatFunction(f).Eval(m, n, args, rows)
}

// roundDecimals applies f to the unscaled values of x. The results have the type of n.
func roundDecimals(n *expr.Node, x column.Vec, rows column.Bitset, f func(x *big.Int) *big.Int) (column.Vec, error) {
	out, live := expr.CallRows(n, []column.Vec{x}, rows)
	out.Data = column.Zeros(n.Type, x.N)
	precision, _ := column.PrecisionScale(n.Type)
	var err error
	live.Each(x.N, func(i int) bool {
		v, _ := x.Integer(i)
		if v = f(v); !column.DigitsFit(v, precision) {
			err = sql.Errorf(sql.ErrValue, sql.NoPos, "overflow of %s in %s", n.Func.Name, n.Type)
			return false
		}
		column.SetDecimal(out.Data, i, v)
		return true
	})
	return out, err
}

// bindRound accepts a number of digits after the point, which may be negative. For a
// decimal it must be a constant, because the scale of the result depends on it.
func bindRound(n *expr.Node) (*expr.Node, error) {
	t := n.Args[0].Type
	if !column.IsDecimal(t) {
		return expr.Signature(expr.LikeFirst, expr.FloatNumber, expr.WholeNumber)(n)
	}
	digits, ok := constantDigits(n)
	if !ok {
		return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "round of %s to digits that are not a constant", t)
	}
	precision, scale := column.PrecisionScale(t)
	to := min(max(digits, 0), int64(scale))
	n, err := expr.CastArgs(n.With(n.Args[0]), column.DecimalLike(t, precision, int32(to)), t)
	if err != nil {
		return nil, err
	}
	n.Index = int(max(digits, -column.MaxPrecision256)) // for evalRound
	return n, nil
}

// constantDigits returns the second argument, or 0 if it is missing.
func constantDigits(n *expr.Node) (int64, bool) {
	if len(n.Args) == 1 {
		return 0, true
	}
	x := n.Args[1]
	if x.Op != expr.OpLit || x.IsNullLiteral() || x.Type.ID() != arrow.INT64 {
		return 0, false
	}
	return x.Value.Data.([]int64)[0], true
}

// evalRound rounds half away from zero. It scales floats, rounds and scales back, with the
// errors of these steps: round(1.005, 2) is 1.0.
func evalRound(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	if column.IsDecimal(args[0].Type) {
		_, from := column.PrecisionScale(args[0].Type)
		_, to := column.PrecisionScale(n.Type)
		return roundDecimals(n, args[0], rows, func(x *big.Int) *big.Int {
			if n.Index >= 0 {
				return column.Rescale(x, from, to)
			}
			x = column.Rescale(x, from, int32(n.Index))
			return x.Mul(x, column.Pow10(int32(-n.Index)))
		})
	}
	return scaleFloats(m, n, args, rows, math.Round)
}

// bindTrunc casts decimals to floats.
func bindTrunc(n *expr.Node) (*expr.Node, error) {
	if len(n.Args) == 1 {
		return expr.Signature(expr.LikeFirst, expr.FloatNumber)(n)
	}
	return expr.Signature(expr.LikeFirst, floatsOf(n.With(n.Args[0])), expr.WholeNumber)(n)
}

// evalTrunc truncates to a number of digits. Without that number both zeros become 0.0.
func evalTrunc(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	if len(args) == 2 {
		return scaleFloats(m, n, args, rows, math.Trunc)
	}
	return floatFunction(func(x float64) float64 {
		if x == 0 {
			return 0
		}
		return math.Trunc(x)
	}).Eval(m, n, args, rows)
}

// scaleFloats applies f to floats multiplied by a power of ten.
func scaleFloats(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset, f func(float64) float64) (column.Vec, error) {
	digits := func(int) int64 { return 0 }
	if len(args) == 2 {
		digits = column.ValuesOf[int64](args[1])
	}
	if n.Type.ID() == arrow.FLOAT32 {
		x := column.ValuesOf[float32](args[0])
		return expr.FixedRows(m, n, args, rows, func(i int) (float32, error) {
			factor := float32(powerOfTen(digits(i)))
			return float32(f(float64(x(i)*factor))) / factor, nil
		})
	}
	x := column.ValuesOf[float64](args[0])
	return expr.FixedRows(m, n, args, rows, func(i int) (float64, error) {
		factor := powerOfTen(digits(i))
		return f(x(i)*factor) / factor, nil
	})
}

// powerOfTen multiplies squares and inverts the result for negative exponents, so that
// 10^-2 equals 1/100.
func powerOfTen(exp int64) float64 {
	power, square := 1.0, 10.0
	for e := min(max(exp, -exp), 1<<20); e > 0; e >>= 1 {
		if e&1 != 0 {
			power *= square
		}
		square *= square
	}
	if exp < 0 {
		return 1 / power
	}
	return power
}

// evalGCD fails if the result is not an int64.
func evalGCD(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return wholeRows(m, n, args, rows, func(x, y *big.Int) *big.Int { return new(big.Int).GCD(nil, nil, x, y) })
}

// evalLCM returns the least common multiple, computed as x·y/gcd(x, y); it is 0 if an argument is 0.
func evalLCM(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	return wholeRows(m, n, args, rows, func(x, y *big.Int) *big.Int {
		if x.Sign() == 0 || y.Sign() == 0 {
			return new(big.Int)
		}
		gcd := new(big.Int).GCD(nil, nil, x, y)
		return x.Mul(x, y.Quo(y, gcd))
	})
}

// wholeRows computes f of the absolute values.
func wholeRows(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset, f func(x, y *big.Int) *big.Int) (column.Vec, error) {
	a, b := column.ValuesOf[int64](args[0]), column.ValuesOf[int64](args[1])
	return expr.FixedRows(m, n, args, rows, func(i int) (int64, error) {
		x, y := big.NewInt(a(i)), big.NewInt(b(i))
		z := f(x.Abs(x), y.Abs(y))
		if !z.IsInt64() {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "overflow of %s in %s", n.Func.Name, n.Type)
		}
		return z.Int64(), nil
	})
}

// evalFactorial accepts 0 to 20; 21! overflows int64.
func evalFactorial(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	value := column.ValuesOf[int64](args[0])
	return expr.FixedRows(m, n, args, rows, func(i int) (int64, error) {
		x := value(i)
		if x < 0 || x > 20 {
			return 0, sql.Errorf(sql.ErrValue, sql.NoPos, "factorial of a number that is not from 0 to 20")
		}
		product := int64(1)
		for ; x > 1; x-- {
			product *= x
		}
		return product, nil
	})
}
