package take

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// encoded dictionary-encodes all strings and 16-bit numbers at or below data. The dictionary is the array
// of the values itself.
func encoded(data arrow.ArrayData) arrow.ArrayData {
	switch data.DataType().ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.UINT16:
		indices := make([]int32, data.Offset()+data.Len())
		for i := range indices {
			indices[i] = int32(i - data.Offset())
		}
		t := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: data.DataType()}
		return array.NewDataWithDictionary(t, data.Len(), []*memory.Buffer{data.Buffers()[0],
			memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(indices))}, data.NullN(), data.Offset(), data.(*array.Data))
	}
	if _, nested := data.DataType().(arrow.NestedType); !nested {
		return data
	}
	children := make([]arrow.ArrayData, len(data.Children()))
	for i, c := range data.Children() {
		children[i] = encoded(c)
	}
	return withMembers(data, children)
}

// decoded is the reverse of encoded.
func decoded(t *rapid.T, data arrow.ArrayData) arrow.ArrayData {
	if data.DataType().ID() == arrow.DICTIONARY {
		rows := array.NewDictionaryData(data)
		positions := make([]int32, rows.Len())
		for i := range positions {
			positions[i] = Null
			if rows.IsValid(i) {
				positions[i] = int32(rows.GetValueIndex(i))
			}
		}
		values, err := Array(rows.Dictionary(), positions)
		if err != nil {
			t.Fatal(err)
		}
		return values.Data()
	}
	if _, nested := data.DataType().(arrow.NestedType); !nested {
		return data
	}
	children := make([]arrow.ArrayData, len(data.Children()))
	for i, c := range data.Children() {
		children[i] = decoded(t, c)
	}
	return withMembers(data, children)
}

func TestConcatOfDictionariesKeepsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := typeOf(t, 3)
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		n := rapid.IntRange(0, 12).Draw(t, "rows")
		for range n {
			fill(t, b)
		}
		whole := b.NewArray()
		var batches []arrow.RecordBatch
		var schema *arrow.Schema
		for from := 0; from < n || schema == nil; {
			to := rapid.IntRange(from, n).Draw(t, "to")
			part := array.MakeFromData(encoded(array.NewSlice(whole, int64(from), int64(to)).Data()))
			schema = arrow.NewSchema([]arrow.Field{{Name: "c", Type: part.DataType(), Nullable: true}}, nil)
			batches = append(batches, array.NewRecordBatch(schema, []arrow.Array{part}, int64(part.Len())))
			from = to
		}
		got, err := Concat(schema, batches)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Schema().Equal(schema) {
			t.Errorf("got schema %v, want %v", got.Schema(), schema)
		}
		if got := array.MakeFromData(decoded(t, got.Column(0).Data())); got.String() != whole.String() {
			t.Errorf("got %v of %s, want %v of %s", got, got.DataType(), whole, whole.DataType())
		}
	})
}

func TestConcatWidensIndicesAsNeeded(t *testing.T) {
	cases := []struct {
		index, want arrow.DataType
		used        int // items that rows use, of each part's 100
	}{
		{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int8, 64},
		{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, 65},
		{arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint8, 100},
		{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64, 100},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s with %d items", c.index, 2*c.used), func(t *testing.T) {
			typ := &arrow.DictionaryType{IndexType: c.index, ValueType: arrow.BinaryTypes.LargeString}
			schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: typ}}, nil)
			var batches []arrow.RecordBatch
			var want []string
			for part := range 2 {
				indices, values := array.NewBuilder(memory.DefaultAllocator, c.index), array.NewLargeStringBuilder(memory.DefaultAllocator)
				for i := range 100 {
					values.Append(fmt.Sprint(part, " ", i))
					if i < c.used {
						want = append(want, fmt.Sprint(part, " ", i))
						if err := indices.AppendValueFromString(fmt.Sprint(i)); err != nil {
							t.Fatal(err)
						}
					}
				}
				column := array.NewDictionaryArray(typ, indices.NewArray(), values.NewArray())
				batches = append(batches, array.NewRecordBatch(schema, []arrow.Array{column}, int64(c.used)))
			}
			joined, err := Concat(schema, batches)
			if err != nil {
				t.Fatal(err)
			}
			column := joined.Column(0).(*array.Dictionary)
			var got []string
			for i := range column.Len() {
				got = append(got, column.ValueStr(i))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
			if got := column.DataType().(*arrow.DictionaryType).IndexType; !arrow.TypeEqual(got, c.want) {
				t.Errorf("got indices of type %s, want %s", got, c.want)
			}
		})
	}
}

