package sqlexpr

import (
	"cmp"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
)

// A memberSet is the literals of an IN list, prepared for looking up. A few numbers are
// compared one after the other, more are looked up in a map after a look at their range,
// strings always in a map.
type memberSet struct {
	contains func(x vec) bitset // rows whose value, if not NULL, is in the list
	hasNull  bool
}

// in evaluates IN: TRUE where the value is in the list, NULL where it is not but the list
// has a NULL, and NULL for NULL.
func (f *frame) in(n *node, args []vec) (vec, error) {
	x := args[0]
	var found vec
	if set, ok := n.ready.(*memberSet); ok {
		found = vec{typ: typeBool, n: x.n, konst: x.konst, valid: x.valid}
		bits := set.contains(x)
		if x.valid != nil {
			bits = and(bits, x.valid)
		}
		found.data = bits
		if set.hasNull {
			found.valid = bits
		}
	} else {
		for i, item := range args[1:] {
			eq := compare(opEq, x, item)
			if i == 0 {
				found = eq
			} else {
				found = kleene(found, eq, true)
			}
		}
	}
	if n.not {
		found = invertBool(found)
	}
	return found, nil
}

// prepareIn makes the set of a list of nothing but literals, nil for other lists.
func prepareIn(n *node) *memberSet {
	set := &memberSet{}
	var items []vec
	for _, a := range n.args[1:] {
		switch {
		case a.op != opLit:
			return nil
		case a.val.isNull(0):
			set.hasNull = true
		default:
			items = append(items, a.val)
		}
	}
	if len(items) == 0 {
		set.contains = func(x vec) bitset { return newBitset(x.n) }
		return set
	}
	switch items[0].data.(type) {
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
	case []half:
		set.contains = orderedSet[half](items)
	case []float32, []float64:
		set.contains = floatSet(items)
	case text, []decimal128.Num, []decimal256.Num, bitset:
		set.contains = keySet(items)
	default:
		return nil
	}
	return set
}

// fewItems is the length up to which comparing with every item beats a search.
const fewItems = 4

// orderedSet looks up integers.
func orderedSet[T cmp.Ordered](items []vec) func(x vec) bitset {
	list := make([]T, len(items))
	for i, item := range items {
		list[i] = item.data.([]T)[0]
	}
	lookup := sortedLookup(list)
	return func(x vec) bitset { return lookup(x.data.([]T)) }
}

// sortedLookup returns a function that finds which values are in the list.
func sortedLookup[T cmp.Ordered](list []T) func(d []T) bitset {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) <= fewItems {
		return func(d []T) bitset {
			out := equalConst(d, list[0])
			for _, c := range list[1:] {
				out = or(out, equalConst(d, c))
			}
			return out
		}
	}
	set := make(map[T]struct{}, len(list))
	for _, c := range list {
		set[c] = struct{}{}
	}
	low, high := list[0], list[len(list)-1]
	return func(d []T) bitset {
		return collect(len(d), func(i int) bool {
			if d[i] < low || d[i] > high {
				return false
			}
			_, ok := set[d[i]]
			return ok
		})
	}
}

// floatSet looks up floats by their bits.
func floatSet(items []vec) func(x vec) bitset {
	if _, ok := items[0].data.([]float32); ok {
		list := make([]int32, len(items))
		for i, item := range items {
			list[i] = bits32(item.data.([]float32))[0]
		}
		lookup := sortedLookup(list)
		return func(x vec) bitset { return lookup(bits32(x.data.([]float32))) }
	}
	list := make([]int64, len(items))
	for i, item := range items {
		list[i] = bits64(item.data.([]float64))[0]
	}
	lookup := sortedLookup(list)
	return func(x vec) bitset { return lookup(bits64(x.data.([]float64))) }
}

// keySet looks up strings, and whatever else has no order of its own.
func keySet(items []vec) func(x vec) bitset {
	set := make(map[string]struct{}, len(items))
	for _, item := range items {
		set[string(item.appendKey(nil, 0))] = struct{}{}
	}
	return func(x vec) bitset {
		var buf []byte
		t, isText := x.data.(text)
		return collect(x.n, func(i int) bool {
			var ok bool
			if isText {
				_, ok = set[string(t.at(i))]
				return ok
			}
			buf = x.appendKey(buf[:0], i)
			_, ok = set[string(buf)]
			return ok
		})
	}
}
