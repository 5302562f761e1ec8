// Package pb holds the protobuf messages of the Lance format as plain Go structs, each
// with a reader and a writer over the wire format.
//
// The structs carry the numbers of their fields; the command in gen writes their readers
// and writers over protowire. They differ from those of the usual generator: unknown fields
// survive a read and a write as raw bytes, the size of the input bounds allocation, parts
// of the input are used and not copied, and no code runs at program start. A few messages
// whose form is not that of their struct have readers and writers by hand.
package pb

//go:generate go run ./gen

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrWire means that bytes are not a message of the expected type.
var ErrWire = errors.New("malformed protobuf message")

// A Scanner walks the fields of one encoded message. The zero value is an empty message;
// use NewScanner for others. It stops at the first error, which Err returns.
//
//	for s := NewScanner(b); s.Next(); {
//		switch s.Num {
//		case 1: m.Name = s.String()
//		default: m.Unknown = append(m.Unknown, s.Raw()...)
//		}
//	}
type Scanner struct {
	Num  protowire.Number // number of the current field
	Type protowire.Type   // wire type of the current field

	rest  []byte // what follows the current field
	field []byte // the current field, tag included
	value []byte // the current field's value (for Bytes: without its length)
	num   uint64 // the current value of a varint, fixed32 or fixed64 field
	err   error
}

// NewScanner returns a Scanner over an encoded message. Bytes returns slices of b.
func NewScanner(b []byte) *Scanner { return &Scanner{rest: b} }

// Next moves to the next field and reports whether there is one.
func (s *Scanner) Next() bool {
	if s.err != nil || len(s.rest) == 0 {
		return false
	}
	num, typ, n := protowire.ConsumeTag(s.rest)
	if n < 0 {
		return s.fail("bad tag")
	}
	body := s.rest[n:]
	var m int
	s.num, s.value = 0, nil
	switch typ {
	case protowire.VarintType:
		s.num, m = protowire.ConsumeVarint(body)
	case protowire.Fixed32Type:
		var v uint32
		v, m = protowire.ConsumeFixed32(body)
		s.num = uint64(v)
	case protowire.Fixed64Type:
		s.num, m = protowire.ConsumeFixed64(body)
	case protowire.BytesType:
		s.value, m = protowire.ConsumeBytes(body)
	default:
		m = protowire.ConsumeFieldValue(num, typ, body)
	}
	if m < 0 {
		return s.fail(fmt.Sprintf("bad value of field %d", num))
	}
	s.Num, s.Type = num, typ
	s.field, s.rest = s.rest[:n+m], body[m:]
	return true
}

func (s *Scanner) fail(why string) bool {
	s.err = fmt.Errorf("%w: %s", ErrWire, why)
	return false
}

// Err returns the error that ended the scan, or nil.
func (s *Scanner) Err() error { return s.err }

// Fail ends the scan with err, unless it has failed already.
func (s *Scanner) Fail(err error) {
	if s.err == nil && err != nil {
		s.err = err
	}
}

func (s *Scanner) want(t protowire.Type) bool {
	if s.Type != t {
		s.fail(fmt.Sprintf("field %d has wire type %d, want %d", s.Num, s.Type, t))
		return false
	}
	return true
}

// Raw returns the current field with its tag, so that it can be kept as unknown.
func (s *Scanner) Raw() []byte { return s.field }

// Uint64 returns the current varint field.
func (s *Scanner) Uint64() uint64 {
	s.want(protowire.VarintType)
	return s.num
}

// Uint32 returns the current varint field. A value that does not fit is an error.
func (s *Scanner) Uint32() uint32 {
	if s.want(protowire.VarintType) && s.num > math.MaxUint32 {
		s.fail(fmt.Sprintf("field %d is past 32 bits", s.Num))
	}
	return uint32(s.num)
}

// Int32 returns the current varint field as a (sign-extended) int32.
func (s *Scanner) Int32() int32 {
	s.want(protowire.VarintType)
	return int32(s.num)
}

// Int64 returns the current varint field as an int64.
func (s *Scanner) Int64() int64 {
	s.want(protowire.VarintType)
	return int64(s.num)
}

// Bool returns the current varint field as a bool.
func (s *Scanner) Bool() bool {
	s.want(protowire.VarintType)
	return s.num != 0
}

// Float32 returns the current fixed32 field as a float.
func (s *Scanner) Float32() float32 {
	s.want(protowire.Fixed32Type)
	return math.Float32frombits(uint32(s.num))
}

// Float64 returns the current fixed64 field as a float.
func (s *Scanner) Float64() float64 {
	s.want(protowire.Fixed64Type)
	return math.Float64frombits(s.num)
}

// Bytes returns the current length-delimited field: part of the scanned input, not a copy.
func (s *Scanner) Bytes() []byte {
	s.want(protowire.BytesType)
	return s.value
}

// String returns the current length-delimited field as a string.
func (s *Scanner) String() string { return string(s.Bytes()) }

