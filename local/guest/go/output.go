package guest

import (
	"encoding/binary"
	"math"
	"strconv"
	"unsafe"
)

// An Output is an output column of a function.
type Output interface {
	// Null appends a null.
	Null()
	// Fail appends a null, and the reason for it.
	Fail(err error)

	state() *output
	encode(s *streamWriter)
}

// An output contains the rows and nulls of a column, which all types have.
type output struct {
	rows, nulls int
	validity    []byte
	failed      map[int]string
}

func (o *output) state() *output { return o }

// add appends a validity bit.
func (o *output) add(valid bool) {
	if o.rows%8 == 0 {
		o.validity = append(o.validity, 0)
	}
	if valid {
		o.validity[o.rows/8] |= 1 << (o.rows % 8)
	} else {
		o.nulls++
	}
	o.rows++
}

// fail records the reason for a null in the next row.
func (o *output) fail(err error) {
	if o.failed == nil {
		o.failed = map[int]string{}
	}
	o.failed[o.rows] = typeOf(err, "Error") + ": " + err.Error()
}

// Strings is a column of texts.
type Strings struct {
	output
	offsets []byte
	text    []byte
}

// Append appends a text, which must be UTF-8.
func (s *Strings) Append(text string) {
	s.text = append(s.text, text...)
	s.end(true)
}

// Null appends a null.
func (s *Strings) Null() { s.end(false) }

// Fail appends a null, and the reason for it.
func (s *Strings) Fail(err error) {
	s.fail(err)
	s.Null()
}

func (s *Strings) end(valid bool) {
	s.add(valid)
	s.offsets = binary.LittleEndian.AppendUint32(s.offsets, uint32(len(s.text)))
}

func (s *Strings) encode(w *streamWriter) {
	w.column(field{name: "value", kind: kindUtf8, typ: empty}, &s.output, append(make([]byte, 4), s.offsets...), s.text)
}

// A Number is a type of the values of [Numbers].
type Number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// Numbers is a column of numbers of one type.
type Numbers[T Number] struct {
	output
	values []byte
}

// Append appends a number.
func (n *Numbers[T]) Append(value T) {
	n.values = appendNumber(n.values, value)
	n.add(true)
}

// Null appends a null.
func (n *Numbers[T]) Null() {
	n.values = appendNumber(n.values, T(0))
	n.add(false)
}

// Fail appends a null, and the reason for it.
func (n *Numbers[T]) Fail(err error) {
	n.fail(err)
	n.Null()
}

func (n *Numbers[T]) encode(w *streamWriter) { w.column(numberField[T]("value"), &n.output, n.values) }

func appendNumber[T Number](to []byte, value T) []byte {
	switch v := any(value).(type) {
	case float32:
		return binary.LittleEndian.AppendUint32(to, math.Float32bits(v))
	case float64:
		return binary.LittleEndian.AppendUint64(to, math.Float64bits(v))
	}
	return binary.LittleEndian.AppendUint64(to, uint64(value))[:len(to)+int(unsafe.Sizeof(value))]
}

// numberField returns the field of a column of numbers.
func numberField[T Number](name string) field {
	var zero T
	bits, minus := uint64(8*unsafe.Sizeof(zero)), T(0)
	minus--
	switch any(zero).(type) {
	case float32:
		return field{name: name, kind: kindFloat, typ: []slot{{size: 2, value: 1}}}
	case float64:
		return field{name: name, kind: kindFloat, typ: []slot{{size: 2, value: 2}}}
	}
	signed := uint64(0)
	if minus < 0 {
		signed = 1
	}
	return field{name: name, kind: kindInt, typ: []slot{{size: 4, value: bits}, {size: 1, value: signed}}}
}

// Bools is a column of truth values.
type Bools struct {
	output
	values []byte
}

// Append appends a truth value.
func (b *Bools) Append(value bool) { b.end(value, true) }

// Null appends a null.
func (b *Bools) Null() { b.end(false, false) }

// Fail appends a null, and the reason for it.
func (b *Bools) Fail(err error) {
	b.fail(err)
	b.Null()
}

func (b *Bools) end(value, valid bool) {
	if b.rows%8 == 0 {
		b.values = append(b.values, 0)
	}
	if value {
		b.values[b.rows/8] |= 1 << (b.rows % 8)
	}
	b.add(valid)
}

func (b *Bools) encode(w *streamWriter) {
	w.column(field{name: "value", kind: kindBool, typ: empty}, &b.output, b.values)
}

// Vectors is a column of float32 vectors of equal length.
type Vectors struct {
	Length int // must be set first, also for an empty batch
	output
	items Numbers[float32]
}

// Append appends a vector. It panics if the length differs.
func (v *Vectors) Append(vector []float32) {
	if len(vector) != v.Length {
		panic("a vector of " + strconv.Itoa(len(vector)) + " numbers in a column of vectors of " + strconv.Itoa(v.Length))
	}
	for _, item := range vector {
		v.items.Append(item)
	}
	v.add(true)
}

// Null appends a null.
func (v *Vectors) Null() {
	for range v.Length {
		v.items.Append(0)
	}
	v.add(false)
}

// Fail appends a null, and the reason for it.
func (v *Vectors) Fail(err error) {
	v.fail(err)
	v.Null()
}

func (v *Vectors) encode(w *streamWriter) {
	item := numberField[float32]("item")
	w.column(field{name: "value", kind: kindFixedSizeList, typ: []slot{{size: 4, value: uint64(v.Length)}}, child: &item}, &v.output)
	w.array(&v.items.output, v.items.values)
}

// StringLists is a column of lists of texts.
type StringLists struct {
	output
	offsets []byte
	items   Strings
}

// Append appends a list.
func (l *StringLists) Append(list []string) {
	for _, text := range list {
		l.items.Append(text)
	}
	l.end(true)
}

// Null appends a null.
func (l *StringLists) Null() { l.end(false) }

// Fail appends a null, and the reason for it.
func (l *StringLists) Fail(err error) {
	l.fail(err)
	l.Null()
}

func (l *StringLists) end(valid bool) {
	l.add(valid)
	l.offsets = binary.LittleEndian.AppendUint32(l.offsets, uint32(l.items.rows))
}

func (l *StringLists) encode(w *streamWriter) {
	w.column(field{name: "value", kind: kindList, typ: empty, child: &field{name: "item", kind: kindUtf8, typ: empty}}, &l.output, append(make([]byte, 4), l.offsets...))
	w.array(&l.items.output, append(make([]byte, 4), l.items.offsets...), l.items.text)
}
