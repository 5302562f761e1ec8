package plan

import (
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/compute"
	"tiltyard/shared/sql/internal/expr"
)

// A memberSet holds the literals of an IN list, prepared for lookup. A few numbers are compared one by one.
// More numbers use a map, after a range check. Strings always use a map.
type memberSet struct {
	contains func(x column.Vec) column.Bitset // rows whose value is in the list, NULLs excepted
	hasNull  bool
}

// in evaluates IN. The result is TRUE if the value is in the list. Otherwise it is NULL if the value or an
// item is NULL, else FALSE.
func (f *frame) in(n *expr.Node, args []column.Vec) (column.Vec, error) {
	x := args[0]
	var found column.Vec
	if set, ok := n.Ready.(*memberSet); ok {
		found = column.Vec{Type: column.TypeBool, N: x.N, Const: x.Const, Valid: x.Valid}
		bits := set.contains(x)
		if x.Valid != nil {
			bits = column.And(bits, x.Valid)
		}
		found.Data = bits
		if set.hasNull {
			found.Valid = bits
		}
	} else {
		for i, item := range args[1:] {
			eq := compute.Compare(expr.OpEq, x, item)
			if i == 0 {
				found = eq
			} else {
				found = compute.Kleene(found, eq, true)
			}
		}
	}
	if n.Not {
		found = compute.InvertBool(found)
	}
	return found, nil
}

// prepareIn returns the set of a list of literals, or nil for another list.
func prepareIn(n *expr.Node) *memberSet {
	set := &memberSet{}
	var items []column.Vec
	for _, a := range n.Args[1:] {
		switch {
		case a.Op != expr.OpLit:
			return nil
		case a.Value.IsNull(0):
			set.hasNull = true
		default:
			items = append(items, a.Value)
		}
	}
	if len(items) == 0 {
		set.contains = func(x column.Vec) column.Bitset { return column.NewBitset(x.N) }
		return set
	}
	switch items[0].Data.(type) {
	case []int8:
		set.contains = orderedSet[int8](items)
	case []int16:
		set.contains = orderedSet[int16](items)
	case []int32:
		set.contains = orderedSet[int32](items)
	case []int64:
		set.contains = orderedSet[int64](items)
	case []uint8:
		set.contains = orderedSet[uint8](items)
	case []uint16:
		set.contains = orderedSet[uint16](items)
	case []uint32:
		set.contains = orderedSet[uint32](items)
	case []uint64:
		set.contains = orderedSet[uint64](items)
	case []column.Half:
		set.contains = orderedSet[column.Half](items)
	case []float32, []float64:
		set.contains = floatSet(items)
	case column.Text, []decimal128.Num, []decimal256.Num, column.Bitset:
		set.contains = keySet(items)
	default:
		return nil
	}
	return set
}

// fewItems is the maximal length of a list for which linear search is faster.
const fewItems = 4

// orderedSet looks up integers.
func orderedSet[T integer](items []column.Vec) func(x column.Vec) column.Bitset {
	list := make([]T, len(items))
	for i, item := range items {
		list[i] = item.Data.([]T)[0]
	}
	lookup := sortedLookup(list)
	return func(x column.Vec) column.Bitset { return lookup(x.Data.([]T)) }
}

// sortedLookup returns a function that finds the values that are in the list.
func sortedLookup[T integer](list []T) func(d []T) column.Bitset {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) <= fewItems {
		return func(d []T) column.Bitset {
			out := compute.EqualConst(d, list[0])
			for _, c := range list[1:] {
				out = column.Or(out, compute.EqualConst(d, c))
			}
			return out
		}
	}
	set := make(map[T]struct{}, len(list))
	few := newSieve(len(list))
	for _, c := range list {
		set[c] = struct{}{}
		few.add(uint64(c))
	}
	low, high := list[0], list[len(list)-1]
	return func(d []T) column.Bitset {
		return column.Collect(len(d), func(i int) bool {
			if d[i] < low || d[i] > high || !few.has(uint64(d[i])) {
				return false
			}
			_, ok := set[d[i]]
			return ok
		})
	}
}

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// A sieve is a one-hash Bloom filter that excludes most numbers outside a set, because a map lookup takes
// ten times as long.
type sieve struct {
	bits  []uint64
	shift int // of a hash, to the number of its bit
}

// newSieve returns a sieve for n numbers, with 32 to 64 bits for each up to a size that a processor keeps
// in its cache.
func newSieve(n int) sieve {
	const most = 17 // 16 KiB
	log := min(bits.Len(uint(n))+5, most)
	return sieve{make([]uint64, 1<<(log-6)), 64 - log}
}

// bit returns the number of a bit by Fibonacci hashing, which separates neighbouring numbers.
func (s *sieve) bit(number uint64) uint64 { return number * 0x9E3779B97F4A7C15 >> s.shift }

func (s *sieve) add(number uint64) { bit := s.bit(number); s.bits[bit/64] |= 1 << (bit % 64) }

func (s *sieve) has(number uint64) bool { bit := s.bit(number); return s.bits[bit/64]>>(bit%64)&1 != 0 }

// floatSet looks up floats by their bits.
func floatSet(items []column.Vec) func(x column.Vec) column.Bitset {
	if _, ok := items[0].Data.([]float32); ok {
		list := make([]int32, len(items))
		for i, item := range items {
			list[i] = column.Bits32(item.Data.([]float32))[0]
		}
		lookup := sortedLookup(list)
		return func(x column.Vec) column.Bitset { return lookup(column.Bits32(x.Data.([]float32))) }
	}
	list := make([]int64, len(items))
	for i, item := range items {
		list[i] = column.Bits64(item.Data.([]float64))[0]
	}
	lookup := sortedLookup(list)
	return func(x column.Vec) column.Bitset { return lookup(column.Bits64(x.Data.([]float64))) }
}

// keySet looks up strings, and other values without an order, by their keys.
func keySet(items []column.Vec) func(x column.Vec) column.Bitset {
	set := make(map[string]struct{}, len(items))
	for _, item := range items {
		set[string(item.AppendKey(nil, 0))] = struct{}{}
	}
	return func(x column.Vec) column.Bitset {
		var buf []byte
		t, isText := x.Data.(column.Text)
		return column.Collect(x.N, func(i int) bool {
			var ok bool
			if isText {
				_, ok = set[string(t.At(i))]
				return ok
			}
			buf = x.AppendKey(buf[:0], i)
			_, ok = set[string(buf)]
			return ok
		})
	}
}
