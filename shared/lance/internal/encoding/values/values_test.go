package values_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/internal/encoding/values"
)

// fromJSON makes an array from JSON.
func fromJSON(t *testing.T, typ arrow.DataType, json string) arrow.Array {
	t.Helper()
	arr, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return arr
}

var typeCases = []struct {
	typ  arrow.DataType
	json string
}{
	{arrow.FixedWidthTypes.Boolean, `[true, false, true, true]`},
	{arrow.PrimitiveTypes.Int16, `[1, -2, 3, 4]`},
	{arrow.BinaryTypes.String, `["", "one", "two", "a longer one than sixteen bytes"]`},
	{arrow.BinaryTypes.LargeString, `["a", "", "b", "c"]`},
	{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), `[[1, 2], [3, null], [5, 6], [7, 8]]`},
	{arrow.FixedSizeListOf(3, arrow.FixedWidthTypes.Boolean), `[[true, true, false], [null, true, false], [true, true, true], [false, true, false]]`},
}

// Values of an array that are taken over in two pieces make the same array again.
func TestArraysComeBackFromValues(t *testing.T) {
	for _, c := range typeCases {
		t.Run(c.typ.String(), func(t *testing.T) {
			want := fromJSON(t, c.typ, c.json)
			shape, err := values.ShapeToWrite(c.typ)
			if err != nil {
				t.Fatal(err)
			}
			v := values.New(shape)
			if err := v.AppendArray(want, []values.Span{{From: 0, To: 1}, {From: 1, To: want.Len()}}, nil); err != nil {
				t.Fatal(err)
			}
			got, err := values.ToArrow(c.typ, &values.Items{Values: v}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !array.Equal(want, got) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// Take returns the values at the given positions.
func TestValuesAreTakenByIndices(t *testing.T) {
	for _, c := range typeCases {
		t.Run(c.typ.String(), func(t *testing.T) {
			arr := fromJSON(t, c.typ, c.json)
			shape, err := values.ShapeOf(c.typ)
			if err != nil {
				t.Fatal(err)
			}
			items := values.New(shape)
			if err := items.AppendArray(arr, []values.Span{{To: arr.Len()}}, nil); err != nil {
				t.Fatal(err)
			}
			taken := values.New(shape)
			indices := []uint32{3, 0, 0, 2}
			if err := taken.Take(items, indices); err != nil {
				t.Fatal(err)
			}
			got, err := values.ToArrow(c.typ, &values.Items{Values: taken}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, at := range indices {
				if got.ValueStr(i) != arr.ValueStr(int(at)) {
					t.Errorf("value %d is %s, want %s", i, got.ValueStr(i), arr.ValueStr(int(at)))
				}
			}
		})
	}
}

// Before a few values become many, Take reserves their memory, and it allocates nothing if that
// fails.
func TestTakingAsksForRoom(t *testing.T) {
	errFull := errors.New("full")
	for _, c := range typeCases {
		arr := fromJSON(t, c.typ, c.json)
		shape, err := values.ShapeOf(c.typ)
		if err != nil {
			t.Fatal(err)
		}
		items := values.New(shape)
		if err := items.AppendArray(arr, []values.Span{{To: arr.Len()}}, nil); err != nil {
			t.Fatal(err)
		}
		taken := values.Room(func(int) error { return errFull }).Values(shape)
		if err := taken.Take(items, make([]uint32, 1000)); !errors.Is(err, errFull) || taken.N != 0 {
			t.Errorf("%s: got %v and %d values, want %v", c.typ, err, taken.N, errFull)
		}
	}
}
