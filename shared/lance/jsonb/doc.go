// Package jsonb converts between JSON text and its binary form, JSONB, in which the format
// stores columns of JSON. The form is that of Databend, and all its numbers are big-endian.
// [Append] makes it of text, [AppendText] makes text of it. A value is a container:
//
//	scalar   u32 0x2000_0000     | entry     | data
//	array    u32 0x8000_0000 | n | n entries | data of each
//	object   u32 0x4000_0000 | n | n entries of keys | n entries of values | keys | data of each
//
// An entry is a u32: a kind (three bits, from bit 28 on) and the number of bytes of data
// (the 28 bits below). Keys are sorted, and none occurs twice.
//
//	0 null     no data
//	1 string   UTF-8
//	2 number   a byte with the kind of number, and the number
//	3 false    no data
//	4 true     no data
//	5 nested   an array or object
//	6 others   dates and the like, which JSON text does not have; not supported
//
// A number begins with a byte for its kind. Each value has one kind that a writer must
// choose:
//
//	0x00 zero   0x10 NaN   0x20 infinity   0x30 minus infinity   no more bytes
//	0x40 a negative integer, in the 1, 2, 4 or 8 bytes that it needs
//	0x50 a positive integer, so as well, but unsigned
//	0x60 a float, in 8 bytes: whatever has a fraction or an exponent, or is too large
//	0x70 a decimal, of 8, 16 or 32 bytes and a scale; never written
//
// The object {"a": [1, true]} is
//
//	40 00 00 01   an object of one member
//	10 00 00 01   entry of the key: a string of 1 byte
//	50 00 00 0e   entry of the value: nested, 14 bytes
//	61            a
//	80 00 00 02   an array of two items
//	20 00 00 02   entry: a number of 2 bytes
//	40 00 00 00   entry: true
//	50 01         a positive integer in 1 byte: 1
//
// Source: crate lance-jsonb.
package jsonb

// maxDepth bounds the nesting of arrays and objects. Native Lance has no bound, and
// exhausts its stack on text that is nested much deeper.
const maxDepth = 500

const (
	scalar     = 0x2000_0000
	arrayOf    = 0x8000_0000
	objectOf   = 0x4000_0000
	headerKind = 0xE000_0000
	maxLength  = 1<<28 - 1 // of an entry's data, and more than enough for counts
)

// Kinds of entries.
const (
	kindNull uint32 = iota << 28
	kindString
	kindNumber
	kindFalse
	kindTrue
	kindNested
	kindOther

	kindMask = 0x7000_0000
)

// Kinds of numbers.
const (
	numberZero     = 0x00
	numberNaN      = 0x10
	numberInf      = 0x20
	numberMinusInf = 0x30
	numberInt      = 0x40
	numberUint     = 0x50
	numberFloat    = 0x60
	numberDecimal  = 0x70
)
