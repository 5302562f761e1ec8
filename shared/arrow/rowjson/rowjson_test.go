package rowjson_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/rowjson"
)

// Numbers that are not finite have the same texts in columns of all floats, also in vectors, lists and structs.
func TestWriteHasTextsForNumbersThatAreNotFinite(t *testing.T) {
	half := arrow.FixedWidthTypes.Float16
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "h", Type: half, Nullable: true}, {Name: "f", Type: arrow.PrimitiveTypes.Float32}, {Name: "d", Type: arrow.PrimitiveTypes.Float64},
		{Name: "v", Type: arrow.FixedSizeListOf(2, half)}, {Name: "l", Type: arrow.ListOf(arrow.StructOf(arrow.Field{Name: "x", Type: half}))},
	}, nil)
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, schema)
	for _, x := range []float64{0.5, math.NaN(), math.Inf(1), math.Inf(-1)} {
		short := float16.New(float32(x))
		b.Field(0).(*array.Float16Builder).Append(short)
		b.Field(1).(*array.Float32Builder).Append(float32(x))
		b.Field(2).(*array.Float64Builder).Append(x)
		vector, list := b.Field(3).(*array.FixedSizeListBuilder), b.Field(4).(*array.ListBuilder)
		vector.Append(true)
		vector.ValueBuilder().(*array.Float16Builder).AppendValues([]float16.Num{short, float16.New(1)}, nil)
		list.Append(true)
		member := list.ValueBuilder().(*array.StructBuilder)
		member.Append(true)
		member.FieldBuilder(0).(*array.Float16Builder).Append(short)
	}
	rows := b.NewRecordBatch()
	var got bytes.Buffer
	// A slice has an offset.
	for _, part := range []arrow.RecordBatch{rows.NewSlice(0, 1), rows.NewSlice(1, 4)} {
		if err := rowjson.Write(&got, part); err != nil {
			t.Fatal(err)
		}
	}
	want := ""
	for _, x := range []string{`0.5`, `"NaN"`, `"+Inf"`, `"-Inf"`} {
		want += strings.ReplaceAll(`{"d":?,"f":?,"h":?,"l":[{"x":?}],"v":[?,1]}`+"\n", "?", x)
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestFieldsAreColumns(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int64}}, nil)
	for _, c := range []struct{ row, refusal string }{
		{`{"a":1,"b":null}`, ""},
		{`{}`, ""},
		{`{"a":1,"c":2}`, `the table has no column "c"`},
		{`[1]`, "it is no JSON object"},
		{`null`, "it is no JSON object"},
		{`{"a":1`, "it is no JSON object"},
	} {
		fields, err := rowjson.Fields([]byte(c.row), schema)
		if c.refusal == "" && (err != nil || len(fields) != strings.Count(c.row, ":")) || c.refusal != "" && (err == nil || err.Error() != c.refusal) {
			t.Errorf("%s has the fields %v, %v, want %q", c.row, fields, err, c.refusal)
		}
	}
}

func FuzzFields(f *testing.F) {
	f.Add([]byte(`{"a":1}`))
	f.Add([]byte(`{"a":{"a":[null]}}`))
	f.Add([]byte(`null`))
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
	f.Fuzz(func(t *testing.T, row []byte) {
		fields, err := rowjson.Fields(row, schema)
		if err != nil {
			return
		}
		for name := range fields {
			if name != "a" {
				t.Errorf("%s has the column %q, which the schema lacks", row, name)
			}
		}
	})
}
