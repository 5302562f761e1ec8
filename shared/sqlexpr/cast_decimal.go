package sqlexpr

import (
	"math"
	"math/big"
)

// decimals converts from or to decimals.
func (c *caster) decimals() {
	switch from := c.from.typ; {
	case !isDecimal(c.to):
		c.fromDecimal()
	case isDecimal(from):
		_, scale := precisionScale(from)
		c.toDecimal(func(i int) (*big.Int, bool) {
			x, _ := c.from.integer(i)
			return x, true
		}, scale)
	case isInteger(from):
		c.toDecimal(func(i int) (*big.Int, bool) { return c.from.integer(i) }, 0)
	default:
		c.floatToDecimal()
	}
}

// toDecimal stores the numbers that value returns, with a scale, as decimals.
func (c *caster) toDecimal(value func(i int) (*big.Int, bool), scale int32) {
	precision, toScale := precisionScale(c.to)
	c.out.data = zeroData(c.to, c.from.n)
	c.each(func(i int) bool {
		x, ok := value(i)
		if ok {
			x = rescale(x, scale, toScale)
		}
		if !ok || !digitsFit(x, precision) {
			return c.fail(i, "value does not fit %s", c.to)
		}
		setDecimal(c.out.data, i, x)
		return true
	})
}

// floatToDecimal scales and rounds in float64, and so shows the last digits of the float.
func (c *caster) floatToDecimal() {
	_, scale := precisionScale(c.to)
	mul := math.Pow10(int(scale))
	var at func(i int) float64
	switch d := c.from.data.(type) {
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

// fromDecimal cuts off the fraction for integers. For floats it divides in float64, which
// rounds twice where the unscaled value has more than 53 bits, as the native Lance does.
func (c *caster) fromDecimal() {
	_, scale := precisionScale(c.from.typ)
	if isFloat(c.to) {
		out := make([]float64, c.from.n)
		div := math.Pow10(int(scale))
		c.each(func(i int) bool {
			x, _ := c.from.integer(i)
			f, _ := new(big.Float).SetInt(x).Float64()
			out[i] = f / div
			return true
		})
		numbersFrom(c, out)
		return
	}
	div := pow10(scale)
	low, high := integerRange(c.to)
	c.out.data = zeroData(c.to, c.from.n)
	c.each(func(i int) bool {
		x, _ := c.from.integer(i)
		x.Quo(x, div)
		if x.Cmp(low) < 0 || x.Cmp(high) > 0 {
			return c.fail(i, "%s is out of range of %s", c.from.named(x), c.to)
		}
		setInteger(c.out.data, i, x)
		return true
	})
}
