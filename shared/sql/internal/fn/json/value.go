package json

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/cast"
)

// JSON in binary form is a container, with numbers big-endian:
//
//	scalar   u32 0x2000_0000     | entry                            | data
//	array    u32 0x8000_0000 | n | n entries                        | data of each
//	object   u32 0x4000_0000 | n | n entries of keys, n of values   | keys, data of each
//
// An entry is a u32: a kind, and in the lower 28 bits the length of the data.
//
// Source: crate lance-jsonb.
const (
	jsonScalar     = 0x2000_0000
	jsonArray      = 0x8000_0000
	jsonObject     = 0x4000_0000
	jsonHeaderMask = 0xE000_0000
	jsonCountMask  = 0x1FFF_FFFF

	jsonKindMask   = 0x7000_0000
	jsonLengthMask = 0x0FFF_FFFF
	jsonMaxDepth   = 500
)

// Kinds of entries.
const (
	jsonNull uint32 = iota << 28
	jsonString
	jsonNumber
	jsonFalse
	jsonTrue
	jsonNested // an array or object
)

// A jsonValue is an entry with its data. The data of an array or object is its container.
type jsonValue struct {
	entry uint32
	data  []byte
}

var errJSON = sql.Errorf(sql.ErrValue, sql.NoPos, "a document is not json in binary form")

// readJSON reads a document.
func readJSON(b []byte) (jsonValue, error) {
	if len(b) == 0 {
		return jsonValue{entry: jsonNull}, nil
	}
	if len(b) < 4 {
		return jsonValue{}, errJSON
	}
	if binary.BigEndian.Uint32(b)&jsonHeaderMask != jsonScalar {
		v := jsonValue{entry: jsonNested, data: b}
		return v, v.check()
	}
	if len(b) < 8 {
		return jsonValue{}, errJSON
	}
	v := jsonValue{entry: binary.BigEndian.Uint32(b[4:]), data: b[8:]}
	if v.kind() == jsonNested {
		return jsonValue{}, errJSON
	}
	return v, nil
}

func (v jsonValue) kind() uint32 { return v.entry & jsonKindMask }

func (v jsonValue) header() uint32 {
	if v.kind() != jsonNested || len(v.data) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(v.data)
}

func (v jsonValue) isArray() bool  { return v.header()&jsonHeaderMask == jsonArray }
func (v jsonValue) isObject() bool { return v.header()&jsonHeaderMask == jsonObject }
func (v jsonValue) count() int     { return int(v.header() & jsonCountMask) }

// entries returns the number of entries in the container.
func (v jsonValue) entries() int {
	if v.isObject() {
		return 2 * v.count()
	}
	return v.count()
}

// check returns an error unless all entries lie within the data.
func (v jsonValue) check() error {
	if !v.isArray() && !v.isObject() || (len(v.data)-4)/4 < v.entries() {
		return errJSON
	}
	return nil
}

// slot returns the value of entry i, whose data begins at offset at, and the end of the data.
func (v jsonValue) slot(i, at int) (item jsonValue, next int, err error) {
	entry := binary.BigEndian.Uint32(v.data[4+4*i:])
	next = at + int(entry&jsonLengthMask)
	if next > len(v.data) {
		return jsonValue{}, 0, errJSON
	}
	item = jsonValue{entry: entry, data: v.data[at:next]}
	if item.kind() == jsonNested {
		err = item.check()
	}
	return item, next, err
}

// each calls f for the values of an array or object, with their keys, until f returns
// false.
func (v jsonValue) each(f func(i int, key string, item jsonValue) bool) error {
	at := 4 + 4*v.entries()
	var keys []string
	if v.isObject() {
		for i := range v.count() {
			key, next, err := v.slot(i, at)
			if err != nil {
				return err
			}
			keys = append(keys, string(key.data))
			at = next
		}
	}
	for i := range v.count() {
		item, next, err := v.slot(len(keys)+i, at)
		if err != nil {
			return err
		}
		key := ""
		if keys != nil {
			key = keys[i]
		}
		if !f(i, key, item) {
			return nil
		}
		at = next
	}
	return nil
}

// member returns the value of a key in an object.
func (v jsonValue) member(key string) (found jsonValue, ok bool, err error) {
	err = v.each(func(_ int, k string, item jsonValue) bool {
		if k == key {
			found, ok = item, true
		}
		return !ok
	})
	return found, ok, err
}

// element returns an element of an array.
func (v jsonValue) element(index int) (found jsonValue, ok bool, err error) {
	err = v.each(func(i int, _ string, item jsonValue) bool {
		if i == index {
			found, ok = item, true
		}
		return !ok
	})
	return found, ok, err
}

// appendDocument appends the value as a document of its own.
func (v jsonValue) appendDocument(dst []byte) []byte {
	if v.kind() != jsonNested {
		dst = binary.BigEndian.AppendUint32(dst, jsonScalar)
		dst = binary.BigEndian.AppendUint32(dst, v.entry)
	}
	return append(dst, v.data...)
}

