package grouping

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/sql/aggregate"
	"tiltyard/shared/sql/plan"
)

// A state is the state of one function for one group.
type state interface {
	// add adds the arguments of row i. It returns the growth of the state in bytes, beyond stateBytes.
	add(args []arrow.Array, i int) (grown int)
	// write appends the state to a record. merge adds a written state from the beginning of part, and
	// returns the remainder of part.
	write(record []byte) []byte
	merge(part []byte) (rest []byte, grown int)
	// result appends the result of the function to a column.
	result(to column) error
}

// stateBytes is the approximate memory of a state that keeps no values.
const stateBytes = 48

// A sharing is what the states of one call share, so that a group costs little more than its state.
type sharing struct {
	call  *plan.Aggregate
	key   sortkey.Append // of the first argument; nil without
	space []byte         // for the key of the value that is looked at
}

func sharingOf(c *plan.Aggregate) *sharing {
	s := &sharing{call: c}
	if len(c.Args) > 0 {
		s.key = sortkey.Of(c.Args[0].Type(), true)
	}
	return s
}

// keyOf returns the key of a value, until the next call.
func (s *sharing) keyOf(a arrow.Array, i int) []byte {
	s.space = s.key(s.space[:0], a, i)
	return s.space
}

func newState(s *sharing) state {
	if s.call.Distinct {
		return newDistinct(s)
	}
	return stateOf(s)
}

// stateOf returns the state of a call without DISTINCT.
func stateOf(s *sharing) state {
	c := s.call
	isDecimal := c.Type.ID() == arrow.DECIMAL128
	switch c.Function {
	case aggregate.Count:
		return &count{}
	case aggregate.Sum, aggregate.Avg:
		average := c.Function == aggregate.Avg
		switch {
		case isDecimal:
			return &sumDecimal{average: average}
		case c.Type.ID() == arrow.FLOAT64:
			return &sumFloat{average: average}
		}
		return &sumInt{}
	case aggregate.Min, aggregate.Max:
		return newExtreme(s)
	case aggregate.ArrayAgg:
		return newList(s)
	case aggregate.Median:
		return &median{}
	case aggregate.Var, aggregate.VarPop, aggregate.Stddev, aggregate.StddevPop:
		return &moments{of: c.Function}
	}
	return &bits{of: c.Function}
}

// count counts rows without null arguments.
type count struct{ n int64 }

func (s *count) add(args []arrow.Array, i int) int {
	for _, a := range args {
		if a.IsNull(i) {
			return 0
		}
	}
	s.n++
	return 0
}

func (s *count) write(r []byte) []byte { return binary.BigEndian.AppendUint64(r, uint64(s.n)) }

func (s *count) merge(part []byte) ([]byte, int) {
	s.n += int64(binary.BigEndian.Uint64(part))
	return part[8:], 0
}

func (s *count) result(to column) error { return to.integer(uint64(s.n), true) }

// sumInt adds signed or unsigned 64-bit integers. It wraps around on overflow.
type sumInt struct {
	sum uint64
	any bool
}

func (s *sumInt) add(args []arrow.Array, i int) int {
	if args[0].IsValid(i) {
		s.sum, s.any = s.sum+integerAt(args[0], i), true
	}
	return 0
}

func (s *sumInt) write(r []byte) []byte {
	return binary.BigEndian.AppendUint64(append(r, flag(s.any)), s.sum)
}

func (s *sumInt) merge(part []byte) ([]byte, int) {
	s.any = s.any || part[0] != 0
	s.sum += binary.BigEndian.Uint64(part[1:])
	return part[9:], 0
}

func (s *sumInt) result(to column) error { return to.integer(s.sum, s.any) }

// sumFloat adds floats. For an average, the result is divided by their number.
type sumFloat struct {
	average bool
	sum     float64
	n       uint64
}

func (s *sumFloat) add(args []arrow.Array, i int) int {
	if args[0].IsValid(i) {
		s.sum, s.n = s.sum+args[0].(*array.Float64).Value(i), s.n+1
	}
	return 0
}

func (s *sumFloat) write(r []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(r, math.Float64bits(s.sum)), s.n)
}

func (s *sumFloat) merge(part []byte) ([]byte, int) {
	s.sum += math.Float64frombits(binary.BigEndian.Uint64(part))
	s.n += binary.BigEndian.Uint64(part[8:])
	return part[16:], 0
}

func (s *sumFloat) result(to column) error {
	value := s.sum
	if s.average {
		value /= float64(s.n)
	}
	return to.float(value, s.n > 0)
}

