package jsonb

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"

	"tiltyard/shared/lance"
)

// AppendText appends the JSON text of a value to dst, in the notation of native Lance:
// without white space, floats with the fewest digits that identify them, NaN and infinities
// as null. An empty value is null. Malformed bytes are [lance.ErrCorrupt]; kinds of values
// that JSON text does not have are [lance.ErrUnsupported].
func AppendText(dst, value []byte) ([]byte, error) {
	if len(value) == 0 {
		return append(dst, "null"...), nil
	}
	header, rest, err := takeUint32(value)
	if err != nil {
		return nil, err
	}
	if header&headerKind != scalar {
		return appendContainer(dst, value, 0)
	}
	entry, rest, err := takeUint32(rest)
	if err != nil {
		return nil, err
	}
	if entry&kindMask == kindNested {
		return nil, corrupt("an array or object in place of a scalar")
	}
	dst, _, err = appendEntry(dst, entry, rest, 0)
	return dst, err
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: JSONB: %s", lance.ErrCorrupt, fmt.Sprintf(format, args...))
}

func takeUint32(b []byte) (uint32, []byte, error) {
	if len(b) < 4 {
		return 0, nil, corrupt("the value ends too early")
	}
	return binary.BigEndian.Uint32(b), b[4:], nil
}

// takeEntries returns n entries, and the bytes after them.
func takeEntries(b []byte, n int) (entries func(i int) uint32, rest []byte, err error) {
	if len(b)/4 < n {
		return nil, nil, corrupt("%d entries in %d bytes", n, len(b))
	}
	return func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }, b[4*n:], nil
}

// appendContainer dispatches on the header: scalar, array or object.
func appendContainer(dst, value []byte, depth int) ([]byte, error) {
	if depth == maxDepth {
		return nil, corrupt("nested deeper than %d", maxDepth)
	}
	header, rest, err := takeUint32(value)
	if err != nil {
		return nil, err
	}
	n := int(header &^ headerKind)
	switch header & headerKind {
	case arrayOf:
		return appendArray(dst, rest, n, depth)
	case objectOf:
		return appendObject(dst, rest, n, depth)
	}
	return nil, corrupt("header %#x", header)
}

// appendArray appends an array. The entries come first, then the data of each in order.
func appendArray(dst, b []byte, n, depth int) ([]byte, error) {
	entries, data, err := takeEntries(b, n)
	if err != nil {
		return nil, err
	}
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, data, err = appendEntry(dst, entries(i), data, depth); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendObject appends an object. Keys come first in the data, so a second cursor follows the
// values.
func appendObject(dst, b []byte, n, depth int) ([]byte, error) {
	entries, keys, err := takeEntries(b, 2*n)
	if err != nil {
		return nil, err
	}
	values := keys // begin after the keys
	for i := range n {
		if entries(i)&kindMask != kindString {
			return nil, corrupt("a key that is not a string")
		}
		if _, values, err = takeData(entries(i), values); err != nil {
			return nil, err
		}
	}
	dst = append(dst, '{')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, keys, err = appendEntry(dst, entries(i), keys, depth); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, values, err = appendEntry(dst, entries(n+i), values, depth); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// takeData returns the data of an entry, and the bytes after it.
func takeData(entry uint32, b []byte) (data, rest []byte, err error) {
	n := int(entry & maxLength)
	if n > len(b) {
		return nil, nil, corrupt("an entry of %d bytes where %d are left", n, len(b))
	}
	return b[:n], b[n:], nil
}

// appendEntry appends the text of an entry, whose data begins b, and returns the bytes
// after the data.
func appendEntry(dst []byte, entry uint32, b []byte, depth int) (text, rest []byte, err error) {
	data, rest, err := takeData(entry, b)
	if err != nil {
		return nil, nil, err
	}
	switch entry & kindMask {
	case kindNull:
		dst = append(dst, "null"...)
	case kindFalse:
		dst = append(dst, "false"...)
	case kindTrue:
		dst = append(dst, "true"...)
	case kindString:
		dst, err = appendString(dst, data)
	case kindNumber:
		dst, err = appendNumber(dst, data)
	case kindNested:
		dst, err = appendContainer(dst, data, depth+1)
	case kindOther:
		err = fmt.Errorf("%w: JSONB values that JSON text cannot express", lance.ErrUnsupported)
	default:
		err = corrupt("entry %#x", entry)
	}
	return dst, rest, err
}

// appendString appends a quoted JSON string with the necessary escapes.
func appendString(dst, s []byte) ([]byte, error) {
	if !utf8.Valid(s) {
		return nil, corrupt("a string that is not UTF-8")
	}
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case c == '\b':
			dst = append(dst, '\\', 'b')
		case c == '\f':
			dst = append(dst, '\\', 'f')
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, '"'), nil
}

// appendNumber appends a number. JSON text has no NaN and no infinity; both become null.
func appendNumber(dst, b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, corrupt("a number without bytes")
	}
	kind, b := b[0], b[1:]
	switch kind {
	case numberZero:
		return append(dst, '0'), nil
	case numberNaN, numberInf, numberMinusInf:
		return append(dst, "null"...), nil
	case numberInt, numberUint:
		if n, ok := integer(b); ok {
			if kind == numberUint {
				return strconv.AppendUint(dst, n, 10), nil
			}
			shift := 64 - 8*len(b)
			return strconv.AppendInt(dst, int64(n)<<shift>>shift, 10), nil
		}
	case numberFloat:
		if len(b) == 8 {
			return appendFloat(dst, math.Float64frombits(binary.BigEndian.Uint64(b))), nil
		}
	case numberDecimal:
		if f, ok := decimal(b); ok {
			return appendFloat(dst, f), nil
		}
	}
	return nil, corrupt("a number of kind %#x in %d bytes", kind, len(b))
}

func integer(b []byte) (uint64, bool) {
	switch len(b) {
	case 1, 2, 4, 8:
		n := uint64(0)
		for _, c := range b {
			n = n<<8 | uint64(c)
		}
		return n, true
	}
	return 0, false
}

// decimal returns a decimal as a float, which is how native Lance shows it. A decimal is a
// big-endian integer and a u8, the number of digits after the point; older writers put a
// precision between the two for the wider ones.
func decimal(b []byte) (float64, bool) {
	var width int
	switch len(b) {
	case 9, 17, 33:
		width = len(b) - 1
	case 18, 34:
		width = len(b) - 2
	default:
		return 0, false
	}
	n := new(big.Int).SetBytes(b[:width])
	if b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*width)))
	}
	f, _ := new(big.Float).SetInt(n).Float64()
	return f / math.Pow10(int(b[len(b)-1])), true
}

// appendFloat appends a float in the notation of the native writer: with an exponent below
// 1e-5 and from 1e16 on, which has a sign if negative and no leading zeros, and otherwise
// with a point.
func appendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	if size := math.Abs(f); size != 0 && (size < 1e-5 || size >= 1e16) {
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
		if at := len(dst) - 2; dst[at] == '0' && dst[at-1] < '0' { // Go writes two digits at least
			dst = append(dst[:at], dst[at+1])
		}
		return dst
	}
	before := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, c := range dst[before:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}
