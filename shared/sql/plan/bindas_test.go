package plan_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

func TestBindAsCastsToTheColumn(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, s,
		strings.NewReader(`[{"id":1,"s":"10"},{"id":2,"s":null},{"id":3,"s":"30"}]`))
	if err != nil {
		t.Fatal(err)
	}
	vector := arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)
	point := arrow.StructOf(
		arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		arrow.Field{Name: "f", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
	)
	nested := arrow.StructOf(
		arrow.Field{Name: "p", Type: point, Nullable: true},
		arrow.Field{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int16), Nullable: true},
	)
	for _, c := range []struct {
		sql  string
		as   arrow.DataType
		want string // of the array, or part of the error
		err  error
	}{
		{"5", arrow.PrimitiveTypes.Float64, `[5 5 5]`, nil},
		{"'7'", arrow.PrimitiveTypes.Int32, `[7 7 7]`, nil},
		{"s", arrow.PrimitiveTypes.Int32, `[10 (null) 30]`, nil},
		{"1.5", arrow.PrimitiveTypes.Int32, `[1 1 1]`, nil},
		{"5", arrow.BinaryTypes.String, `["5" "5" "5"]`, nil},
		{"null", arrow.PrimitiveTypes.Int32, `[(null) (null) (null)]`, nil},
		{"[1, 2.5]", vector, `[[1 2.5] [1 2.5] [1 2.5]]`, nil},
		{"null", vector, `[(null) (null) (null)]`, nil},
		{"[1, 2, 3]", vector, "list of 3 values", sql.ErrValue},
		{"'z'", arrow.PrimitiveTypes.Int32, "z", sql.ErrValue},
		{"5000000000", arrow.PrimitiveTypes.Int32, "5000000000", sql.ErrValue},
		{"timestamp '2024-01-31 09:30:15.123456'", arrow.FixedWidthTypes.Time32s, `[34215 34215 34215]`, nil},
		{"timestamp '2024-01-31 09:30:15.123456'", arrow.FixedWidthTypes.Time32ms, `[34215123 34215123 34215123]`, nil},
		{"timestamp '1969-12-31 23:59:59.5'", arrow.FixedWidthTypes.Time64us, `[86399500000 86399500000 86399500000]`, nil},
		{"timestamp '2024-01-31 09:30:15.123456'", arrow.FixedWidthTypes.Time64ns, `[34215123456000 34215123456000 34215123456000]`, nil},
		{"arrow_cast(1706693415123456, 'Timestamp(µs, \"Europe/Berlin\")')", arrow.FixedWidthTypes.Time32s, `[37815 37815 37815]`, nil},
		{"9223372036854775807::timestamp(0)", arrow.FixedWidthTypes.Time32s, "out of range", sql.ErrValue},
		{"X'0102'", &arrow.FixedSizeBinaryType{ByteWidth: 2}, `["\x01\x02" "\x01\x02" "\x01\x02"]`, nil},
		{"X'010203'", &arrow.FixedSizeBinaryType{ByteWidth: 2}, "3 bytes, where 2 are wanted", sql.ErrValue},
		{"id", arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64}), "conversion of int64", sql.ErrUnsupported},
		{"named_struct('n', 1, 'f', 2.5)", point, `{[1 1 1] [2.5 2.5 2.5]}`, nil},
		{"named_struct('f', '2', 'n', id)", point, `{[1 2 3] [2 2 2]}`, nil},
		{"named_struct('n', s)", point, `{[10 (null) 30] [(null) (null) (null)]}`, nil},
		{"named_struct('n', 1, 'f', NULL, 'more', 3)", point, `{[1 1 1] [(null) (null) (null)]}`, nil},
		{"named_struct('p', named_struct('n', id), 'l', [1, 2])", nested, `{{[1 2 3] [(null) (null) (null)]} [[1 2] [1 2] [1 2]]}`, nil},
		{"named_struct('p', NULL, 'l', NULL)", nested, `{{[(null) (null) (null)] [(null) (null) (null)]} [(null) (null) (null)]}`, nil},
		{"named_struct('l', [id])", nested, `{{[(null) (null) (null)] [(null) (null) (null)]} [[1] [2] [3]]}`, nil},
		{"named_struct('n', 5000000000)", point, "5000000000", sql.ErrValue},
		{"named_struct('N', 1)", point, "conversion of struct", sql.ErrUnsupported},
		{"struct(1, 2.5)", point, "conversion of struct", sql.ErrUnsupported},
		{"named_struct('n', 1)", arrow.StructOf(arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int8}), "conversion of struct", sql.ErrUnsupported},
	} {
		t.Run(c.sql+" as "+c.as.Name(), func(t *testing.T) {
			got, err := evalAs(c.sql, s, c.as, batch)
			switch {
			case c.err == nil && err != nil:
				t.Fatalf("got error %v, want %s", err, c.want)
			case c.err != nil && (!errors.Is(err, c.err) || !strings.Contains(err.Error(), c.want)):
				t.Fatalf("got %v, want %v with %q", err, c.err, c.want)
			case c.err != nil:
				return
			}
			if !arrow.TypeEqual(got.DataType(), c.as) || got.String() != c.want {
				t.Errorf("got %s of %s, want %s of %s", got, got.DataType(), c.want, c.as)
			}
		})
	}
}

func evalAs(sql string, s *arrow.Schema, typ arrow.DataType, batch arrow.RecordBatch) (arrow.Array, error) {
	e, err := syntax.Parse(sql)
	if err != nil {
		return nil, err
	}
	b, err := plan.BindAs(context.Background(), e, s, time.Time{}, typ)
	if err != nil {
		return nil, err
	}
	return b.Eval(context.Background(), batch)
}
