package cast

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/datetime"
)

// format converts values to strings like Arrow's Rust implementation:
//
//	bool        true
//	floats      1.0  0.1  1e16  1.5e-7  inf  NaN     the shortest digits that read back
//	decimals    -0.01  1.50                          all digits of the scale
//	date32      2024-01-31
//	date64      2024-01-31T00:00:00
//	time        09:30:15.250
//	timestamp   2024-01-31T09:30:15.250              and Z or +01:00 if it has a zone
//	duration    1 days 0 hours -3 mins 2.500 secs    each part with its sign
//	lists       [a, , [b]]                           NULL is nothing; binaries in hexadecimal digits
//
// Source: arrow-cast 58, display.rs.
func (c *caster) format() {
	elem := c.from.Type
	for column.IsList(elem) {
		elem = column.ElemType(elem)
	}
	zone, err := datetime.LoadZone(column.ZoneOf(elem))
	if c.err = err; err != nil {
		return
	}
	b := column.NewTextBuilder(c.m, c.from.N)
	for i := range c.from.N {
		if (c.live == nil || c.live.Has(i)) && !c.from.IsNull(i) {
			before := len(b.Data)
			b.Data = appendText(b.Data, c.from, i, zone)
			if c.err = b.Account(); c.err != nil {
				return
			}
			if c.err = c.m.Step(64 + len(b.Data) - before); c.err != nil {
				return
			}
		}
		b.Done()
	}
	c.out.Data = b.Text()
}

// appendText appends the text of one value.
func appendText(dst []byte, v column.Vec, i int, zone *time.Location) []byte {
	switch d := v.Data.(type) {
	case column.Bitset:
		return strconv.AppendBool(dst, d.Has(i))
	case []float32:
		return appendFloat(dst, float64(d[i]), 32)
	case []float64:
		return appendFloat(dst, d[i], 64)
	case column.Lists:
		return appendList(dst, d, i, zone)
	case column.Text: // binaries within a list
		if column.IsBinary(v.Type) {
			return hex.AppendEncode(dst, d.At(i))
		}
		return append(dst, d.At(i)...)
	}
	x, _ := v.Integer(i)
	switch {
	case column.IsDecimal(v.Type):
		_, scale := column.PrecisionScale(v.Type)
		return appendDecimal(dst, x, int(scale))
	case v.Type.ID() == arrow.DURATION:
		return appendDuration(dst, x.Int64(), column.UnitOf(v.Type))
	case v.Type.ID() == arrow.DATE32:
		return datetime.AppendDate(dst, time.Unix(x.Int64()*datetime.SecondsPerDay, 0).UTC())
	case v.Type.ID() == arrow.DATE64:
		return datetime.AppendDateTime(dst, time.UnixMilli(x.Int64()).UTC())
	case column.IsTime(v.Type):
		per := datetime.PerSecond(column.UnitOf(v.Type))
		return datetime.AppendClock(dst, time.Unix(x.Int64()/per, x.Int64()%per*(1e9/per)).UTC())
	case column.IsTimestamp(v.Type):
		per := datetime.PerSecond(column.UnitOf(v.Type))
		seconds := datetime.FloorDiv(x.Int64(), per)
		t := time.Unix(seconds, (x.Int64()-seconds*per)*(1e9/per)).In(zone)
		dst = datetime.AppendDateTime(dst, t)
		if v.Type.(*arrow.TimestampType).TimeZone != "" {
			dst = datetime.AppendOffset(dst, t)
		}
		return dst
	}
	return x.Append(dst, 10)
}

// appendList appends the texts of the elements of a list.
func appendList(dst []byte, l column.Lists, i int, zone *time.Location) []byte {
	dst = append(dst, '[')
	for at := l.Off[i]; at < l.Off[i+1]; at++ {
		if at > l.Off[i] {
			dst = append(dst, ", "...)
		}
		if !l.Elems.IsNull(int(at)) {
			dst = appendText(dst, l.Elems, int(at), zone)
		}
	}
	return append(dst, ']')
}

// appendDuration appends the parts of a duration. The sign of the seconds is also that of their fraction.
func appendDuration(dst []byte, d int64, unit arrow.TimeUnit) []byte {
	per := datetime.PerSecond(unit)
	seconds, fraction := d/per, d%per
	dst = fmt.Appendf(dst, "%d days %d hours %d mins ", seconds/86400, seconds/3600%24, seconds/60%60)
	if seconds %= 60; seconds < 0 || fraction < 0 {
		dst = append(dst, '-')
		seconds, fraction = -seconds, -fraction
	}
	dst = strconv.AppendInt(dst, seconds, 10)
	if digits := 3 * int(unit); digits > 0 {
		dst = fmt.Appendf(dst, ".%0*d", digits, fraction)
	}
	return append(dst, " secs"...)
}

// appendFloat appends the shortest digits that parse to f, always with a point or an
// exponent: 1.0, 0.1, 1e16, 1.5e-7.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case f == 0:
		if math.Signbit(f) {
			dst = append(dst, '-')
		}
		return append(dst, "0.0"...)
	}
	s := strconv.AppendFloat(nil, f, 'e', -1, bits)
	mantissa, exp, _ := bytes.Cut(s, []byte("e"))
	if mantissa[0] == '-' {
		dst = append(dst, '-')
		mantissa = mantissa[1:]
	}
	digits := bytes.Replace(mantissa, []byte("."), nil, 1)
	e, _ := strconv.Atoi(string(exp))
	point := e + 1 // digits before the point
	most, least := 16, -5
	if bits == 32 {
		most, least = 13, -6
	}
	switch {
	case len(digits) <= point && point <= most: // 12300.0
		dst = append(dst, digits...)
		dst = append(dst, strings.Repeat("0", point-len(digits))...)
		return append(dst, ".0"...)
	case 0 < point && point <= most: // 12.3
		dst = append(dst, digits[:point]...)
		dst = append(dst, '.')
		return append(dst, digits[point:]...)
	case least < point && point <= 0: // 0.0123
		dst = append(dst, "0."...)
		dst = append(dst, strings.Repeat("0", -point)...)
		return append(dst, digits...)
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(dst, '.')
		dst = append(dst, digits[1:]...)
	}
	return strconv.AppendInt(append(dst, 'e'), int64(e), 10)
}

// appendDecimal appends an unscaled value with scale digits after the point.
func appendDecimal(dst []byte, x *big.Int, scale int) []byte {
	if x.Sign() < 0 {
		dst = append(dst, '-')
	}
	digits := new(big.Int).Abs(x).String()
	if scale <= 0 {
		dst = append(dst, digits...)
		if x.Sign() != 0 {
			dst = append(dst, strings.Repeat("0", -scale)...)
		}
		return dst
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	dst = append(dst, digits[:len(digits)-scale]...)
	dst = append(dst, '.')
	return append(dst, digits[len(digits)-scale:]...)
}
