package grouping

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/engine/internal/numbering"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/aggregate"
	"tiltyard/shared/sql/plan"
)

// The states in this file keep values as keys of package sortkey.

// keysOf returns the function that makes the key of a call's argument.
func keysOf(c *plan.Aggregate) sortkey.Append { return sortkey.Of(c.Args[0].Type(), true) }

// signOf returns how the key of a better value compares with that of another: -1 for min, 1 for max.
func signOf(c *plan.Aggregate) int {
	if c.Function == aggregate.Max {
		return 1
	}
	return -1
}

func newExtremes(c *plan.Aggregate) states {
	if t := c.Args[0].Type(); sortkey.HavePairs(t) {
		return &wordExtremes{max: signOf(c) > 0, bytes: t.(arrow.FixedWidthDataType).Bytes()}
	}
	return &extremes{key: keysOf(c), sign: signOf(c)}
}

// wordExtremes are the states of min and max of values that are words.
type wordExtremes struct {
	max   bool
	bytes int // of a value
	space []uint64
	sized[wordExtreme]
}

type wordExtreme struct {
	best uint64
	any  bool
}

func (s *wordExtremes) width() int64 { return 16 }

func (s *wordExtremes) add(numbers []uint32, args []arrow.Array) int64 {
	s.space = sortkey.Words(s.space[:0], args[0], len(numbers))
	for i, g := range numbers {
		if g != numbering.None {
			s.consider(int(g), s.space[i])
		}
	}
	return 0
}

func (s *wordExtremes) consider(g int, word uint64) {
	if state := &s.of[g]; !state.any || (word > state.best) == s.max {
		*state = wordExtreme{word, true}
	}
}

// key returns the key of the best value of a group, or nil.
func (s *wordExtremes) key(g int) []byte {
	if !s.of[g].any {
		return nil
	}
	return sortkey.AppendWord(nil, s.of[g].best, s.bytes)
}

func (s *wordExtremes) write(g int, r []byte) []byte { return appendKey(r, s.key(g)) }

func (s *wordExtremes) merge(g int, part []byte) []byte {
	key, rest := readKey(part)
	if len(key) > 0 {
		s.consider(g, sortkey.Word(key))
	}
	return rest
}

func (s *wordExtremes) result(g int, to column) error { return to.key(s.key(g)) }

// appendKey appends the length of a key as uvarint, 0 for none, and the key. readKey reads it.
func appendKey(r, key []byte) []byte {
	return append(binary.AppendUvarint(r, uint64(len(key))), key...)
}

func readKey(part []byte) (key, rest []byte) {
	n, width := binary.Uvarint(part)
	return part[width:][:n], part[width:][n:]
}

// extremes are the states of min and max of other values: the best key, or nil.
type extremes struct {
	key   sortkey.Append
	sign  int
	space []byte
	keptIn[[]byte]
}

func (s *extremes) add(numbers []uint32, args []arrow.Array) (grown int64) {
	for i, g := range numbers {
		if g != numbering.None {
			s.space = s.key(s.space[:0], args[0], i)
			grown += s.consider(int(g), s.space)
		}
	}
	return grown
}

// consider keeps a copy of a key if it is better than the best so far.
func (s *extremes) consider(g int, key []byte) (grown int64) {
	best := s.of[g]
	if best == nil || bytes.Compare(key, best) == s.sign {
		s.of[g] = append(best[:0], key...)
		grown = int64(cap(s.of[g]) - cap(best))
	}
	return grown
}

func (s *extremes) size(g int) int64 { return int64(cap(s.of[g])) }

func (s *extremes) write(g int, r []byte) []byte { return appendKey(r, s.of[g]) }

func (s *extremes) merge(g int, part []byte) []byte {
	key, rest := readKey(part)
	if len(key) > 0 {
		s.consider(g, key)
	}
	return rest
}

func (s *extremes) result(g int, to column) error { return to.key(s.of[g]) }

// keptIn are states of slices.
type keptIn[T any] struct{ of []T }

// sliceBytes is the memory of a slice without its items.
const sliceBytes = 24

func (s *keptIn[T]) width() int64 { return sliceBytes }

func (s *keptIn[T]) grow(n int) { s.of = append(make([]T, 0, n), s.of...)[:n] }

// appendFactor is the memory of values in a state, relative to their size: a growing array is copied to a larger one, and
// distinct values are sorted.
const appendFactor = 3

// lists are the states of array_agg. They include NULLs.
type lists struct {
	key   sortkey.Append
	bytes int64 // of a value in the result, including NULL; 0 for texts
	keptIn[list]
}

type list struct {
	keys []byte
	n    uint64
}

func newLists(c *plan.Aggregate) *lists {
	s := &lists{key: keysOf(c)}
	if fixed, ok := c.Args[0].Type().(arrow.FixedWidthDataType); ok {
		s.bytes = int64(fixed.Bytes())
	}
	return s
}

func (s *lists) width() int64 { return sliceBytes + 8 }

// add appends the keys of values. A NULL has a key as well.
func (s *lists) add(numbers []uint32, args []arrow.Array) (grown int64) {
	for i, g := range numbers {
		if g == numbering.None {
			continue
		}
		l := &s.of[g]
		before := cap(l.keys)
		l.keys = s.key(l.keys, args[0], i)
		l.n++
		grown += appendFactor * int64(cap(l.keys)-before)
	}
	return grown
}

// size is also that of the result while it grows, in which a NULL takes the bytes of a value.
func (s *lists) size(g int) int64 {
	return appendFactor * max(int64(cap(s.of[g].keys)), s.bytes*int64(s.of[g].n))
}

