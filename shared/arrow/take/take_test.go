package take

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

var itemTypes = []arrow.DataType{
	arrow.Null, arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int32,
	arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Float16, arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString,
	arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Date32,
	&arrow.FixedSizeBinaryType{ByteWidth: 3}, &arrow.Decimal128Type{Precision: 20, Scale: 2},
}

func typeOf(t *rapid.T, depth int) arrow.DataType {
	if depth == 0 || rapid.Bool().Draw(t, "leaf") {
		return rapid.SampledFrom(itemTypes).Draw(t, "type")
	}
	item := typeOf(t, depth-1)
	switch rapid.IntRange(0, 4).Draw(t, "nesting") {
	case 0:
		return arrow.ListOf(item)
	case 1:
		return arrow.LargeListOf(item)
	case 2:
		return arrow.FixedSizeListOf(int32(rapid.IntRange(1, 3).Draw(t, "n")), item)
	case 3:
		return arrow.MapOf(arrow.BinaryTypes.String, item)
	default:
		return arrow.StructOf(arrow.Field{Name: "a", Type: item, Nullable: true}, arrow.Field{Name: "b", Type: typeOf(t, depth-1), Nullable: true})
	}
}

// fill appends one arbitrary value to a builder of any type.
func fill(t *rapid.T, b array.Builder) {
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		b.AppendNull()
		return
	}
	items := func(child array.Builder, n int) {
		for range n {
			fill(t, child)
		}
	}
	switch b := b.(type) {
	case *array.ListBuilder:
		b.Append(true)
		items(b.ValueBuilder(), rapid.IntRange(0, 3).Draw(t, "len"))
	case *array.LargeListBuilder:
		b.Append(true)
		items(b.ValueBuilder(), rapid.IntRange(0, 3).Draw(t, "len"))
	case *array.FixedSizeListBuilder:
		b.Append(true)
		items(b.ValueBuilder(), int(b.Type().(*arrow.FixedSizeListType).Len()))
	case *array.MapBuilder:
		b.Append(true)
		for range rapid.IntRange(0, 2).Draw(t, "len") {
			b.KeyBuilder().(*array.StringBuilder).Append("k")
			fill(t, b.ItemBuilder())
		}
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			fill(t, b.FieldBuilder(i))
		}
	case *array.NullBuilder:
		b.AppendNull()
	case *array.BooleanBuilder:
		b.Append(rapid.Bool().Draw(t, "bool"))
	case *array.BinaryBuilder:
		b.Append([]byte(rapid.StringN(0, 5, -1).Draw(t, "bytes")))
	case *array.FixedSizeBinaryBuilder:
		b.Append([]byte(rapid.StringMatching(`[a-z]{3}`).Draw(t, "bytes")))
	case *array.StringBuilder:
		b.Append(rapid.StringN(0, 5, -1).Draw(t, "string"))
	case *array.LargeStringBuilder:
		b.Append(rapid.StringN(0, 5, -1).Draw(t, "string"))
	default:
		if err := b.AppendValueFromString(fmt.Sprint(rapid.IntRange(0, 99).Draw(t, "number"))); err != nil {
			b.AppendEmptyValue()
		}
	}
}

func TestTakeEqualsValueByValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := array.NewBuilder(memory.DefaultAllocator, typeOf(t, 2))
		n := rapid.IntRange(1, 20).Draw(t, "rows")
		for range n {
			fill(t, b)
		}
		from := rapid.IntRange(0, n-1).Draw(t, "from")
		source := array.NewSlice(b.NewArray(), int64(from), int64(n))
		positions := rapid.SliceOfN(rapid.Int32Range(-1, int32(source.Len()-1)), 0, 30).Draw(t, "positions")

		got, err := Array(source, positions)
		if err != nil {
			t.Fatal(err)
		}
		if got.Len() != len(positions) {
			t.Fatalf("took %d values, want %d", got.Len(), len(positions))
		}
		for i, p := range positions {
			if p == Null {
				if source.DataType().ID() != arrow.NULL && !got.IsNull(i) {
					t.Fatalf("value %d of %s is not null", i, source.DataType())
				}
				continue
			}
			want := array.NewSlice(source, int64(p), int64(p)+1)
			if !array.Equal(array.NewSlice(got, int64(i), int64(i)+1), want) {
				t.Fatalf("value %d (position %d) of %s = %v, want %v", i, p, source.DataType(), array.NewSlice(got, int64(i), int64(i)+1), want)
			}
		}
	})
}

func TestTakeKeepsDictionaries(t *testing.T) {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	b := array.NewDictionaryBuilder(memory.DefaultAllocator, typ).(*array.BinaryDictionaryBuilder)
	for _, s := range []string{"x", "y", "x", "z"} {
		if err := b.AppendString(s); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Array(b.NewArray(), []int32{3, Null, 0})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := got.String(), `{ dictionary: ["x" "y" "z"]`; !strings.HasPrefix(got, want) {
		t.Errorf("took %s, want it to begin with %s", got, want)
	}
	if !got.IsNull(1) || got.(*array.Dictionary).GetValueIndex(0) != 2 || got.(*array.Dictionary).GetValueIndex(2) != 0 {
		t.Errorf("took %s, want z, null, x", got)
	}
}

func BenchmarkTakeScatteredStrings(b *testing.B) {
	builder := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range 1 << 16 {
		builder.Append(fmt.Sprintf("value %d", i))
	}
	source := builder.NewArray()
	positions := make([]int32, 1<<15)
	for i := range positions {
		positions[i] = int32(i * 7919 % (1 << 16))
	}
	b.SetBytes(int64(len(positions)) * 11)
	for b.Loop() {
		if _, err := Array(source, positions); err != nil {
			b.Fatal(err)
		}
	}
}

func TestConcatJoinsBatches(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int32, Nullable: true}}, nil)
	batch := func(values ...int32) arrow.RecordBatch {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		b.Field(0).(*array.Int32Builder).AppendValues(values, nil)
		return b.NewRecordBatch()
	}
	for _, parts := range [][]arrow.RecordBatch{nil, {batch(1, 2, 3)}, {batch(1), batch(), batch(2, 3)}} {
		got, err := Concat(schema, parts)
		if err != nil {
			t.Fatal(err)
		}
		want := batch(1, 2, 3)
		if parts == nil {
			want = batch()
		}
		if !array.RecordEqual(got, want) {
			t.Errorf("%d batches make %v, want %v", len(parts), got, want)
		}
	}
}
