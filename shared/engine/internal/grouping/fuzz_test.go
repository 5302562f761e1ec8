package grouping

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// all has a column of each kind of type.
var all = arrow.NewSchema([]arrow.Field{
	{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "i", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
	{Name: "u", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
	{Name: "h", Type: arrow.FixedWidthTypes.Float16, Nullable: true},
	{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.LargeString, Nullable: true},
	{Name: "x", Type: &arrow.FixedSizeBinaryType{ByteWidth: 2}, Nullable: true},
	{Name: "d", Type: &arrow.Decimal128Type{Precision: 38, Scale: 10}, Nullable: true},
	{Name: "e", Type: &arrow.Decimal256Type{Precision: 50, Scale: 2}, Nullable: true},
	{Name: "t", Type: &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, Nullable: true},
	{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
	{Name: "m", Type: arrow.StructOf(arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int16, Nullable: true}), Nullable: true},
	{Name: "y", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
}, nil)

// allRows returns rows that are NULL, and rows of zeros.
func allRows() arrow.RecordBatch {
	const n = 4
	ids := array.NewUint64Builder(arrowmemory.DefaultAllocator)
	var columns []arrow.Array
	for _, f := range all.Fields() {
		if f.Name == "y" {
			columns = append(columns, take.Nulls(f.Type, n))
			continue
		}
		b := array.NewBuilder(arrowmemory.DefaultAllocator, f.Type)
		b.AppendNulls(n / 2)
		b.AppendEmptyValues(n / 2)
		columns = append(columns, b.NewArray())
	}
	ids.AppendValues([]uint64{4, 3, 2, 1}, nil)
	fields := append(all.Fields(), arrow.Field{Name: snapshot.RowID, Type: arrow.PrimitiveTypes.Uint64})
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), append(columns, ids.NewArray()), n)
}

// FuzzGroups groups rows by any expressions: whatever can be planned can be computed, in memory and by way of
// the sorter, and an expression is read as it is printed.
func FuzzGroups(f *testing.F) {
	for _, name := range []string{"b", "i", "u", "h", "f", "s", "x", "d", "e", "t", "l", "m", "m.n", "y", "i + 1", "NULL", "1 = 1", "'a'"} {
		f.Add(name, "count("+name+")")
		for _, call := range []string{"sum", "avg", "min", "max", "array_agg", "bool_or", "bit_xor", "stddev", "median", "count"} {
			f.Add("b", call+"("+name+")")
			f.Add("i", call+"(DISTINCT "+name+") FILTER (WHERE b)")
		}
	}
	f.Add("UPPER(s)", "upper(S) || CASE WHEN count(*) > 1 THEN 'many' END")
	rows := allRows()
	f.Fuzz(func(t *testing.T, key, item string) {
		by, err := syntax.ParseGrouped(key)
		if err != nil {
			return
		}
		column, err := syntax.ParseGrouped(item)
		if err != nil {
			return
		}
		if again, err := syntax.ParseGrouped(column.String()); err != nil || again.String() != column.String() {
			t.Errorf("%s is printed as %s, which is read as %v, %v", item, column, again, err)
		}
		share := memory.NewBudget(64<<20, 64<<20).Open()
		defer share.Close()
		ctx := memory.WithShare(context.Background(), share)
		grouping, err := plan.BindGroups(ctx, []syntax.Expr{by}, []syntax.Expr{column}, all)
		if err != nil {
			return
		}
		for _, most := range []int64{tableBytes, 0} {
			table := New(ctx, grouping)
			table.max = most
			if table.Add(ctx, rows) == nil {
				for batch, err := range table.Groups(ctx) {
					if err != nil {
						break
					}
					_, _ = grouping.Items[0].Eval(ctx, batch)
				}
			}
			table.Close()
		}
	})
}
