package datafile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

// TestWriterWritesFilesThatAreReadBack writes random tables of random types, in random batches, and
// reads them whole, in windows and row by row.
func TestWriterWritesFilesThatAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		version := rapid.SampledFrom([]lance.Version{lance.V2_0, lance.V2_1, lance.V2_2}).Draw(t, "version")
		var fields []arrow.Field
		for i := range rapid.IntRange(1, 2).Draw(t, "fields") {
			fields = append(fields, arrow.Field{
				Name:     fmt.Sprint("f", i),
				Type:     drawType(t, 3),
				Nullable: true,
				Metadata: drawMetadata(t),
			})
		}
		as := arrow.NewSchema(fields, nil)
		rows := rapid.SampledFrom([]int{0, 1, 2, 3, 7, 63, 64, 65, 300, 1023, 1024, 1025, 2500, 4096, 4097}).Draw(t, "rows")
		values := valueMaker{
			random: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)),
			nulls:  rapid.SampledFrom([]float64{0, 0, 0.01, 0.3, 0.99, 1}).Draw(t, "nulls"),
			kinds:  rapid.SampledFrom([]int{1, 3, 30, 1 << 30}).Draw(t, "distinct"),
			longer: rapid.SampledFrom([]int{0, 20, 600}).Draw(t, "longest"),
			items:  rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "items"),
			// Null structs cannot be stored in 2.0.
			wholeStructs: version == lance.V2_0,
		}
		table := values.table(as, rows)
		batches := cut(t, table)
		checkRoundTrip(t, as, table, batches, version)
	})
}

// drawMetadata draws storage options for a field, mostly none.
func drawMetadata(t *rapid.T) arrow.Metadata {
	m := map[string]string{}
	for _, option := range []struct {
		name   string
		values []string
	}{
		{"compression", []string{"zstd", "lz4", "fsst", "none"}},
		{"bss", []string{"on", "off", "auto"}},
		{"rle-threshold", []string{"0.1", "1"}},
		{"structural-encoding", []string{"miniblock", "fullzip"}},
		{"minichunk-size", []string{"1", "100", "100000"}},
		{"dict-divisor", []string{"1", "100"}},
		{"dict-size-ratio", []string{"0.01", "1"}},
		{"dict-values-compression", []string{"zstd", "lz4", "none"}},
	} {
		if rapid.IntRange(0, 4).Draw(t, option.name+"?") == 0 {
			m["lance-encoding:"+option.name] = rapid.SampledFrom(option.values).Draw(t, option.name)
		}
	}
	return arrow.MetadataFrom(m)
}

// A failer is the common part of tests and property tests.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// holdsMap reports whether a field is a map, or has one inside.
func holdsMap(f arrow.Field) bool {
	nested, ok := f.Type.(arrow.NestedType)
	return ok && (f.Type.ID() == arrow.MAP || slices.ContainsFunc(nested.Fields(), holdsMap))
}

func checkRoundTrip(t *rapid.T, as *arrow.Schema, table arrow.RecordBatch, batches []arrow.RecordBatch, v lance.Version) {
	sch, err := schema.FromArrow(as)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := encodeTable(sch, batches, v)
	if v != lance.V2_2 && slices.ContainsFunc(as.Fields(), holdsMap) {
		if !errors.Is(err, lance.ErrUnsupported) {
			t.Fatalf("maps in a file of version %v: got %v, want ErrUnsupported", v, err)
		}
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := openBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	n := table.NumRows()
	windows := [][2]int64{{0, n}}
	for range 3 {
		from := rapid.Int64Range(0, n).Draw(t, "from")
		windows = append(windows, [2]int64{from, rapid.Int64Range(from, n).Draw(t, "to")})
	}
	for _, w := range windows {
		got, err := f.ReadRange(ctx, sch.Fields, w[0], w[1])
		checkColumns(t, fmt.Sprint("rows ", w), got, err, table.NewSlice(w[0], w[1]))
	}
	var rows []int64
	for row := range n {
		if n < 10 || rapid.IntRange(0, int(n)/5).Draw(t, "take") == 0 {
			rows = append(rows, row)
		}
	}
	got, err := f.Take(ctx, sch.Fields, rows)
	if err != nil {
		t.Fatalf("take %v: %v", rows, err)
	}
	for i, row := range rows {
		var one []arrow.Array
		for _, arr := range got {
			one = append(one, array.NewSlice(arr, int64(i), int64(i)+1))
		}
		checkColumns(t, fmt.Sprint("row ", row), one, nil, table.NewSlice(row, row+1))
	}
}

func checkColumns(t failer, what string, got []arrow.Array, err error, want arrow.RecordBatch) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for i, arr := range got {
		if d := diff(arr, want.Column(i)); d != "" {
			t.Fatalf("%s of %s: %s", what, want.Schema().Field(i), d)
		}
	}
}

