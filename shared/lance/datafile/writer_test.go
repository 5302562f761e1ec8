package datafile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

// readTable reads an Arrow IPC file.
func readTable(t *testing.T, name string) (*arrow.Schema, []arrow.RecordBatch) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewFileReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var batches []arrow.RecordBatch
	for i := range r.NumRecords() {
		rec, err := r.RecordBatchAt(i)
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, rec)
	}
	return r.Schema(), batches
}

// writeFile returns the data file of these batches.
func writeFile(t testing.TB, as *arrow.Schema, v lance.Version, batches ...arrow.RecordBatch) ([]byte, Summary) {
	t.Helper()
	sch, err := schema.FromArrow(as)
	if err != nil {
		t.Fatal(err)
	}
	b, summary, err := encodeTable(sch, batches, v)
	if err != nil {
		t.Fatal(err)
	}
	return b, summary
}

func encodeTable(sch *schema.Schema, batches []arrow.RecordBatch, v lance.Version) ([]byte, Summary, error) {
	var out bytes.Buffer
	w, err := NewWriter(&out, sch, v)
	if err != nil {
		return nil, Summary{}, err
	}
	for _, rec := range batches {
		if err := w.Write(rec); err != nil {
			return nil, Summary{}, err
		}
	}
	summary, err := w.Close()
	return out.Bytes(), summary, err
}

func TestWriterWritesWhatTheNativeWriterWrites(t *testing.T) {
	versions := map[string]lance.Version{"2.1": lance.V2_1, "2.2": lance.V2_2}
	files, err := filepath.Glob("testdata/golden/*.lance")
	if err != nil || len(files) == 0 {
		t.Fatalf("got golden files %v, error %v", files, err)
	}
	for _, file := range files {
		name, version, _ := strings.Cut(strings.TrimSuffix(file, ".lance"), "_v2")
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			as, batches := readTable(t, name+".arrow")
			got, _ := writeFile(t, as, versions["2"+version], batches...)
			if diff := cmp.Diff(hexLines(want), hexLines(got)); diff != "" {
				t.Errorf("bytes (-want +got):\n%s", diff)
			}
		})
	}
}

// hexLines is b in lines of 16 bytes, each behind its position.
func hexLines(b []byte) []string {
	var lines []string
	for at := 0; at < len(b); at += 16 {
		lines = append(lines, fmt.Sprintf("%06x  % x", at, b[at:min(at+16, len(b))]))
	}
	return lines
}

func TestWriterAnswersWhatManifestsNeed(t *testing.T) {
	item := arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}
	as := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64},
		{Name: "s", Type: arrow.StructOf(item, arrow.Field{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}), Nullable: true},
	}, nil)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, as, strings.NewReader(`[{"a": 1}, {"a": 2, "s": {"x": 3, "l": ["y"]}}]`))
	if err != nil {
		t.Fatal(err)
	}
	b, got := writeFile(t, as, lance.V2_2, rec, rec)
	// Field ids: a 0, s 1, s.x 2, s.l 3, its items 4.
	want := Summary{Rows: 4, Size: int64(len(b)), Fields: []int32{0, 2, 4}, ColumnIndices: []int32{0, 1, 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestWriterRefusesTypesItCannotStore(t *testing.T) {
	plain := func(name, logical string, typ arrow.DataType, children ...*schema.Field) *schema.Field {
		return &schema.Field{Name: name, LogicalType: logical, Type: typ, Nullable: true, Children: children}
	}
	number := plain("x", "int32", arrow.PrimitiveTypes.Int32)
	pair := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	fixed := plain("bad", "fixed_size_list:struct:2", arrow.FixedSizeListOf(2, pair), plain("item", "struct", pair, number))
	entries := plain("entries", "struct", pair, number)
	packed := func(member arrow.DataType, logical string) *schema.Field {
		typ := arrow.StructOf(arrow.Field{Name: "x", Type: member, Nullable: true})
		f := plain("bad", "struct", typ, plain("x", logical, member))
		f.Metadata = map[string]string{"lance-encoding:packed": "true"}
		return f
	}
	unknown := plain("bad", "int32", arrow.PrimitiveTypes.Int32)
	unknown.Metadata = map[string]string{"lance-encoding:compression": "snappy"}
	cases := []struct {
		name    string
		field   *schema.Field
		version lance.Version
	}{
		{"empty struct", plain("bad", "struct", arrow.StructOf()), lance.V2_2},
		{"packed struct of booleans", packed(arrow.FixedWidthTypes.Boolean, "bool"), lance.V2_2},
		{"packed struct of texts in 2.1", packed(arrow.BinaryTypes.String, "string"), lance.V2_1},
		{"compression that is not known", unknown, lance.V2_2},
		{"fixed-size list of strings", plain("bad", "", arrow.FixedSizeListOf(2, arrow.BinaryTypes.String)), lance.V2_2},
		{"interval", plain("bad", "", arrow.FixedWidthTypes.MonthInterval), lance.V2_2},
		{"small decimal", plain("bad", "", &arrow.Decimal64Type{Precision: 5}), lance.V2_2},
		{"empty binary", plain("bad", "", &arrow.FixedSizeBinaryType{}), lance.V2_2},
		{"map in 2.1", plain("bad", "map", arrow.MapOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int32), entries), lance.V2_1},
		{"list of structs of fixed size in 2.1", fixed, lance.V2_1},
		{"list of lists of structs of fixed size", plain("bad", "list", arrow.ListOf(fixed.Type), fixed), lance.V2_2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewWriter(&bytes.Buffer{}, &schema.Schema{Fields: []*schema.Field{c.field}}, c.version)
			if !errors.Is(err, lance.ErrUnsupported) || !strings.Contains(err.Error(), `"bad`) {
				t.Errorf("got error %v, want one that wraps ErrUnsupported and names the field", err)
			}
		})
	}
}

