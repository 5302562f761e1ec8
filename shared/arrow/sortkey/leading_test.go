package sortkey

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// floats returns random values of which many are equal, null, or not a number.
func floats(random *rand.Rand, n int) arrow.Array {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	defer b.Release()
	for range n {
		switch random.IntN(20) {
		case 0:
			b.AppendNull()
		case 1:
			b.Append(math.NaN())
		case 2:
			b.Append(math.Copysign(0, -1))
		default:
			b.Append(math.Round(random.NormFloat64() * 50))
		}
	}
	return b.NewArray()
}

// TestLeadingHasTheFirstRows compares with a sort of all rows.
func TestLeadingHasTheFirstRows(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for _, most := range []int64{1, 10, 300} {
		for flags := range 4 {
			descending, nullsFirst := flags&1 > 0, flags&2 > 0
			t.Run(fmt.Sprint(most, descending, nullsFirst), func(t *testing.T) {
				l := NewLeading(arrow.PrimitiveTypes.Float64, most, descending, nullsFirst)
				key := Of(arrow.PrimitiveTypes.Float64, nullsFirst != descending)
				var all, found [][]byte
				for range 4 {
					values := floats(random, 3000)
					values = array.NewSlice(values, 100, 2900)
					rows := l.Rows(nil, values)
					for i := range values.Len() {
						k := key(nil, values, i)
						if descending {
							for j := range k {
								k[j] = ^k[j]
							}
						}
						all = append(all, k)
						if _, ok := slices.BinarySearch(rows, int32(i)); ok {
							found = append(found, k)
						}
					}
				}
				slices.SortFunc(all, bytes.Compare)
				slices.SortFunc(found, bytes.Compare)
				if !slices.EqualFunc(all[:most], found[:most], bytes.Equal) {
					t.Error("other first rows than those of a sort")
				}
				// Random values replace about most × (1 + ln(rows / most)) others; many are equal to the last.
				if len(found) > len(all)/2 {
					t.Errorf("%d of %d rows are left", len(found), len(all))
				}
			})
		}
	}
}

func TestLeadingIsNotForAllTypes(t *testing.T) {
	if NewLeading(arrow.BinaryTypes.String, 10, false, false) != nil || NewLeading(arrow.PrimitiveTypes.Int8, mostLeading+1, false, false) != nil {
		t.Error("a Leading for texts, or for a large limit")
	}
}
