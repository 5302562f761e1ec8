package jsonb

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrSyntax means that a text is not JSON.
var ErrSyntax = errors.New("invalid JSON")

// Append appends the binary form of a JSON text to dst. It accepts the same deviations from
// the syntax as native Lance, so that both can store the same texts:
//
//   - no text is null, and so is a missing item of an array
//   - NaN and Infinity are numbers, and words are in any case
//   - numbers may have a plus sign, zeros in front, or no digits on one side of the point,
//     and may be hexadecimal integers
//   - strings may be in single quotes, and keys without quotes
//
// The error is [ErrSyntax], with the position.
func Append(dst []byte, text string) ([]byte, error) {
	p := parser{text: text, out: dst}
	if !utf8.ValidString(text) {
		p.fail("not UTF-8")
	}
	p.space()
	if c := p.peek(); c == '[' || c == '{' {
		p.container(0)
	} else {
		p.out = binary.BigEndian.AppendUint32(p.out, scalar)
		at := p.entries(1)
		p.setEntry(at, p.value(0))
	}
	if p.space(); p.at < len(p.text) {
		p.fail("text after the value")
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.out, nil
}

// A parser writes values while it reads them. After an error it stands at the end of the
// text, and its output is not valid.
type parser struct {
	text string
	at   int
	out  []byte
	err  error
}

// fail records the first error and moves to the end of the text, which ends the parse.
func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s at byte %d", ErrSyntax, fmt.Sprintf(format, args...), p.at)
		p.at = len(p.text)
	}
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// take skips the next byte if it is in set, and reports whether it is.
func (p *parser) take(set string) bool {
	if p.at < len(p.text) && strings.IndexByte(set, p.text[p.at]) >= 0 {
		p.at++
		return true
	}
	return false
}

// space skips white space.
func (p *parser) space() {
	for p.take(" \t\n\r\f") {
	}
}

// digits skips digits and returns their number.
func (p *parser) digits() int {
	from := p.at
	for p.take("0123456789") {
	}
	return p.at - from
}

// word skips a word, given in lower case, and reports whether it comes next in any case.
func (p *parser) word(w string) bool {
	if rest := p.text[p.at:]; len(rest) < len(w) || !strings.EqualFold(rest[:len(w)], w) {
		return false
	}
	p.at += len(w)
	return true
}

// entries reserves n entries in the output and returns their position.
func (p *parser) entries(n int) int {
	p.out = append(p.out, make([]byte, 4*n)...)
	return len(p.out) - 4*n
}

func (p *parser) setEntry(at int, entry uint32) { binary.BigEndian.PutUint32(p.out[at:], entry) }

// entry returns the entry of a kind for the data from a position on.
func (p *parser) entry(kind uint32, from int) uint32 {
	n := len(p.out) - from
	if n > maxLength {
		p.fail("a value of more than %d bytes", maxLength)
		return 0
	}
	return kind | uint32(n)
}

// value parses the next value, appends its data and returns its entry.
func (p *parser) value(depth int) uint32 {
	from := len(p.out)
	switch c := p.peek(); {
	case p.at == len(p.text):
		return kindNull
	case c == '[' || c == '{':
		p.container(depth + 1)
		return p.entry(kindNested, from)
	case c == '"' || c == '\'':
		p.string()
		return p.entry(kindString, from)
	case p.word("null"):
		return kindNull
	case p.word("true"):
		return kindTrue
	case p.word("false"):
		return kindFalse
	}
	p.number()
	return p.entry(kindNumber, from)
}

func (p *parser) container(depth int) {
	switch {
	case depth == maxDepth:
		p.fail("nested deeper than %d", maxDepth)
	case p.take("["):
		p.array(depth)
	case p.take("{"):
		p.object(depth)
	}
}

// separator skips the comma or the end after an item, and reports whether another item
// follows.
func (p *parser) separator(end string) bool {
	switch p.space(); {
	case p.take(end):
		return false
	case p.take(","):
		p.space()
		return true
	}
	p.fail("want a comma or %s", end)
	return false
}

// array appends an array. The number of its entries is known only at its end, so the data
// is written first and then moved behind them.
func (p *parser) array(depth int) {
	start := len(p.out)
	var entries []uint32
	p.space()
	for more := !p.take("]"); more; more = p.separator("]") {
		if c := p.peek(); c == ',' || c == ']' {
			entries = append(entries, kindNull)
		} else {
			entries = append(entries, p.value(depth))
		}
	}
	p.insert(start, arrayOf, entries)
}

// insert inserts the header and the entries of a container before its data.
func (p *parser) insert(start int, header uint32, entries []uint32) {
	if p.err != nil {
		return
	}
	data := len(p.out) - start
	n := len(entries)
	if header == objectOf {
		n /= 2
	}
	room := p.entries(1 + len(entries))
	copy(p.out[len(p.out)-data:], p.out[start:room])
	p.setEntry(start, header|uint32(n))
	for i, e := range entries {
		p.setEntry(start+4+4*i, e)
	}
}

// A member is a member of an object: its key, and where its value is in the output.
type member struct {
	key        string
	entry      uint32
	value, end int
}

