package grouping

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/aggregate"
)

// The states in this file keep values as keys of package sortkey.

// extreme is the state of min and max.
type extreme struct {
	*sharing
	sign int    // -1 for min, 1 for max
	best []byte // nil without values
}

func newExtreme(shared *sharing) *extreme {
	s := &extreme{sharing: shared, sign: -1}
	if shared.call.Function == aggregate.Max {
		s.sign = 1
	}
	return s
}

func (s *extreme) add(args []arrow.Array, i int) int {
	if args[0].IsNull(i) {
		return 0
	}
	return s.consider(s.keyOf(args[0], i))
}

// consider keeps a copy of the key if it is better than the best so far.
func (s *extreme) consider(key []byte) (grown int) {
	if s.best == nil || bytes.Compare(key, s.best) == s.sign {
		before := cap(s.best)
		s.best = append(s.best[:0], key...)
		grown = cap(s.best) - before
	}
	return grown
}

func (s *extreme) write(r []byte) []byte {
	return append(binary.AppendUvarint(r, uint64(len(s.best))), s.best...)
}

// merge reads the length of a key as uvarint, 0 for none, and the key.
func (s *extreme) merge(part []byte) ([]byte, int) {
	n, width := binary.Uvarint(part)
	part = part[width:]
	if n == 0 {
		return part, 0
	}
	return part[n:], s.consider(part[:n])
}

func (s *extreme) result(to column) error { return to.key(s.best) }

// appendFactor is the memory of values in a state, relative to their size: a growing array is copied to a larger one, and
// distinct values are sorted.
const appendFactor = 3

// list is the state of array_agg. It includes nulls.
type list struct {
	*sharing
	width int64 // bytes of a value in the result, including null; 0 for texts
	keys  []byte
	n     uint64
}

func newList(shared *sharing) *list {
	s := &list{sharing: shared}
	if fixed, ok := shared.call.Args[0].Type().(arrow.FixedWidthDataType); ok {
		s.width = int64(fixed.Bytes())
	}
	return s
}

// resultBytes bounds the memory of the result while it grows.
func (s *list) resultBytes() int64 {
	return appendFactor * max(int64(len(s.keys)), s.width*int64(s.n))
}

// add appends the key of a value. A null has a key as well.
func (s *list) add(args []arrow.Array, i int) int {
	before := cap(s.keys)
	s.keys = s.key(s.keys, args[0], i)
	s.n++
	return appendFactor * (cap(s.keys) - before)
}

func (s *list) write(r []byte) []byte {
	r = binary.AppendUvarint(r, s.n)
	return append(binary.AppendUvarint(r, uint64(len(s.keys))), s.keys...)
}

// merge reads the number of values, the length of their keys, and the keys.
func (s *list) merge(part []byte) ([]byte, int) {
	n, width := binary.Uvarint(part)
	part = part[width:]
	size, width := binary.Uvarint(part)
	part = part[width:]
	before := cap(s.keys)
	s.keys, s.n = append(s.keys, part[:size]...), s.n+n
	return part[size:], appendFactor * (cap(s.keys) - before)
}

// maxList bounds the bytes of one list.
const maxList = 1 << 30

func (s *list) result(to column) error {
	if len(s.keys) > maxList {
		return sql.Errorf(sql.ErrTooLarge, sql.NoPos, "a list of array_agg has more than %d bytes", maxList)
	}
	return to.keys(s.keys, s.n)
}

// median is the state of median.
type median struct{ values []float64 }

func (s *median) add(args []arrow.Array, i int) int {
	if args[0].IsNull(i) {
		return 0
	}
	before := cap(s.values)
	s.values = append(s.values, args[0].(*array.Float64).Value(i))
	return appendFactor * 8 * (cap(s.values) - before)
}

func (s *median) write(r []byte) []byte {
	r = binary.AppendUvarint(r, uint64(len(s.values)))
	for _, v := range s.values {
		r = binary.BigEndian.AppendUint64(r, math.Float64bits(v))
	}
	return r
}

// merge reads the number of values as uvarint, and each value as 8 bytes.
func (s *median) merge(part []byte) ([]byte, int) {
	n, width := binary.Uvarint(part)
	part = part[width:]
	before := cap(s.values)
	for range n {
		s.values = append(s.values, math.Float64frombits(binary.BigEndian.Uint64(part)))
		part = part[8:]
	}
	return part, appendFactor * 8 * (cap(s.values) - before)
}

// result returns the value in the middle, or the mean of the two in the middle.
func (s *median) result(to column) error {
	n := len(s.values)
	if n == 0 {
		return to.float(0, false)
	}
	slices.SortFunc(s.values, totalOrder)
	if n%2 == 1 {
		return to.float(s.values[n/2], true)
	}
	return to.float((s.values[n/2-1]+s.values[n/2])/2, true)
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

// distinct passes each distinct value to another state once.
type distinct struct {
	*sharing
	seen  map[string]struct{}
	nulls bool // NULL counts as a value
}

// seenBytes is the memory of a value without its bytes.
const seenBytes = 48

func newDistinct(shared *sharing) *distinct {
	return &distinct{sharing: shared, seen: map[string]struct{}{}, nulls: shared.call.Function == aggregate.ArrayAgg}
}

// add notes a value, and a null only for array_agg.
func (s *distinct) add(args []arrow.Array, i int) int {
	if args[0].IsNull(i) && !s.nulls {
		return 0
	}
	return s.note(s.keyOf(args[0], i))
}

// note records a value if it is new.
func (s *distinct) note(key []byte) (grown int) {
	if _, ok := s.seen[string(key)]; ok {
		return 0
	}
	s.seen[string(key)] = struct{}{}
	return appendFactor*len(key) + seenBytes
}

func (s *distinct) write(r []byte) []byte {
	r = binary.AppendUvarint(r, uint64(len(s.seen)))
	for key := range s.seen {
		r = append(binary.AppendUvarint(r, uint64(len(key))), key...)
	}
	return r
}

// merge reads the number of values, and each value after its length.
func (s *distinct) merge(part []byte) (rest []byte, grown int) {
	n, width := binary.Uvarint(part)
	part = part[width:]
	for range n {
		size, width := binary.Uvarint(part)
		part = part[width:]
		grown += s.note(part[:size])
		part = part[size:]
	}
	return part, grown
}

// result passes the values in ascending order to a state of the same function.
func (s *distinct) result(to column) error {
	keys := make([]string, 0, len(s.seen))
	size := 0
	for key := range s.seen {
		keys = append(keys, key)
		size += len(key)
	}
	if size > maxList {
		return sql.Errorf(sql.ErrTooLarge, sql.NoPos, "the distinct values of %s have more than %d bytes", s.call.Function, maxList)
	}
	slices.Sort(keys)
	all := stateOf(s.sharing)
	// The number of distinct values is known, so COUNT needs no further state.
	if s.call.Function == aggregate.Count {
		all.(*count).n = int64(len(keys))
		return all.result(to)
	}
	values := sortkey.NewValues(s.call.Args[0].Type())
	for _, key := range keys {
		values.Append([]byte(key))
	}
	args := []arrow.Array{values.Array()}
	for i := range len(keys) {
		all.add(args, i)
	}
	return all.result(to)
}
