package datafile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

// packedRows is a batch of packed structs; every nullEvery-th is null.
func packedRows(t *testing.T, rows, nullEvery int, members ...arrow.Field) arrow.RecordBatch {
	t.Helper()
	typ := arrow.StructOf(members...)
	json := make([]string, rows)
	for i := range json {
		text := strings.Repeat(fmt.Sprint("part ", i%13), i%50)
		json[i] = fmt.Sprintf(`{"i": %d, "d": %d.5, "s": %q, "l": %q, "v": [%d, 1, 2]}`, i, i, text, text, i)
		if nullEvery > 0 && i%nullEvery == 0 {
			json[i] = "null"
		}
	}
	arr, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader("["+strings.Join(json, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	field := arrow.Field{Name: "p", Type: typ, Nullable: true, Metadata: arrow.MetadataFrom(map[string]string{"lance-encoding:packed": "true"})}
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field}, nil), []arrow.Array{arr}, int64(rows))
}

func TestPackedStructsAreRead(t *testing.T) {
	number := arrow.Field{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true}
	double := arrow.Field{Name: "d", Type: arrow.PrimitiveTypes.Float64, Nullable: true}
	text := arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}
	large := arrow.Field{Name: "l", Type: arrow.BinaryTypes.LargeString, Nullable: true}
	vector := arrow.Field{Name: "v", Type: arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), Nullable: true}
	cases := []struct {
		name      string
		version   lance.Version
		nullEvery int
		members   []arrow.Field
	}{
		{"numbers in 2.0", lance.V2_0, 0, []arrow.Field{number, double}},
		{"vectors in 2.0", lance.V2_0, 0, []arrow.Field{number, vector}},
		{"numbers in 2.1", lance.V2_1, 3, []arrow.Field{number, double}},
		{"numbers in 2.2", lance.V2_2, 3, []arrow.Field{number, double}},
		{"texts", lance.V2_2, 0, []arrow.Field{number, text, double}},
		{"some null, texts", lance.V2_2, 3, []arrow.Field{text, large}},
		{"all null, texts", lance.V2_2, 1, []arrow.Field{text}},
		{"vectors", lance.V2_2, 7, []arrow.Field{vector, number}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rec := packedRows(t, 3000, c.nullEvery, c.members...)
			b, _ := writeFile(t, rec.Schema(), c.version, rec.NewSlice(0, 1000), rec.NewSlice(1000, 3000))
			f, err := openBytes(b)
			if err != nil {
				t.Fatal(err)
			}
			sch, err := schema.FromArrow(rec.Schema())
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.ReadRange(context.Background(), sch.Fields, 0, 3000)
			checkColumns(t, "all rows", got, err, rec)
			got, err = f.Take(context.Background(), sch.Fields, []int64{2999})
			checkColumns(t, "last row", got, err, rec.NewSlice(2999, 3000))
		})
	}
}

func TestMembersOfPackedStructsMayNotBeNull(t *testing.T) {
	typ := arrow.StructOf(arrow.Field{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	arr, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(`[{"i": 1}, {"i": null}]`))
	if err != nil {
		t.Fatal(err)
	}
	as := packedRows(t, 1, 0, typ.Field(0)).Schema()
	sch, err := schema.FromArrow(as)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = encodeTable(sch, []arrow.RecordBatch{array.NewRecordBatch(as, []arrow.Array{arr}, 2)}, lance.V2_2)
	if !errors.Is(err, lance.ErrUnsupported) || !strings.Contains(err.Error(), `member "i"`) {
		t.Errorf("got error %v, want ErrUnsupported for member i", err)
	}
}
