package column

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"tiltyard/shared/sql/internal/meter"
)

// Ranks returns the rank of each slot's value in the order of its type; equal values have
// equal ranks.
func (v Vec) Ranks(m *meter.Meter) ([]int, error) {
	if err := m.Take(rankBytes * v.N); err != nil {
		return nil, err
	}
	compareSlots := v.slotOrder()
	slots := SlotsFrom(0, v.N)
	var refused error
	slices.SortStableFunc(slots, func(a, b int) int {
		if refused == nil {
			refused = m.Step(32)
		}
		if refused != nil {
			return 0 // for a quick end
		}
		return compareSlots(a, b)
	})
	if refused != nil {
		return nil, refused
	}
	ranks := make([]int, v.N)
	for i, slot := range slots {
		ranks[slot] = i
		if i > 0 && compareSlots(slots[i-1], slot) == 0 {
			ranks[slot] = ranks[slots[i-1]]
		}
	}
	return ranks, nil
}

// rankBytes is the memory that ranking takes for a slot.
const rankBytes = 16

// slotOrder compares the values of two slots.
func (v Vec) slotOrder() func(a, b int) int {
	switch d := v.Data.(type) {
	case nil:
		return func(int, int) int { return 0 }
	case Bitset:
		return func(a, b int) int { return cmp.Compare(Bit(d.Has(a)), Bit(d.Has(b))) }
	case Text:
		return func(a, b int) int { return bytes.Compare(d.At(a), d.At(b)) }
	case []int8:
		return orderOf(d)
	case []int16:
		return orderOf(d)
	case []int32:
		return orderOf(d)
	case []int64:
		return orderOf(d)
	case []uint8:
		return orderOf(d)
	case []uint16:
		return orderOf(d)
	case []uint32:
		return orderOf(d)
	case []uint64:
		return orderOf(d)
	case []float32:
		return func(a, b int) int { return cmp.Compare(totalOrder(float64(d[a])), totalOrder(float64(d[b]))) }
	case []float64:
		return func(a, b int) int { return cmp.Compare(totalOrder(d[a]), totalOrder(d[b])) }
	case []Half:
		low := int16(math.MaxInt16)
		return func(a, b int) int { return cmp.Compare(Ordered(int16(d[a]), 15, low), Ordered(int16(d[b]), 15, low)) }
	}
	return func(a, b int) int {
		x, _ := v.Integer(a)
		y, _ := v.Integer(b)
		return x.Cmp(y)
	}
}

func orderOf[T cmp.Ordered](d []T) func(a, b int) int {
	return func(a, b int) int { return cmp.Compare(d[a], d[b]) }
}
