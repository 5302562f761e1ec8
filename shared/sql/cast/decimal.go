package cast

import (
	"math"
	"math/big"

	"tiltyard/shared/sql/internal/column"
)

// decimals converts from or to decimals.
func (c *caster) decimals() {
	switch from := c.from.Type; {
	case !column.IsDecimal(c.to):
		c.fromDecimal()
	case column.IsDecimal(from):
		_, scale := column.PrecisionScale(from)
		c.toDecimal(func(i int) (*big.Int, bool) {
			x, _ := c.from.Integer(i)
			return x, true
		}, scale)
	case column.IsInteger(from):
		c.toDecimal(func(i int) (*big.Int, bool) { return c.from.Integer(i) }, 0)
	default:
		c.floatToDecimal()
	}
}

// toDecimal stores the numbers that value returns, which have the given scale, as decimals.
func (c *caster) toDecimal(value func(i int) (*big.Int, bool), scale int32) {
	precision, toScale := column.PrecisionScale(c.to)
	c.out.Data = column.Zeros(c.to, c.from.N)
	c.each(func(i int) bool {
		x, ok := value(i)
		if ok {
			x = column.Rescale(x, scale, toScale)
		}
		if !ok || !column.DigitsFit(x, precision) {
			return c.fail(i, "value does not fit %s", c.to)
		}
		column.SetDecimal(c.out.Data, i, x)
		return true
	})
}

// floatToDecimal scales and rounds in float64, so the last digits of the float are kept.
func (c *caster) floatToDecimal() {
	_, scale := column.PrecisionScale(c.to)
	mul := math.Pow10(int(scale))
	var at func(i int) float64
	switch d := c.from.Data.(type) {
	case []float32:
		at = func(i int) float64 { return float64(d[i]) }
	case []float64:
		at = func(i int) float64 { return d[i] }
	}
	c.toDecimal(func(i int) (*big.Int, bool) {
		f := math.Round(mul * at(i))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, false
		}
		x, _ := big.NewFloat(f).Int(nil)
		return x, true
	}, scale)
}

// fromDecimal truncates for integers. For floats it divides in float64, as native Lance
// does, which rounds twice if the unscaled value has more than 53 bits.
func (c *caster) fromDecimal() {
	_, scale := column.PrecisionScale(c.from.Type)
	if column.IsFloat(c.to) {
		out := make([]float64, c.from.N)
		div := math.Pow10(int(scale))
		c.each(func(i int) bool {
			x, _ := c.from.Integer(i)
			f, _ := new(big.Float).SetInt(x).Float64()
			out[i] = f / div
			return true
		})
		numbersFrom(c, out)
		return
	}
	div := column.Pow10(scale)
	low, high := column.IntegerRange(c.to)
	c.out.Data = column.Zeros(c.to, c.from.N)
	c.each(func(i int) bool {
		x, _ := c.from.Integer(i)
		x.Quo(x, div)
		if x.Cmp(low) < 0 || x.Cmp(high) > 0 {
			return c.fail(i, "%s is out of range of %s", c.from.Named(x), c.to)
		}
		column.SetInteger(c.out.Data, i, x)
		return true
	})
}