// object parses members and writes them sorted by key. A repeated key is an error.
func (p *parser) object(depth int) {
	start := len(p.out)
	var members []member
	p.space()
	for more := !p.take("}"); more; more = p.separator("}") {
		members = append(members, p.member(depth))
	}
	if p.err != nil {
		return
	}
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	var entries []uint32
	var data []byte
	for i, m := range members {
		if i > 0 && members[i-1].key == m.key {
			p.fail("the key %q occurs twice", m.key)
			return
		}
		entries = append(entries, kindString|uint32(len(m.key)))
		data = append(data, m.key...)
	}
	for _, m := range members {
		entries = append(entries, m.entry)
		data = append(data, p.out[m.value:m.end]...)
	}
	p.out = append(p.out[:start], data...)
	p.insert(start, objectOf, entries)
}

// member parses a key and its value. Keys may be quoted or bare.
func (p *parser) member(depth int) member {
	from := len(p.out)
	if c := p.peek(); c == '"' || c == '\'' {
		p.string()
	} else {
		p.bareKey()
	}
	m := member{key: string(p.out[from:])}
	if len(m.key) > maxLength {
		p.fail("a key of more than %d bytes", maxLength)
	}
	p.out = p.out[:from]
	if p.space(); !p.take(":") {
		p.fail("want a colon after a key")
		return m
	}
	p.space()
	m.value = len(p.out)
	m.entry = p.value(depth)
	m.end = len(p.out)
	return m
}

// bareKey appends a key without quotes: letters, _ and $, and digits after the first
// character.
func (p *parser) bareKey() {
	from := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || c >= utf8.RuneSelf
		if !letter && (c < '0' || c > '9' || p.at == from) {
			break
		}
		p.at++
	}
	if p.at == from {
		p.fail("want a key")
	}
	p.out = append(p.out, p.text[from:p.at]...)
}

// number parses a decimal or hexadecimal number, nan or infinity, and writes the smallest form.
func (p *parser) number() {
	from := p.at
	negative := p.peek() == '-'
	p.take("+-")
	switch {
	case !negative && p.word("nan"):
		p.out = append(p.out, numberNaN)
		return
	case p.word("infinity"):
		p.float(math.Inf(1), negative)
		return
	case p.word("0x"):
		p.hexadecimal(negative)
		return
	}
	digits := p.digits()
	fraction := 0
	if p.take(".") {
		fraction = p.digits()
	}
	if digits+fraction == 0 {
		p.fail("want a value")
		return
	}
	whole := p.text[from:p.at]
	exponent := p.take("eE")
	if exponent {
		if p.take("+-"); p.digits() == 0 {
			p.fail("want an exponent")
			return
		}
	}
	if fraction == 0 && !exponent && p.integer(strings.TrimSuffix(strings.TrimPrefix(whole, "+"), ".")) {
		return
	}
	f, err := strconv.ParseFloat(p.text[from:p.at], 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range is infinite, or zero
		p.fail("want a number")
	}
	p.float(f, false)
}

// integer appends an integer, and reports whether it fits in 64 bits.
func (p *parser) integer(s string) bool {
	if n, err := strconv.ParseUint(strings.TrimPrefix(s, "-"), 10, 64); err == nil && (n == 0 || s[0] != '-') {
		p.unsigned(n)
		return true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil {
		p.signed(n)
	}
	return err == nil
}

func (p *parser) hexadecimal(negative bool) {
	from := p.at
	for p.take("0123456789abcdefABCDEF") {
	}
	n, err := strconv.ParseUint(p.text[from:p.at], 16, 64)
	switch {
	case err != nil || negative && n > 1<<63:
		p.fail("want a hexadecimal integer of 64 bits")
	case negative:
		p.signed(-int64(n))
	default:
		p.unsigned(n)
	}
}

// unsigned writes an unsigned integer in the fewest bytes.
func (p *parser) unsigned(n uint64) {
	switch {
	case n == 0:
		p.out = append(p.out, numberZero)
	case n <= math.MaxUint8:
		p.out = append(p.out, numberUint, byte(n))
	case n <= math.MaxUint16:
		p.out = binary.BigEndian.AppendUint16(append(p.out, numberUint), uint16(n))
	case n <= math.MaxUint32:
		p.out = binary.BigEndian.AppendUint32(append(p.out, numberUint), uint32(n))
	default:
		p.out = binary.BigEndian.AppendUint64(append(p.out, numberUint), n)
	}
}

// signed writes a signed integer in the fewest bytes.
func (p *parser) signed(n int64) {
	switch {
	case n == 0:
		p.out = append(p.out, numberZero)
	case n == int64(int8(n)):
		p.out = append(p.out, numberInt, byte(n))
	case n == int64(int16(n)):
		p.out = binary.BigEndian.AppendUint16(append(p.out, numberInt), uint16(n))
	case n == int64(int32(n)):
		p.out = binary.BigEndian.AppendUint32(append(p.out, numberInt), uint32(n))
	default:
		p.out = binary.BigEndian.AppendUint64(append(p.out, numberInt), uint64(n))
	}
}

func (p *parser) float(f float64, negative bool) {
	if negative {
		f = -f
	}
	switch {
	case math.IsInf(f, 1):
		p.out = append(p.out, numberInf)
	case math.IsInf(f, -1):
		p.out = append(p.out, numberMinusInf)
	default:
		p.out = binary.BigEndian.AppendUint64(append(p.out, numberFloat), math.Float64bits(f))
	}
}
