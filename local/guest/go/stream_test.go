package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/arrowipc"
)

// columns are a column of each type that a function can read.
var columns = []struct {
	kind arrow.DataType
	text string
	want string // what read makes of it
}{
	{arrow.PrimitiveTypes.Int8, `[-1,null,3]`, `-1 null 3`},
	{arrow.PrimitiveTypes.Uint8, `[255,null,3]`, `255 null 3`},
	{arrow.PrimitiveTypes.Int16, `[-300,null,3]`, `-300 null 3`},
	{arrow.PrimitiveTypes.Uint16, `[65535,null,3]`, `65535 null 3`},
	{arrow.PrimitiveTypes.Int32, `[-70000,null,3]`, `-70000 null 3`},
	{arrow.PrimitiveTypes.Uint32, `[4294967295,null,3]`, `4294967295 null 3`},
	{arrow.PrimitiveTypes.Int64, `[-5000000000,1,3]`, `-5000000000 1 3`},
	{arrow.PrimitiveTypes.Date32, `["1970-01-03",null,null]`, `2 null null`},
	{arrow.FixedWidthTypes.Timestamp_ms, `[1000,null,null]`, `1000 null null`},
	{arrow.PrimitiveTypes.Float32, `[0.5,null,-2]`, `0.5 null -2`},
	{arrow.PrimitiveTypes.Float64, `[0.25,null,-2]`, `0.25 null -2`},
	{arrow.FixedWidthTypes.Boolean, `[true,false,null]`, `true false null`},
	{arrow.BinaryTypes.String, `["ä",null,""]`, `"ä" null ""`},
	{arrow.BinaryTypes.LargeString, `["ä",null,""]`, `"ä" null ""`},
	{arrow.BinaryTypes.Binary, `["YQ==",null,""]`, `"a" null ""`},
	{&arrow.FixedSizeBinaryType{ByteWidth: 1}, `["YQ==",null,"Yg=="]`, `"a" null "b"`},
	{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), `[[1,2],null,[3,4]]`, `[1 2] null [3 4]`},
	{arrow.ListOf(arrow.BinaryTypes.String), `[["a","b"],null,[null]]`, `["a" "b"] null [null]`},
	{arrow.LargeListOf(arrow.PrimitiveTypes.Int32), `[[1],null,[]]`, `[1] null []`},
	{arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true}),
		`[{"a":1,"b":"x"},null,{"a":null,"b":"y"}]`, `{1 "x"} null {null "y"}`},
}

// read returns a value as text.
func read(c *Column, i int) string {
	if c.IsNull(i) {
		return "null"
	}
	switch c.kind {
	case kindFloat:
		return fmt.Sprint(c.Float(i))
	case kindBool:
		return fmt.Sprint(c.Bool(i))
	case kindUtf8, kindLargeUtf8, kindBinary, kindFixedBinary:
		return fmt.Sprintf("%q", c.String(i))
	case kindList, kindLargeList, kindFixedSizeList:
		var items []string
		for begin, end := c.Items(i); begin < end; begin++ {
			items = append(items, read(c.Children[0], begin))
		}
		return "[" + strings.Join(items, " ") + "]"
	case kindStruct:
		var fields []string
		for _, child := range c.Children {
			fields = append(fields, read(child, i))
		}
		return "{" + strings.Join(fields, " ") + "}"
	}
	return fmt.Sprint(c.Int(i))
}

func TestBatchesAreRead(t *testing.T) {
	var fields []arrow.Field
	var arrays []arrow.Array
	for i, c := range columns {
		a, _, err := array.FromJSON(memory.DefaultAllocator, c.kind, strings.NewReader(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.kind, err)
		}
		fields, arrays = append(fields, arrow.Field{Name: fmt.Sprint("c", i), Type: c.kind, Nullable: true}), append(arrays, a)
	}
	schema := arrow.NewSchema(fields, nil)
	whole := array.NewRecordBatch(schema, arrays, 3)
	for name, in := range map[string]arrow.RecordBatch{"whole": whole, "slice": whole.NewSlice(1, 3), "empty": whole.NewSlice(0, 0)} {
		var stream bytes.Buffer
		w := arrowipc.NewStreamWriter(&stream, schema, arrowipc.Uncompressed)
		if err := errors.Join(w.Write(in), w.Close()); err != nil {
			t.Fatal(err)
		}
		batch := readStream(stream.Bytes())
		if int64(batch.Rows) != in.NumRows() || len(batch.Columns) != len(columns) {
			t.Fatalf("%s: %d rows of %d columns", name, batch.Rows, len(batch.Columns))
		}
		for i, c := range columns {
			var got []string
			for row := range batch.Rows {
				got = append(got, read(batch.Columns[i], row))
			}
			want := c.want
			switch name {
			case "slice":
				_, want, _ = cutValue(want)
			case "empty":
				want = ""
			}
			if text := strings.Join(got, " "); text != want || batch.Columns[i].Name != fields[i].Name {
				t.Errorf("%s: %s %s: got %s, want %s", name, batch.Columns[i].Name, c.kind, text, want)
			}
		}
	}
}

