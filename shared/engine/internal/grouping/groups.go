package grouping

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/internal/numbering"
	"tiltyard/shared/sql/aggregate"
	"tiltyard/shared/sql/plan"
)

// groups are the states of all functions for groups with the numbers 0, 1, 2 …
type groups struct {
	lowest []uint64 // row ids
	calls  []states
	nulls  []bool // of each call: NULL is a value
	width  int64  // bytes of a group in lowest and calls
	kept   int64  // bytes of values that states keep elsewhere
	n      int
}

// newGroups returns no groups.
func newGroups(of *plan.Grouping) groups {
	g := groups{width: 8}
	for _, call := range of.Calls {
		s := newStates(call)
		g.calls = append(g.calls, s)
		g.nulls = append(g.nulls, call.Function == aggregate.ArrayAgg)
		g.width += s.width()
	}
	return g
}

// capacity returns for how many groups there is memory after growing to n.
func (g *groups) capacity(n int) int {
	if n <= len(g.lowest) {
		return len(g.lowest)
	}
	return max(n, len(g.lowest)+len(g.lowest)/2)
}

func (g *groups) bytes() int64 { return g.width*int64(len(g.lowest)) + g.kept }

// growth bounds the memory that groups take while they grow to n.
func (g *groups) growth(n int) int64 {
	if n <= len(g.lowest) {
		return 0
	}
	return g.width * int64(g.capacity(n))
}

// grow adds groups without rows, up to n.
func (g *groups) grow(n int) {
	if capacity := g.capacity(n); capacity > len(g.lowest) {
		g.lowest = append(make([]uint64, 0, capacity), g.lowest...)[:capacity]
		for _, s := range g.calls {
			s.grow(capacity)
		}
	}
	for ; g.n < n; g.n++ {
		g.lowest[g.n] = math.MaxUint64
	}
}

// add adds rows to the groups with their numbers. Space is for as many numbers.
func (g *groups) add(numbers []uint32, ids []uint64, calls []callValues, space []uint32) {
	for i, number := range numbers {
		g.lowest[number] = min(g.lowest[number], ids[i])
	}
	for i, call := range calls {
		g.kept += g.calls[i].add(call.counted(numbers, g.nulls[i], space), call.args)
	}
}

// counted returns the numbers of the groups in which the rows count: numbering.None for rows that the filter leaves out and,
// without nulls, for rows with a NULL.
func (v *callValues) counted(numbers []uint32, nulls bool, space []uint32) []uint32 {
	out := numbers
	leave := func(i int) {
		if &out[0] == &numbers[0] {
			out = space[:len(numbers)]
			copy(out, numbers)
		}
		out[i] = numbering.None
	}
	if v.counts != nil {
		for i := range numbers {
			if v.counts.IsNull(i) || !v.counts.Value(i) {
				leave(i)
			}
		}
	}
	for _, a := range v.args {
		if nulls || a.NullN() == 0 {
			continue
		}
		for i := range numbers {
			if a.IsNull(i) {
				leave(i)
			}
		}
	}
	return out
}

// size returns the memory that the values of a group take elsewhere.
func (g *groups) size(at int) (bytes int64) {
	for _, s := range g.calls {
		bytes += s.size(at)
	}
	return bytes
}

// write appends the states of a group to a record.
func (g *groups) write(at int, record []byte) []byte {
	record = binary.BigEndian.AppendUint64(record, g.lowest[at])
	for _, s := range g.calls {
		record = s.write(at, record)
	}
	return record
}

// merge adds what write has appended to a record.
func (g *groups) merge(at int, part []byte) {
	g.lowest[at] = min(g.lowest[at], binary.BigEndian.Uint64(part))
	part = part[8:]
	for _, s := range g.calls {
		part = s.merge(at, part)
	}
}

// states are the states of one function for all groups. A state of zeros has seen no row.
type states interface {
	// width is the memory of a state, without the values that it keeps elsewhere.
	width() int64
	// grow makes room for n groups.
	grow(n int)
	// add adds the arguments of rows to groups by their numbers. A row with numbering.None does not count. It returns the
	// growth of the values that are kept elsewhere.
	add(numbers []uint32, args []arrow.Array) (grown int64)
	// size is the memory of the values that are kept elsewhere for a group.
	size(g int) int64
	// write appends a state to a record. merge adds a written state from the beginning of part, and returns the rest of part.
	write(g int, record []byte) []byte
	merge(g int, part []byte) (rest []byte)
	// result appends the result of the function to a column.
	result(g int, to column) error
}

// newStates returns the states of a call.
func newStates(c *plan.Aggregate) states {
	if c.Distinct {
		return newDistincts(c)
	}
	return statesOf(c)
}

// statesOf returns the states of a call without DISTINCT.
func statesOf(c *plan.Aggregate) states {
	switch c.Function {
	case aggregate.Count:
		return &counts{}
	case aggregate.Sum, aggregate.Avg:
		average := c.Function == aggregate.Avg
		switch c.Type.ID() {
		case arrow.DECIMAL128:
			return &decimalSums{average: average}
		case arrow.FLOAT64:
			return &floatSums{average: average}
		}
		return &integerSums{}
	case aggregate.Min, aggregate.Max:
		return newExtremes(c)
	case aggregate.ArrayAgg:
		return newLists(c)
	case aggregate.Median:
		return &medians{}
	case aggregate.Var, aggregate.VarPop, aggregate.Stddev, aggregate.StddevPop:
		return &moments{function: c.Function}
	}
	return &bits{function: c.Function}
}

// sized are states of one size, which keep nothing elsewhere.
type sized[T any] struct{ of []T }

func (s *sized[T]) grow(n int) { s.of = append(make([]T, 0, n), s.of...)[:n] }

func (s *sized[T]) size(int) int64 { return 0 }

// integers returns the values of an array of 64-bit integers, signed or not.
func integers(a arrow.Array) []uint64 {
	if signed, ok := a.(*array.Int64); ok {
		return arrow.Uint64Traits.CastFromBytes(arrow.Int64Traits.CastToBytes(signed.Int64Values()))
	}
	return a.(*array.Uint64).Uint64Values()
}