// sumDecimal adds decimals. For an average, the result is divided by their number.
type sumDecimal struct {
	average bool
	sum     decimal128.Num
	n       uint64
}

func (s *sumDecimal) add(args []arrow.Array, i int) int {
	if args[0].IsValid(i) {
		s.sum, s.n = s.sum.Add(args[0].(*array.Decimal128).Value(i)), s.n+1
	}
	return 0
}

func (s *sumDecimal) write(r []byte) []byte {
	r = binary.BigEndian.AppendUint64(r, uint64(s.sum.HighBits()))
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(r, s.sum.LowBits()), s.n)
}

func (s *sumDecimal) merge(part []byte) ([]byte, int) {
	s.sum = s.sum.Add(decimal128.New(int64(binary.BigEndian.Uint64(part)), binary.BigEndian.Uint64(part[8:])))
	s.n += binary.BigEndian.Uint64(part[16:])
	return part[24:], 0
}

func (s *sumDecimal) result(to column) error {
	n := uint64(1)
	if s.average {
		n = s.n
	}
	return to.decimal(s.sum, n, s.n > 0)
}

// bits combines bools or integers bit by bit.
type bits struct {
	of    aggregate.Function
	value uint64
	any   bool
}

func (s *bits) add(args []arrow.Array, i int) int {
	if args[0].IsValid(i) {
		s.combine(integerAt(args[0], i))
	}
	return 0
}

// combine adds a value. The first one is taken unchanged.
func (s *bits) combine(value uint64) {
	switch {
	case !s.any:
		s.value = value
	case s.of == aggregate.BoolAnd || s.of == aggregate.BitAnd:
		s.value &= value
	case s.of == aggregate.BitXor:
		s.value ^= value
	default:
		s.value |= value
	}
	s.any = true
}

func (s *bits) write(r []byte) []byte {
	return binary.BigEndian.AppendUint64(append(r, flag(s.any)), s.value)
}

func (s *bits) merge(part []byte) ([]byte, int) {
	if part[0] != 0 {
		s.combine(binary.BigEndian.Uint64(part[1:]))
	}
	return part[9:], 0
}

func (s *bits) result(to column) error { return to.integer(s.value, s.any) }

// moments computes a variance or standard deviation by Welford's method.
type moments struct {
	of       aggregate.Function
	n        uint64
	mean, m2 float64
}

func (s *moments) add(args []arrow.Array, i int) int {
	if args[0].IsValid(i) {
		s.join(1, args[0].(*array.Float64).Value(i), 0)
	}
	return 0
}

// join adds n values with the given mean and sum of squared differences to it.
func (s *moments) join(n uint64, mean, m2 float64) {
	if n == 0 {
		return
	}
	all := float64(s.n + n)
	delta := mean - s.mean
	s.m2 += m2 + delta*delta*float64(s.n)*float64(n)/all
	s.mean += delta * float64(n) / all
	s.n += n
}

func (s *moments) write(r []byte) []byte {
	r = binary.BigEndian.AppendUint64(r, s.n)
	r = binary.BigEndian.AppendUint64(r, math.Float64bits(s.mean))
	return binary.BigEndian.AppendUint64(r, math.Float64bits(s.m2))
}

func (s *moments) merge(part []byte) ([]byte, int) {
	at := func(i int) uint64 { return binary.BigEndian.Uint64(part[8*i:]) }
	s.join(at(0), math.Float64frombits(at(1)), math.Float64frombits(at(2)))
	return part[24:], 0
}

// result returns the variance or its square root. The sample forms divide by n-1.
func (s *moments) result(to column) error {
	of := float64(s.n)
	if s.of == aggregate.Var || s.of == aggregate.Stddev {
		of--
	}
	value := s.m2 / of
	if s.of == aggregate.Stddev || s.of == aggregate.StddevPop {
		value = math.Sqrt(value)
	}
	return to.float(value, of > 0)
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// integerAt returns an integer or a bool as 64 bits. Signed integers are sign-extended.
func integerAt(a arrow.Array, i int) uint64 {
	switch a := a.(type) {
	case *array.Int8:
		return uint64(a.Value(i))
	case *array.Int16:
		return uint64(a.Value(i))
	case *array.Int32:
		return uint64(a.Value(i))
	case *array.Int64:
		return uint64(a.Value(i))
	case *array.Uint8:
		return uint64(a.Value(i))
	case *array.Uint16:
		return uint64(a.Value(i))
	case *array.Uint32:
		return uint64(a.Value(i))
	case *array.Uint64:
		return a.Value(i)
	case *array.Boolean:
		return uint64(flag(a.Value(i)))
	}
	return 0
}
