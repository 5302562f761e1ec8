package materialize

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// The rows that a function makes from one source row are numbered from 0.
func TestRowsOfAFunctionAreNumbered(t *testing.T) {
	for _, c := range []struct{ parents, want []int32 }{
		{nil, []int32{}}, {[]int32{4}, []int32{0}}, {[]int32{0, 0, 0, 2, 2, 5, 6, 6}, []int32{0, 1, 2, 0, 1, 0, 0, 1}},
	} {
		if got := childIndices(c.parents).(*array.Int32).Int32Values(); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.parents, got, c.want)
		}
	}
}