// cutValue cuts a text after the first value.
func cutValue(text string) (first, rest string, found bool) {
	for _, sep := range []string{"] ", "} "} {
		if strings.ContainsAny(text[:1], "[{") {
			if first, rest, found = strings.Cut(text, sep); found {
				return first, rest, true
			}
		}
	}
	return strings.Cut(text, " ")
}

// fill appends a value, none, and a failure.
func fill[T any](add func(T), value T, o Output) Output {
	add(value)
	o.Null()
	o.Fail(errors.New("why"))
	return o
}

func outputs() []Output {
	s, b, v, l := &Strings{}, &Bools{}, &Vectors{Length: 2}, &StringLists{}
	i8, u8, i16, u16 := &Numbers[int8]{}, &Numbers[uint8]{}, &Numbers[int16]{}, &Numbers[uint16]{}
	i32, u32, i64, u64 := &Numbers[int32]{}, &Numbers[uint32]{}, &Numbers[int64]{}, &Numbers[uint64]{}
	f32, f64 := &Numbers[float32]{}, &Numbers[float64]{}
	return []Output{
		fill(s.Append, "ä", s), fill(b.Append, true, b), fill(v.Append, []float32{1, 2}, v), fill(l.Append, []string{"a", ""}, l),
		fill(i8.Append, -1, i8), fill(u8.Append, 255, u8), fill(i16.Append, -300, i16), fill(u16.Append, 65535, u16),
		fill(i32.Append, -70000, i32), fill(u32.Append, 1<<32-1, u32), fill(i64.Append, -1<<40, i64), fill(u64.Append, 1<<63, u64),
		fill(f32.Append, 0.5, f32), fill(f64.Append, 0.25, f64),
	}
}

func TestRepliesAreArrowStreams(t *testing.T) {
	r, err := arrowipc.NewReader(t.Context(), bytes.NewReader(writeStream(3, outputs())), arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`utf8 ["ä",null,null]`, `bool [true,null,null]`, `fixed_size_list<item: float32, nullable>[2] [[1,2],null,null]`, `list<item: utf8, nullable> [["a",""],null,null]`,
		`int8 [-1,null,null]`, `uint8 [255,null,null]`, `int16 [-300,null,null]`, `uint16 [65535,null,null]`,
		`int32 [-70000,null,null]`, `uint32 [4294967295,null,null]`, `int64 [-1099511627776,null,null]`, `uint64 [9223372036854775808,null,null]`,
		`float32 [0.5,null,null]`, `float64 [0.25,null,null]`, `utf8 [null,null,"Error: why"]`,
	}
	for i, c := range batch.Columns() {
		text, err := json.Marshal(c)
		if got := fmt.Sprintf("%s %s", c.DataType(), text); err != nil || i >= len(want) || got != want[i] {
			t.Errorf("column %d: got %s, %v", i, got, err)
		}
	}
	if name := batch.ColumnName(len(want) - 1); name != errorColumn {
		t.Errorf("the last column is %q, want %q", name, errorColumn)
	}
	if _, err := r.Next(); err == nil || !r.Ended() {
		t.Errorf("got %v after the batch, and ended %v", err, r.Ended())
	}
}

func TestRepliesWithoutRows(t *testing.T) {
	r, err := arrowipc.NewReader(t.Context(), bytes.NewReader(writeStream(0, []Output{&Strings{}, &Vectors{Length: 3}, &StringLists{}, &Bools{}})), arrowipc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if batch, err := r.Next(); err != nil || batch.NumRows() != 0 || batch.NumCols() != 4 {
		t.Errorf("got %v, %v", batch, err)
	}
}

func TestPanicsAreReported(t *testing.T) {
	defer func(before func(Batch) []Output) { function = before }(function)
	for name, c := range map[string]struct {
		f    func(in Batch, out *Strings)
		want string
	}{
		"a text":        {func(Batch, *Strings) { panic("late") }, `{"error_type":"Panic","message":"late"}`},
		"an index":      {func(in Batch, _ *Strings) { _ = in.Columns[7] }, `{"error_type":"Panic","message":"runtime error: index out of range [7] with length 0"}`},
		"a wrong count": {func(_ Batch, out *Strings) { out.Append("a") }, `{"error_type":"Panic","message":"output 0 has 1 values for 0 rows"}`},
	} {
		Scalar(c.f)
		got, failed := call(writeStream(0, nil))
		if !failed || string(got) != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	OnOpen(func(o Opening) error { return errors.New(o.Version + " \"is\"\n old") })
	if got, failed := open([]byte(`{"function":"a\"b","version":"7\u003c","binding":"","job":"j"}`)); !failed || string(got) != `{"error_type":"Error","message":"7< \"is\"\u000a old"}` {
		t.Errorf("got %s", got)
	}
	OnOpen(nil)
	function = nil
	if got, failed := open([]byte("{}")); !failed || !strings.Contains(string(got), "no function was set") {
		t.Errorf("got %s", got)
	}
}