// cut cuts a table into batches that share its memory.
func cut(t *rapid.T, table arrow.RecordBatch) []arrow.RecordBatch {
	n := table.NumRows()
	cuts := rapid.SliceOfN(rapid.Int64Range(0, n), 0, 3).Draw(t, "cuts")
	slices.Sort(cuts)
	var batches []arrow.RecordBatch
	from := int64(0)
	for _, to := range append(cuts, n) {
		batches = append(batches, table.NewSlice(from, to))
		from = to
	}
	return batches
}

var leafTypes = []arrow.DataType{
	arrow.Null,
	arrow.FixedWidthTypes.Boolean,
	arrow.PrimitiveTypes.Int8,
	arrow.PrimitiveTypes.Uint16,
	arrow.PrimitiveTypes.Int32,
	arrow.PrimitiveTypes.Int64,
	arrow.FixedWidthTypes.Float16,
	arrow.PrimitiveTypes.Float64,
	arrow.BinaryTypes.String,
	arrow.BinaryTypes.LargeString,
	arrow.BinaryTypes.Binary,
	&arrow.FixedSizeBinaryType{ByteWidth: 5},
	&arrow.FixedSizeBinaryType{ByteWidth: 256},
	&arrow.Decimal128Type{Precision: 20, Scale: 2},
	&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "+05:30"},
	arrow.FixedWidthTypes.Date32,
	arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32),
	arrow.FixedSizeListOf(70, arrow.PrimitiveTypes.Float32),
	arrow.FixedSizeListOf(5, arrow.FixedWidthTypes.Boolean),
	arrow.FixedSizeListOf(2, arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Int16)),
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String},
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.PrimitiveTypes.Int64},
}

// drawType returns a type of at most this many layers around a leaf.
func drawType(t *rapid.T, layers int) arrow.DataType {
	kind := rapid.SampledFrom([]string{"leaf", "list", "struct", "large list", "map"}).Draw(t, "kind")
	if layers == 0 {
		kind = "leaf"
	}
	switch kind {
	case "list":
		return arrow.ListOf(drawType(t, layers-1))
	case "large list":
		return arrow.LargeListOf(drawType(t, layers-1))
	case "map":
		return arrow.MapOf(arrow.PrimitiveTypes.Int32, drawType(t, layers-1))
	case "struct":
		return arrow.StructOf(
			arrow.Field{Name: "a", Type: drawType(t, layers-1), Nullable: true},
			arrow.Field{Name: "b", Type: drawType(t, 0), Nullable: true},
		)
	}
	return rapid.SampledFrom(leafTypes).Draw(t, "type")
}

// A valueMaker makes random values.
type valueMaker struct {
	random       *rand.Rand
	nulls        float64 // fraction of nulls
	kinds        int     // number of distinct values
	longer       int     // maximum bytes of strings besides the part that distinguishes them
	items        int     // most items of lists
	wholeStructs bool    // structs are not null
}

func (m *valueMaker) table(as *arrow.Schema, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, as)
	for i := range as.NumFields() {
		for range rows {
			m.append(b.Field(i))
		}
	}
	return b.NewRecordBatch()
}

// append adds a value or a null.
func (m *valueMaker) append(b array.Builder) {
	_, isStruct := b.(*array.StructBuilder)
	if m.random.Float64() < m.nulls && !(isStruct && m.wholeStructs) {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			m.append(b.FieldBuilder(i))
		}
	case *array.MapBuilder:
		b.Append(true)
		for i := range m.random.IntN(m.items + 1) {
			b.KeyBuilder().(*array.Int32Builder).Append(int32(i))
			m.append(b.ItemBuilder())
		}
	case *array.FixedSizeListBuilder:
		b.Append(true)
		for range b.Type().(*arrow.FixedSizeListType).Len() {
			m.append(b.ValueBuilder())
		}
	case array.ListLikeBuilder:
		b.Append(true)
		for range m.random.IntN(m.items + 1) {
			m.append(b.ValueBuilder())
		}
	default:
		m.appendLeaf(b, m.random.IntN(m.kinds))
	}
}

