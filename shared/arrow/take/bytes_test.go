package take

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

// The estimate is at least the allocation of a take, without the overhead of each array, and only a little
// more.
func TestBytesAreThoseThatTakingAllocates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := array.NewBuilder(memory.DefaultAllocator, typeOf(t, 2))
		n := rapid.IntRange(1, 20).Draw(t, "rows")
		for range n {
			fill(t, b)
		}
		from := rapid.IntRange(0, n-1).Draw(t, "from")
		source := array.NewSlice(b.NewArray(), int64(from), int64(n))
		var positions []int32
		for _, p := range rapid.SliceOfN(rapid.Int32Range(0, int32(source.Len()-1)), 0, 9).Draw(t, "positions") {
			for range rapid.IntRange(1, 40).Draw(t, "times") {
				positions = append(positions, p)
			}
		}
		got, err := Array(source, positions)
		if err != nil {
			t.Fatal(err)
		}
		counted, taken := Bytes(source, positions), int64(got.Data().SizeInBytes())
		const perArray = 64 // offsets and bits of an array without values, of some nested arrays
		if counted+16*perArray < taken || counted > 16*taken+16*perArray {
			t.Errorf("%d bytes are counted for %d rows of %s that take %d", counted, len(positions), source.DataType(), taken)
		}
	})
}
