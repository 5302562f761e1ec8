package grouping

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"tiltyard/shared/engine/internal/numbering"
	"tiltyard/shared/sql/aggregate"
)

// counts count rows.
type counts struct{ sized[int64] }

func (s *counts) width() int64 { return 8 }

func (s *counts) add(numbers []uint32, _ []arrow.Array) int64 {
	for _, g := range numbers {
		if g != numbering.None {
			s.of[g]++
		}
	}
	return 0
}

func (s *counts) write(g int, r []byte) []byte {
	return binary.BigEndian.AppendUint64(r, uint64(s.of[g]))
}

func (s *counts) merge(g int, part []byte) []byte {
	s.of[g] += int64(binary.BigEndian.Uint64(part))
	return part[8:]
}

func (s *counts) result(g int, to column) error { return to.integer(uint64(s.of[g]), true) }

// integerSums add signed or unsigned 64-bit integers. They wrap around on overflow.
type integerSums struct{ sized[integerSum] }

type integerSum struct {
	sum uint64
	any bool
}

func (s *integerSums) width() int64 { return 16 }

func (s *integerSums) add(numbers []uint32, args []arrow.Array) int64 {
	values := integers(args[0])
	for i, g := range numbers {
		if g != numbering.None {
			s.of[g] = integerSum{s.of[g].sum + values[i], true}
		}
	}
	return 0
}

func (s *integerSums) write(g int, r []byte) []byte {
	return binary.BigEndian.AppendUint64(append(r, flag(s.of[g].any)), s.of[g].sum)
}

func (s *integerSums) merge(g int, part []byte) []byte {
	s.of[g] = integerSum{s.of[g].sum + binary.BigEndian.Uint64(part[1:]), s.of[g].any || part[0] != 0}
	return part[9:]
}

func (s *integerSums) result(g int, to column) error { return to.integer(s.of[g].sum, s.of[g].any) }

// floatSums add floats. For an average, the result is divided by their number.
type floatSums struct {
	average bool
	sized[floatSum]
}

type floatSum struct {
	sum float64
	n   uint64
}

func (s *floatSums) width() int64 { return 16 }

func (s *floatSums) add(numbers []uint32, args []arrow.Array) int64 {
	values := args[0].(*array.Float64).Float64Values()
	for i, g := range numbers {
		if g != numbering.None {
			s.of[g].sum += values[i]
			s.of[g].n++
		}
	}
	return 0
}

func (s *floatSums) write(g int, r []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(r, math.Float64bits(s.of[g].sum)), s.of[g].n)
}

func (s *floatSums) merge(g int, part []byte) []byte {
	s.of[g].sum += math.Float64frombits(binary.BigEndian.Uint64(part))
	s.of[g].n += binary.BigEndian.Uint64(part[8:])
	return part[16:]
}

func (s *floatSums) result(g int, to column) error {
	value := s.of[g].sum
	if s.average {
		value /= float64(s.of[g].n)
	}
	return to.float(value, s.of[g].n > 0)
}

// decimalSums add decimals. For an average, the result is divided by their number.
type decimalSums struct {
	average bool
	sized[decimalSum]
}

type decimalSum struct {
	sum decimal128.Num
	n   uint64
}

func (s *decimalSums) width() int64 { return 24 }

func (s *decimalSums) add(numbers []uint32, args []arrow.Array) int64 {
	values := args[0].(*array.Decimal128)
	for i, g := range numbers {
		if g != numbering.None {
			s.of[g] = decimalSum{s.of[g].sum.Add(values.Value(i)), s.of[g].n + 1}
		}
	}
	return 0
}

func (s *decimalSums) write(g int, r []byte) []byte {
	r = binary.BigEndian.AppendUint64(r, uint64(s.of[g].sum.HighBits()))
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(r, s.of[g].sum.LowBits()), s.of[g].n)
}

func (s *decimalSums) merge(g int, part []byte) []byte {
	more := decimal128.New(int64(binary.BigEndian.Uint64(part)), binary.BigEndian.Uint64(part[8:]))
	s.of[g] = decimalSum{s.of[g].sum.Add(more), s.of[g].n + binary.BigEndian.Uint64(part[16:])}
	return part[24:]
}

func (s *decimalSums) result(g int, to column) error {
	n := uint64(1)
	if s.average {
		n = s.of[g].n
	}
	return to.decimal(s.of[g].sum, n, s.of[g].n > 0)
}

// bits combine bools or integers bit by bit.
type bits struct {
	function aggregate.Function
	sized[bitState]
}

type bitState struct {
	value uint64
	any   bool
}

func (s *bits) width() int64 { return 16 }

func (s *bits) add(numbers []uint32, args []arrow.Array) int64 {
	for i, g := range numbers {
		if g != numbering.None {
			s.combine(int(g), integerAt(args[0], i))
		}
	}
	return 0
}

// combine adds a value. The first one is taken unchanged.
func (s *bits) combine(g int, value uint64) {
	state := &s.of[g]
	switch {
	case !state.any:
		state.value = value
	case s.function == aggregate.BoolAnd || s.function == aggregate.BitAnd:
		state.value &= value
	case s.function == aggregate.BitXor:
		state.value ^= value
	default:
		state.value |= value
	}
	state.any = true
}

func (s *bits) write(g int, r []byte) []byte {
	return binary.BigEndian.AppendUint64(append(r, flag(s.of[g].any)), s.of[g].value)
}

func (s *bits) merge(g int, part []byte) []byte {
	if part[0] != 0 {
		s.combine(g, binary.BigEndian.Uint64(part[1:]))
	}
	return part[9:]
}

func (s *bits) result(g int, to column) error { return to.integer(s.of[g].value, s.of[g].any) }

// moments compute a variance or standard deviation by Welford's method.
type moments struct {
	function aggregate.Function
	sized[moment]
}

type moment struct {
	n        uint64
	mean, m2 float64
}

func (s *moments) width() int64 { return 24 }

func (s *moments) add(numbers []uint32, args []arrow.Array) int64 {
	values := args[0].(*array.Float64).Float64Values()
	for i, g := range numbers {
		if g != numbering.None {
			s.of[g].join(moment{n: 1, mean: values[i]})
		}
	}
	return 0
}

// join adds the values of another moment.
func (m *moment) join(o moment) {
	if o.n == 0 {
		return
	}
	all := float64(m.n + o.n)
	delta := o.mean - m.mean
	m.m2 += o.m2 + delta*delta*float64(m.n)*float64(o.n)/all
	m.mean += delta * float64(o.n) / all
	m.n += o.n
}

func (s *moments) write(g int, r []byte) []byte {
	r = binary.BigEndian.AppendUint64(r, s.of[g].n)
	r = binary.BigEndian.AppendUint64(r, math.Float64bits(s.of[g].mean))
	return binary.BigEndian.AppendUint64(r, math.Float64bits(s.of[g].m2))
}

func (s *moments) merge(g int, part []byte) []byte {
	at := func(i int) uint64 { return binary.BigEndian.Uint64(part[8*i:]) }
	s.of[g].join(moment{at(0), math.Float64frombits(at(1)), math.Float64frombits(at(2))})
	return part[24:]
}

// result returns the variance or its square root. The sample forms divide by n-1.
func (s *moments) result(g int, to column) error {
	of := float64(s.of[g].n)
	if s.function == aggregate.Var || s.function == aggregate.Stddev {
		of--
	}
	value := s.of[g].m2 / of
	if s.function == aggregate.Stddev || s.function == aggregate.StddevPop {
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