// appendLeaf adds the k-th value of the type.
func (m *valueMaker) appendLeaf(b array.Builder, k int) {
	text := fmt.Sprint(k)
	if m.longer > 0 {
		text += string(make([]byte, k%m.longer))
	}
	switch b := b.(type) {
	case *array.NullBuilder:
		b.AppendNull()
	case *array.BooleanBuilder:
		b.Append(k%2 == 0)
	case *array.Int8Builder:
		b.Append(int8(k))
	case *array.Int16Builder:
		b.Append(int16(k))
	case *array.Uint16Builder:
		b.Append(uint16(k))
	case *array.Int32Builder:
		b.Append(int32(k))
	case *array.Int64Builder:
		b.Append(int64(k) * 1e9)
	case *array.Float16Builder:
		b.Append(float16.New(float32(k % 100)))
	case *array.Float32Builder:
		b.Append(float32(k))
	case *array.Float64Builder:
		b.Append(float64(k) / 3)
	case *array.StringBuilder:
		b.Append(text)
	case *array.LargeStringBuilder:
		b.Append(text)
	case *array.BinaryBuilder:
		b.Append([]byte(text))
	case *array.FixedSizeBinaryBuilder:
		value := make([]byte, b.Type().(*arrow.FixedSizeBinaryType).ByteWidth)
		copy(value, text)
		b.Append(value)
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(int64(k)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(k))
	case *array.Date32Builder:
		b.Append(arrow.Date32(k))
	case *array.BinaryDictionaryBuilder:
		if err := b.AppendString(fmt.Sprint(k % 1000)); err != nil {
			panic(err)
		}
	case *array.Int64DictionaryBuilder:
		if err := b.Append(int64(k % 1000)); err != nil {
			panic(err)
		}
	default:
		panic(fmt.Sprintf("no values for %T", b))
	}
}

var manyPages = arrow.NewSchema([]arrow.Field{
	{Name: "i", Type: arrow.PrimitiveTypes.Int64},
	{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
}, nil)

// manyPagesBatch makes rows from one on; every third list is null.
func manyPagesBatch(from, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, manyPages)
	lists := b.Field(1).(*array.ListBuilder)
	items := lists.ValueBuilder().(*array.StringBuilder)
	for row := from; row < from+rows; row++ {
		b.Field(0).(*array.Int64Builder).Append(int64(row) * 1_000_003)
		lists.Append(row%3 != 0)
		if row%3 != 0 {
			items.Append(fmt.Sprint(row))
			items.Append("x")
		}
	}
	return b.NewRecordBatch()
}

func TestColumnsOfManyPagesAreRead(t *testing.T) {
	const rows, batch = 1_300_000, 100_000
	var batches []arrow.RecordBatch
	for from := 0; from < rows; from += batch {
		batches = append(batches, manyPagesBatch(from, batch))
	}
	sch, err := schema.FromArrow(manyPages)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []lance.Version{lance.V2_0, lance.V2_1, lance.V2_2} {
		t.Run(version.String(), func(t *testing.T) {
			data, _ := writeFile(t, manyPages, version, batches...)
			f, err := openBytes(data)
			if err != nil {
				t.Fatal(err)
			}
			for from := int64(0); from < rows; from += 77_777 {
				to := min(from+10, rows)
				got, err := f.ReadRange(context.Background(), sch.Fields, from, to)
				want := manyPagesBatch(int(from), int(to-from))
				checkColumns(t, fmt.Sprint("rows from ", from), got, err, want)
			}
		})
	}
}

// Batches whose dictionaries differ become pages whose dictionaries fit their indices.
func TestDictionariesThatDifferAreRead(t *testing.T) {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	as := arrow.NewSchema([]arrow.Field{{Name: "d", Type: typ, Nullable: true}}, nil)
	var batches []arrow.RecordBatch
	for i := range 5 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, as)
		for k := range 100 {
			if err := b.Field(0).(*array.BinaryDictionaryBuilder).AppendString(fmt.Sprint(i, " ", k)); err != nil {
				t.Fatal(err)
			}
		}
		b.Field(0).AppendNull()
		batches = append(batches, b.NewRecordBatch())
	}
	sch, err := schema.FromArrow(as)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []lance.Version{lance.V2_0, lance.V2_1, lance.V2_2} {
		t.Run(version.String(), func(t *testing.T) {
			data, _ := writeFile(t, as, version, batches...)
			f, err := openBytes(data)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range batches {
				got, err := f.ReadRange(context.Background(), sch.Fields, int64(i)*101, int64(i+1)*101)
				checkColumns(t, fmt.Sprint("batch ", i), got, err, want)
			}
		})
	}
}