// number decodes a number: an integer if isInt is set, in two's complement if negative, and
// otherwise a float.
func (v jsonValue) number() (bits uint64, negative, isInt bool, f float64, err error) {
	if len(v.data) == 0 {
		return 0, false, false, 0, errJSON
	}
	for _, b := range v.data[1:min(len(v.data), 9)] {
		bits = bits<<8 | uint64(b)
	}
	size := len(v.data) - 1
	switch kind := v.data[0]; {
	case kind == 0x00:
		return 0, false, true, 0, nil
	case kind == 0x10:
		return 0, false, false, math.NaN(), nil
	case kind == 0x20:
		return 0, false, false, math.Inf(1), nil
	case kind == 0x30:
		return 0, false, false, math.Inf(-1), nil
	case kind == 0x40 && (size == 1 || size == 2 || size == 4 || size == 8):
		shift := 64 - 8*size
		signed := int64(bits<<shift) >> shift
		return uint64(signed), signed < 0, true, float64(signed), nil
	case kind == 0x50 && (size == 1 || size == 2 || size == 4 || size == 8):
		return bits, false, true, float64(bits), nil
	case kind == 0x60 && size == 8:
		return 0, false, false, math.Float64frombits(bits), nil
	}
	return 0, false, false, 0, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "a number of json in binary form of kind %#x", v.data[0])
}

// integer converts a value to an int64; ok is false for null.
func (v jsonValue) integer() (x int64, ok bool, err error) {
	switch v.kind() {
	case jsonNull:
		return 0, false, nil
	case jsonTrue:
		return 1, true, nil
	case jsonFalse:
		return 0, true, nil
	case jsonNumber:
		bits, negative, isInt, f, err := v.number()
		if err != nil || isInt && (negative || bits <= math.MaxInt64) {
			return int64(bits), err == nil, err
		}
		if x, ok := roundedInteger(f); ok && !isInt {
			return x, true, nil
		}
	case jsonString:
		if x, err := strconv.ParseInt(string(v.data), 10, 64); err == nil {
			return x, true, nil
		}
		if f, ok := cast.ParseFloat(string(v.data), 64); ok {
			if x, ok := roundedInteger(f); ok {
				return x, true, nil
			}
		}
	}
	return 0, false, sql.Errorf(sql.ErrValue, sql.NoPos, "a json value cannot be read as an integer")
}

// roundedInteger rounds half away from zero, if the result is an int64.
func roundedInteger(f float64) (int64, bool) {
	f = math.Round(f)
	if !(f >= math.MinInt64 && f < math.MaxInt64) {
		return 0, false
	}
	return int64(f), true
}

// float converts a value to a float64; ok is false for null.
func (v jsonValue) float() (x float64, ok bool, err error) {
	switch v.kind() {
	case jsonNull:
		return 0, false, nil
	case jsonTrue:
		return 1, true, nil
	case jsonFalse:
		return 0, true, nil
	case jsonNumber:
		_, _, _, f, err := v.number()
		return f, err == nil, err
	case jsonString:
		if f, ok := cast.ParseFloat(string(v.data), 64); ok {
			return f, true, nil
		}
	}
	return 0, false, sql.Errorf(sql.ErrValue, sql.NoPos, "a json value cannot be read as a number")
}

// appendText appends the value as JSON without white space.
func (v jsonValue) appendText(dst []byte, depth int) ([]byte, error) {
	switch v.kind() {
	case jsonNull:
		return append(dst, "null"...), nil
	case jsonTrue:
		return append(dst, "true"...), nil
	case jsonFalse:
		return append(dst, "false"...), nil
	case jsonString:
		return appendQuoted(dst, string(v.data)), nil
	case jsonNumber:
		return v.appendNumber(dst)
	case jsonNested:
		return v.appendNested(dst, depth)
	}
	return nil, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "a value of json in binary form that json text does not have")
}

// appendNested appends an array or object as JSON text. Nesting is bounded by jsonMaxDepth, because the
// recursion uses the stack.
func (v jsonValue) appendNested(dst []byte, depth int) ([]byte, error) {
	if depth == jsonMaxDepth {
		return nil, sql.Errorf(sql.ErrTooLarge, sql.NoPos, "json nested more than %d deep", jsonMaxDepth)
	}
	brackets := "[]"
	if v.isObject() {
		brackets = "{}"
	}
	dst = append(dst, brackets[0])
	var inner error
	err := v.each(func(i int, key string, item jsonValue) bool {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.isObject() {
			dst = append(appendQuoted(dst, key), ':')
		}
		dst, inner = item.appendText(dst, depth+1)
		return inner == nil
	})
	if err == nil {
		err = inner
	}
	return append(dst, brackets[1]), err
}

// appendNumber appends a number. A float has the fewest digits that identify it, and always
// the form of a float.
func (v jsonValue) appendNumber(dst []byte) ([]byte, error) {
	bits, negative, isInt, f, err := v.number()
	switch {
	case err != nil:
		return nil, err
	case isInt && negative:
		return strconv.AppendInt(dst, int64(bits), 10), nil
	case isInt:
		return strconv.AppendUint(dst, bits, 10), nil
	case math.IsNaN(f) || math.IsInf(f, 0):
		return append(dst, "null"...), nil
	}
	if a := math.Abs(f); a != 0 && (a < 1e-5 || a >= 1e16) {
		mantissa, exp, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
		sign := exp[:1]
		if sign == "-" {
			dst = append(dst, mantissa...)
			return append(append(dst, "e-"...), strings.TrimLeft(exp[1:], "0")...), nil
		}
		dst = append(dst, mantissa...)
		return append(append(dst, "e+"...), strings.TrimLeft(exp[1:], "0")...), nil
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return append(dst, text...), nil
}

// appendQuoted appends a string in quotes, with only the escapes that JSON requires.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c == '\f':
			dst = append(dst, `\f`...)
		case c < 0x20:
			const hex = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