func TestNullsAreOfAnyType(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := typeOf(t, 3)
		dictionary := array.MakeFromData(encoded(Nulls(typ, 0).Data())).DataType()
		n := rapid.IntRange(0, 20).Draw(t, "n")
		for _, typ := range []arrow.DataType{typ, dictionary} {
			got := Nulls(typ, n)
			if !arrow.TypeEqual(got.DataType(), typ) || got.Len() != n || got.NullN() != n {
				t.Fatalf("got %d nulls of %d values of type %s, want %d of type %s", got.NullN(), got.Len(), got.DataType(), n, typ)
			}
			if _, err := Array(got, make([]int32, min(n, 1))); err != nil {
				t.Fatal(err)
			}
			if got := got.String(); got == "" {
				t.Fatal("got no text")
			}
		}
	})
}

func TestEncodeMakesADictionary(t *testing.T) {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues([]string{"before", "b", "a", "", "b", "a"}, []bool{true, true, true, false, true, true})
	all := b.NewArray()
	got, err := Encode(array.NewSlice(all, 1, 6), typ)
	if err != nil {
		t.Fatal(err)
	}
	if !arrow.TypeEqual(got.DataType(), typ) {
		t.Errorf("got type %s, want %s", got.DataType(), typ)
	}
	rows := got.(*array.Dictionary)
	if diff := cmp.Diff("[\"b\" \"a\"]", rows.Dictionary().String()); diff != "" {
		t.Errorf("dictionary (-want +got):\n%s", diff)
	}
	for i := range rows.Len() {
		if want := all.ValueStr(i + 1); rows.ValueStr(i) != want {
			t.Errorf("row %d: got %s, want %s", i, rows.ValueStr(i), want)
		}
	}
}

func TestEncodeWidensIndices(t *testing.T) {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range int64(129) {
		b.Append(i)
	}
	values := b.NewArray()
	for n, want := range map[int64]arrow.DataType{128: arrow.PrimitiveTypes.Int8, 129: arrow.PrimitiveTypes.Int16} {
		got, err := Encode(array.NewSlice(values, 0, n), &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64})
		if err != nil {
			t.Fatal(err)
		}
		if index := got.DataType().(*arrow.DictionaryType).IndexType; !arrow.TypeEqual(index, want) || got.(*array.Dictionary).GetValueIndex(127) != 127 {
			t.Errorf("%d values: got indices of %s, want %s", n, index, want)
		}
	}
}

// pages returns rows of 100 items in all as slices of one array of a dictionary column.
func pages(n, rows int) []arrow.RecordBatch {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	values, indices := array.NewStringBuilder(memory.DefaultAllocator), array.NewInt32Builder(memory.DefaultAllocator)
	for i := range 100 {
		values.Append(fmt.Sprint("item ", i))
	}
	for i := range n * rows {
		indices.Append(int32(i % 100))
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "d", Type: typ}}, nil)
	whole := array.NewRecordBatch(schema, []arrow.Array{array.NewDictionaryArray(typ, indices.NewArray(), values.NewArray())}, int64(n*rows))
	all := make([]arrow.RecordBatch, n)
	for i := range all {
		all[i] = whole.NewSlice(int64(i*rows), int64((i+1)*rows))
	}
	return all
}

func TestTallyMatchesTheMemoryOfConcat(t *testing.T) {
	for _, c := range []struct{ pages, rows int }{{2, 100_000}, {1000, 100}} {
		all := pages(c.pages, c.rows)
		var size Tally
		for _, batch := range all {
			size.Add(batch)
		}
		if least := int64(4 * c.pages * c.rows); size.Rows() < least || size.Rows() > 2*least {
			t.Errorf("%d slices of one array take %d bytes, want %d and the dictionary", c.pages, size.Rows(), least)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Concat(all[0].Schema(), all); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if made := int64(after.TotalAlloc - before.TotalAlloc); made > size.Joined()+int64(c.pages)*8000 { // overhead of each slice, including that of the race detector
			t.Errorf("the join of %d slices made %d bytes, counted were %d", c.pages, made, size.Joined())
		}
	}
}
