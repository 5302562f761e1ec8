package sqlexpr

import (
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
)

// bitwise computes & | ^ << >> of two integers of one type.
func bitwise(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	switch args[0].Data.(type) {
	case []int8:
		return bitRows[int8](m, n, args, rows)
	case []int16:
		return bitRows[int16](m, n, args, rows)
	case []int32:
		return bitRows[int32](m, n, args, rows)
	case []int64:
		return bitRows[int64](m, n, args, rows)
	case []uint8:
		return bitRows[uint8](m, n, args, rows)
	case []uint16:
		return bitRows[uint16](m, n, args, rows)
	case []uint32:
		return bitRows[uint32](m, n, args, rows)
	}
	return bitRows[uint64](m, n, args, rows)
}

// bitRows shifts by as many bits as are left of the number when it is cut down to the width,
// so that of an int64 the shift by 65 is one by 1. Signed integers keep their sign.
func bitRows[T integer](m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	l, r := column.ValuesOf[T](args[0]), column.ValuesOf[T](args[1])
	width := T(column.BitWidth(n.typ) - 1)
	return fixedRows(m, n, args, rows, func(i int) (T, error) {
		x, y := l(i), r(i)
		switch n.op {
		case opBitAnd:
			return x & y, nil
		case opBitOr:
			return x | y, nil
		case opBitXor:
			return x ^ y, nil
		case opShiftLeft:
			return x << (y & width), nil
		default: // opShiftRight
			return x >> (y & width), nil
		}
	})
}
