package plan_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/compute"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// benchBatch is a million rows: float64 x in [0, 10), int64 y in [0, 10), n as y with
// NULLs, short strings s.
func benchBatch() arrow.RecordBatch {
	const rows = 1_000_000
	r := rand.New(rand.NewPCG(1, 2))
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "y", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for range rows {
		b.Field(0).(*array.Float64Builder).Append(r.Float64() * 10)
		b.Field(1).(*array.Int64Builder).Append(r.Int64N(10))
		if r.IntN(10) == 0 {
			b.Field(2).AppendNull()
		} else {
			b.Field(2).(*array.Int64Builder).Append(r.Int64N(10))
		}
		b.Field(3).(*array.StringBuilder).Append(fmt.Sprintf("item %d", r.IntN(1000)))
	}
	return b.NewRecordBatch()
}

func BenchmarkSelect(b *testing.B) {
	rec := benchBatch()
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = fmt.Sprint(i * 7)
	}
	for _, filter := range []string{
		"y < 3", "x > 5", "x > y", "n IS NULL", "n < 3", "x > 5 AND y < 3", "x > 5 AND y < 3 OR n = 1",
		"y IN (1, 3, 5)", "y IN (" + strings.Join(ids, ", ") + ")",
		"s = 'item 7'", "s LIKE 'item 7%'", "s LIKE '%7%1'", "regexp_like(s, '7\\d*1')", "upper(s) = 'ITEM 7'",
		"y * 2 + 1 > x", "CAST(y AS double) > x", "y <> 0 AND 10 / y > 2", "coalesce(n, 0) = 0",
	} {
		name := filter
		if len(name) > 30 {
			name = name[:30]
		}
		b.Run(name, func(b *testing.B) {
			e, err := syntax.Parse(filter)
			if err != nil {
				b.Fatal(err)
			}
			bound, err := plan.BindFilter(b.Context(), e, rec.Schema(), time.Time{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(rec.NumRows()) // MB/s is million rows per second
			for b.Loop() {
				if _, err = bound.Select(b.Context(), rec, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCompare measures the innermost loops alone.
func BenchmarkCompare(b *testing.B) {
	rec := benchBatch()
	x, _ := column.Load(nil, rec.Column(0))
	y, _ := column.Load(nil, rec.Column(1))
	five, three := column.Constant(column.TypeFloat64, []float64{5}), column.Constant(column.TypeInt64, []int64{3})
	for name, args := range map[string][2]column.Vec{"int64 const": {y, three}, "float64 const": {x, five}, "float64": {x, x}} {
		for _, op := range []expr.Op{expr.OpEq, expr.OpLt, expr.OpGt} {
			b.Run(name+" "+op.String(), func(b *testing.B) {
				b.SetBytes(rec.NumRows())
				for b.Loop() {
					compute.Compare(op, args[0], args[1])
				}
			})
		}
	}
}

func BenchmarkParseAndBind(b *testing.B) {
	rec := benchBatch()
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	for name, filter := range map[string]string{
		"two comparisons": "x > 5 AND y < 3",
		"list of 10000":   "y IN (" + strings.Join(ids, ", ") + ")",
		"chain of 1000":   "y = " + strings.Join(ids[:1000], " OR y = "),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				e, err := syntax.Parse(filter)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := plan.BindFilter(b.Context(), e, rec.Schema(), time.Time{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