// Message scans the current length-delimited field as a message with decode.
func (s *Scanner) Message(decode func([]byte) error) {
	if s.want(protowire.BytesType) {
		if err := decode(s.value); err != nil {
			s.Fail(fmt.Errorf("field %d: %w", s.Num, err))
		}
	}
}

// Varints calls add for each value of a repeated varint field, packed or not.
func (s *Scanner) Varints(add func(uint64)) {
	if s.Type == protowire.VarintType {
		add(s.num)
		return
	}
	if !s.want(protowire.BytesType) {
		return
	}
	for b := s.value; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			s.fail(fmt.Sprintf("bad packed field %d", s.Num))
			return
		}
		add(v)
		b = b[n:]
	}
}

// An Encoder builds an encoded message. Scalar methods leave out zero values, as proto3
// does; the Always forms write them (optional fields and members of a oneof).
type Encoder struct {
	B []byte
}

// Uint64 writes a varint field unless it is zero.
func (e *Encoder) Uint64(num protowire.Number, v uint64) {
	if v != 0 {
		e.AlwaysUint64(num, v)
	}
}

// AlwaysUint64 writes a varint field.
func (e *Encoder) AlwaysUint64(num protowire.Number, v uint64) {
	e.B = protowire.AppendTag(e.B, num, protowire.VarintType)
	e.B = protowire.AppendVarint(e.B, v)
}

// Int32 writes a varint field unless it is zero; negative values take ten bytes.
func (e *Encoder) Int32(num protowire.Number, v int32) { e.Uint64(num, uint64(int64(v))) }

// Bool writes a varint field if v is true.
func (e *Encoder) Bool(num protowire.Number, v bool) {
	if v {
		e.AlwaysUint64(num, 1)
	}
}

// Float64 writes a fixed64 field unless it is zero.
func (e *Encoder) Float64(num protowire.Number, v float64) {
	if v != 0 {
		e.B = protowire.AppendTag(e.B, num, protowire.Fixed64Type)
		e.B = protowire.AppendFixed64(e.B, math.Float64bits(v))
	}
}

// Bytes writes a length-delimited field unless it is empty.
func (e *Encoder) Bytes(num protowire.Number, v []byte) {
	if len(v) != 0 {
		e.AlwaysBytes(num, v)
	}
}

// AlwaysBytes writes a length-delimited field.
func (e *Encoder) AlwaysBytes(num protowire.Number, v []byte) {
	e.B = protowire.AppendTag(e.B, num, protowire.BytesType)
	e.B = protowire.AppendBytes(e.B, v)
}

// String writes a length-delimited field unless it is empty.
func (e *Encoder) String(num protowire.Number, v string) {
	if v != "" {
		e.AlwaysString(num, v)
	}
}

// AlwaysString writes a length-delimited field.
func (e *Encoder) AlwaysString(num protowire.Number, v string) {
	e.B = protowire.AppendTag(e.B, num, protowire.BytesType)
	e.B = protowire.AppendString(e.B, v)
}

// Message writes a sub-message, even an empty one. It encodes the message in place and then
// moves it behind its length, which costs less than a buffer of its own.
func (e *Encoder) Message(num protowire.Number, encode func(*Encoder)) {
	e.B = protowire.AppendTag(e.B, num, protowire.BytesType)
	start := len(e.B)
	encode(e)
	length := len(e.B) - start
	var buf [10]byte
	prefix := protowire.AppendVarint(buf[:0], uint64(length))
	e.B = append(e.B, prefix...)
	copy(e.B[start+len(prefix):], e.B[start:start+length])
	copy(e.B[start:], prefix)
}

// Packed writes a packed repeated varint field unless it is empty.
func Packed[T ~uint32 | ~uint64 | ~int32 | ~int64](e *Encoder, num protowire.Number, vs []T) {
	if len(vs) == 0 {
		return
	}
	length := 0
	for _, v := range vs {
		length += protowire.SizeVarint(uint64(v))
	}
	e.B = protowire.AppendTag(e.B, num, protowire.BytesType)
	e.B = protowire.AppendVarint(e.B, uint64(length))
	for _, v := range vs {
		e.B = protowire.AppendVarint(e.B, uint64(v))
	}
}

// Unknown appends fields that were kept as raw bytes.
func (e *Encoder) Unknown(raw []byte) { e.B = append(e.B, raw...) }

// ScanMapEntry reads the current field as an entry of a map<string, string> or map<string,
// bytes> and puts it into *m. It allocates the map if that is nil.
func ScanMapEntry(s *Scanner, m *map[string]string) {
	s.Message(func(b []byte) error {
		var key, value string
		entry := NewScanner(b)
		for entry.Next() {
			switch entry.Num {
			case 1:
				key = entry.String()
			case 2:
				value = entry.String()
			}
		}
		if *m == nil {
			*m = map[string]string{}
		}
		(*m)[key] = value
		return entry.Err()
	})
}

// EncodeMap writes a map<string, string> or map<string, bytes> in key order.
func EncodeMap(e *Encoder, num protowire.Number, m map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		e.Message(num, func(sub *Encoder) {
			sub.String(1, key)
			sub.String(2, m[key])
		})
	}
}
