package compute

import (
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// Bitwise computes & | ^ << >> of two integers of one type.
func Bitwise(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
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

// bitRows evaluates a bitwise operator. A shift uses only the low bits of its distance: an int64 shifted by
// 65 is shifted by 1. Signed integers keep their sign.
func bitRows[T integer](m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	l, r := column.ValuesOf[T](args[0]), column.ValuesOf[T](args[1])
	width := T(column.BitWidth(n.Type) - 1)
	return expr.FixedRows(m, n, args, rows, func(i int) (T, error) {
		x, y := l(i), r(i)
		switch n.Op {
		case expr.OpBitAnd:
			return x & y, nil
		case expr.OpBitOr:
			return x | y, nil
		case expr.OpBitXor:
			return x ^ y, nil
		case expr.OpShiftLeft:
			return x << (y & width), nil
		default: // expr.OpShiftRight
			return x >> (y & width), nil
		}
	})
}