func (s *lists) write(g int, r []byte) []byte {
	return appendKey(binary.AppendUvarint(r, s.of[g].n), s.of[g].keys)
}

// merge reads the number of values, the length of their keys, and the keys.
func (s *lists) merge(g int, part []byte) []byte {
	n, width := binary.Uvarint(part)
	keys, rest := readKey(part[width:])
	s.of[g] = list{append(s.of[g].keys, keys...), s.of[g].n + n}
	return rest
}

// maxList bounds the bytes of one list.
const maxList = 1 << 30

func (s *lists) result(g int, to column) error {
	if len(s.of[g].keys) > maxList {
		return sql.Errorf(sql.ErrTooLarge, sql.NoPos, "a list of array_agg has more than %d bytes", maxList)
	}
	return to.keys(s.of[g].keys, s.of[g].n)
}

// medians are the states of median: all values.
type medians struct{ keptIn[[]float64] }

func (s *medians) add(numbers []uint32, args []arrow.Array) (grown int64) {
	values := args[0].(*array.Float64).Float64Values()
	for i, g := range numbers {
		if g != numbering.None {
			before := cap(s.of[g])
			s.of[g] = append(s.of[g], values[i])
			grown += appendFactor * 8 * int64(cap(s.of[g])-before)
		}
	}
	return grown
}

func (s *medians) size(g int) int64 { return appendFactor * 8 * int64(cap(s.of[g])) }

func (s *medians) write(g int, r []byte) []byte {
	r = binary.AppendUvarint(r, uint64(len(s.of[g])))
	for _, v := range s.of[g] {
		r = binary.BigEndian.AppendUint64(r, math.Float64bits(v))
	}
	return r
}

// merge reads the number of values as uvarint, and each value as 8 bytes.
func (s *medians) merge(g int, part []byte) []byte {
	n, width := binary.Uvarint(part)
	part = part[width:]
	for range n {
		s.of[g] = append(s.of[g], math.Float64frombits(binary.BigEndian.Uint64(part)))
		part = part[8:]
	}
	return part
}

// result returns the value in the middle, or the mean of the two in the middle.
func (s *medians) result(g int, to column) error {
	values := s.of[g]
	n := len(values)
	if n == 0 {
		return to.float(0, false)
	}
	slices.SortFunc(values, totalOrder)
	if n%2 == 1 {
		return to.float(values[n/2], true)
	}
	return to.float((values[n/2-1]+values[n/2])/2, true)
}

// totalOrder compares floats. NaN is the greatest.
func totalOrder(a, b float64) int {
	switch {
	case a < b, math.IsNaN(b) && !math.IsNaN(a):
		return -1
	case a > b, math.IsNaN(a) && !math.IsNaN(b):
		return 1
	}
	return 0
}

// distincts pass each distinct value of a group to another state once.
type distincts struct {
	call  *plan.Aggregate
	key   sortkey.Append
	space []byte
	keptIn[distinct]
}

type distinct struct {
	seen map[string]struct{}
	size int64
}

// seenBytes is the memory of a value without its bytes.
const seenBytes = 48

func newDistincts(c *plan.Aggregate) *distincts { return &distincts{call: c, key: keysOf(c)} }

func (s *distincts) add(numbers []uint32, args []arrow.Array) (grown int64) {
	for i, g := range numbers {
		if g != numbering.None {
			s.space = s.key(s.space[:0], args[0], i)
			grown += s.of[g].note(s.space)
		}
	}
	return grown
}

// note records a value if it is new.
func (s *distinct) note(key []byte) (grown int64) {
	if _, ok := s.seen[string(key)]; ok {
		return 0
	}
	if s.seen == nil {
		s.seen = map[string]struct{}{}
	}
	s.seen[string(key)] = struct{}{}
	grown = appendFactor*int64(len(key)) + seenBytes
	s.size += grown
	return grown
}

func (s *distincts) size(g int) int64 { return s.of[g].size }

func (s *distincts) write(g int, r []byte) []byte {
	r = binary.AppendUvarint(r, uint64(len(s.of[g].seen)))
	for key := range s.of[g].seen {
		r = append(binary.AppendUvarint(r, uint64(len(key))), key...)
	}
	return r
}

// merge reads the number of values, and each value after its length.
func (s *distincts) merge(g int, part []byte) []byte {
	n, width := binary.Uvarint(part)
	part = part[width:]
	for range n {
		var key []byte
		key, part = readKey(part)
		s.of[g].note(key)
	}
	return part
}

// result passes the values in ascending order to a state of the same function.
func (s *distincts) result(g int, to column) error {
	all := statesOf(s.call)
	all.grow(1)
	// The number of distinct values is known, so COUNT needs no further state.
	if s.call.Function == aggregate.Count {
		all.(*counts).of[0] = int64(len(s.of[g].seen))
		return all.result(0, to)
	}
	keys := make([]string, 0, len(s.of[g].seen))
	size := 0
	for key := range s.of[g].seen {
		keys = append(keys, key)
		size += len(key)
	}
	if size > maxList {
		return sql.Errorf(sql.ErrTooLarge, sql.NoPos, "the distinct values of %s have more than %d bytes", s.call.Function, maxList)
	}
	slices.Sort(keys)
	values := sortkey.NewValues(s.call.Args[0].Type())
	for _, key := range keys {
		values.Append([]byte(key))
	}
	all.add(make([]uint32, len(keys)), []arrow.Array{values.Array()})
	return all.result(0, to)
}
