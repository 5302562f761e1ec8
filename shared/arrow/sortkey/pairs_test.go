package sortkey_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"tiltyard/shared/arrow/sortkey"
)

// Pairs of all types are sorted as their keys, also in several runs, with NULLs, and with rows in any order.
func TestPairsAreSortedAsTheirKeys(t *testing.T) {
	types := []arrow.DataType{
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Uint16, arrow.FixedWidthTypes.Float16,
		arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Date32, arrow.FixedWidthTypes.Time32s,
		arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Date64, arrow.FixedWidthTypes.Time64us,
		arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Duration_s,
	}
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(types).Draw(t, "type")
		if !sortkey.HavePairs(typ) {
			t.Fatalf("%s has no pairs", typ)
		}
		width := typ.(arrow.FixedWidthDataType).Bytes()
		budget := rapid.SampledFrom([]int64{1 << 10, 1 << 20}).Draw(t, "budget")
		s, keyOf := sortkey.NewSorter(context.Background(), sortkey.NoLimit, budget), sortkey.Of(typ, true)
		var want [][]byte
		for range rapid.IntRange(0, 4).Draw(t, "batches") {
			n := rapid.IntRange(0, 400).Draw(t, "rows")
			random := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x7f, 0x80, 0xff}), n*width, n*width)
			valid := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0xff, 0xfe}), n/8+1, n/8+1).Draw(t, "valid")
			data := array.NewData(typ, n, []*memory.Buffer{memory.NewBufferBytes(valid), memory.NewBufferBytes(random.Draw(t, "values"))}, nil, array.UnknownNullCount, 0)
			from := rapid.IntRange(0, n).Draw(t, "from")
			values := array.NewSlice(array.MakeFromData(data), int64(from), int64(n))
			rows := rapid.SliceOfN(rapid.Uint64(), n-from, n-from).Draw(t, "row")
			for i, row := range rows {
				want = append(want, binary.BigEndian.AppendUint64(keyOf(nil, values, i), row))
			}
			if err := s.AddPairs(sortkey.PairsOf(values, rows)); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(want, bytes.Compare)
		var got [][]byte
		for key, err := range s.Sorted() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, bytes.Clone(key))
		}
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s: got %x, want %x", typ, got, want)
		}
	})
}

func TestValuesWithoutPairs(t *testing.T) {
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.String, arrow.FixedWidthTypes.Boolean, &arrow.Decimal128Type{Precision: 5}, arrow.Null} {
		if sortkey.HavePairs(typ) {
			t.Errorf("%s has pairs", typ)
		}
	}
}