func TestWriterRefusesRowsThatDoNotFit(t *testing.T) {
	as := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}}, nil)
	sch, err := schema.FromArrow(as)
	if err != nil {
		t.Fatal(err)
	}
	batch := func(typ arrow.DataType, rows string, columns int) arrow.RecordBatch {
		arr, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(rows))
		if err != nil {
			t.Fatal(err)
		}
		fields := make([]arrow.Field, columns)
		arrays := make([]arrow.Array, columns)
		for i := range fields {
			fields[i], arrays[i] = arrow.Field{Name: "c", Type: typ, Nullable: true}, arr
		}
		return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(arr.Len()))
	}
	cases := []struct {
		name string
		rec  arrow.RecordBatch
		want string
	}{
		{"null in a field that is not nullable", batch(arrow.PrimitiveTypes.Int32, `[1, null]`, 1), `field "a" is not nullable`},
		{"another type", batch(arrow.PrimitiveTypes.Int64, `[1]`, 1), `field "a": array of type int64`},
		{"another number of columns", batch(arrow.PrimitiveTypes.Int32, `[1]`, 2), "2 columns, want 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w, err := NewWriter(&bytes.Buffer{}, sch, lance.V2_2)
			if err != nil {
				t.Fatal(err)
			}
			err = w.Write(c.rec)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one about %s", err, c.want)
			}
			if _, again := w.Close(); again == nil {
				t.Error("Close after a failed Write: got no error")
			}
		})
	}
}

// Views and extension types are stored as the types that they stand for.
func TestWriterTakesArraysThatStandForOthers(t *testing.T) {
	views := array.NewStringViewBuilder(memory.DefaultAllocator)
	words := array.NewStringBuilder(memory.DefaultAllocator)
	for _, word := range []string{"a", "a string that is not kept in its view", ""} {
		views.Append(word)
		words.Append(word)
	}
	views.AppendNull()
	words.AppendNull()
	plain := words.NewArray()
	as := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	want, _ := writeFile(t, as, lance.V2_2, array.NewRecordBatch(as, []arrow.Array{plain}, 4))

	json, err := extensions.NewJSONType(arrow.BinaryTypes.String)
	if err != nil {
		t.Fatal(err)
	}
	for _, arr := range []arrow.Array{views.NewArray(), array.NewExtensionArrayWithStorage(json, plain)} {
		stands := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arr.DataType(), Nullable: true}}, nil)
		got, _ := writeFile(t, as, lance.V2_2, array.NewRecordBatch(stands, []arrow.Array{arr}, 4))
		if diff := cmp.Diff(hexLines(want), hexLines(got)); diff != "" {
			t.Errorf("file of %s (-want +got):\n%s", arr.DataType(), diff)
		}
	}
}

// failingWriter fails after some bytes.
type failingWriter struct{ left int }

var errFull = errors.New("disk full")

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriterReportsThatBytesCouldNotBeWritten(t *testing.T) {
	as, batches := readTable(t, "testdata/golden/packed.arrow")
	sch, err := schema.FromArrow(as)
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{0, 100, 1000} {
		w, err := NewWriter(&failingWriter{room}, sch, lance.V2_2)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(batches[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Close(); !errors.Is(err, errFull) {
			t.Errorf("room for %d bytes: got error %v, want %v", room, err, errFull)
		}
	}
}

// TestWriterHoldsAboutAPagePerColumn writes much more than it may hold.
func TestWriterHoldsAboutAPagePerColumn(t *testing.T) {
	const rows = 4096
	as := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.FixedSizeListOf(256, arrow.PrimitiveTypes.Float32)}}, nil)
	values := array.NewFloat32Data(array.NewData(arrow.PrimitiveTypes.Float32, rows*256,
		[]*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, 4*rows*256))}, nil, 0, 0))
	vectors := array.NewFixedSizeListData(array.NewData(as.Field(0).Type, rows, []*memory.Buffer{nil}, []arrow.ArrayData{values.Data()}, 0, 0))
	rec := array.NewRecordBatch(as, []arrow.Array{vectors}, rows)
	sch, err := schema.FromArrow(as)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, sch, lance.V2_2)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		if got := w.Buffered(); got > 12<<20 {
			t.Fatalf("got %d bytes buffered, want no more than a page and a bit", got)
		}
	}
	summary, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary.Rows, int64(10*rows); got != want {
		t.Errorf("got %d rows, want %d", got, want)
	}
}

// TestWriterLeavesArraysAlone writes arrays whose memory the pages may share.
func TestWriterLeavesArraysAlone(t *testing.T) {
	const rows = 20_000
	as := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	builder := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range rows {
		builder.Append(int64(i) * 0x9E3779B97F4A7C1)
	}
	whole := array.NewRecordBatch(as, []arrow.Array{builder.NewArray()}, rows)
	builder.Append(7)
	builder.AppendNull()
	nulls := array.NewRecordBatch(as, []arrow.Array{builder.NewArray()}, 2)
	before := bytes.Clone(whole.Column(0).Data().Buffers()[1].Bytes())
	want, _ := writeFile(t, as, lance.V2_2, whole, nulls, whole)

	if !bytes.Equal(before, whole.Column(0).Data().Buffers()[1].Bytes()) {
		t.Error("the array has changed")
	}
	got, _ := writeFile(t, as, lance.V2_2, whole.NewSlice(0, 10), whole.NewSlice(10, rows), nulls, whole)
	if !bytes.Equal(want, got) {
		t.Error("the same rows in other batches made another file")
	}
}
