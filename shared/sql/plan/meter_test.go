package plan_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/meter"
	"tiltyard/shared/sql/internal/sqltest"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// hostileBatch is a few thousand rows of short texts s, lists l and numbers n, and as many of a
// dictionary d of one long text.
func hostileBatch() arrow.RecordBatch {
	const rows = 2000
	mem := arrowmemory.DefaultAllocator
	s, n := array.NewStringBuilder(mem), array.NewInt64Builder(mem)
	l := array.NewListBuilder(mem, arrow.PrimitiveTypes.Int64)
	values, index := array.NewStringBuilder(mem), array.NewInt32Builder(mem)
	values.Append(strings.Repeat("ab", 50_000))
	for i := range rows {
		s.Append(fmt.Sprintf("item %d", i))
		n.Append(int64(i))
		l.Append(true)
		l.ValueBuilder().(*array.Int64Builder).AppendValues([]int64{1, 2, int64(i)}, nil)
		index.Append(0)
	}
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	columns := []arrow.Array{s.NewArray(), n.NewArray(), l.NewArray(), array.NewDictionaryArray(typ, index.NewArray(), values.NewArray())}
	names := []string{"s", "n", "l", "d"}
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: names[i], Type: c.DataType(), Nullable: true}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rows)
}

// hostile are expressions that make much of little.
func hostile() []string {
	texts := []string{
		"repeat('a', 100000000)", "repeat(s, 10000000)", "lpad(s, 100000000, 'xy')", "rpad('x', n * 100000)",
		"replace(repeat(s, 100000), 'e', repeat('x', 1000))", "concat(repeat(s, 1000000), repeat(s, 1000000))",
		"concat_ws(repeat('-', 1000000), s, s, s)", "repeat('a', 4000000) || s", "repeat(s, 1000000) || repeat(s, 1000000)",
		"translate(repeat(s, 1000000), 'abcdef', 'ÄÖÜäöü')", "upper(repeat(s, 5000000))", "reverse(repeat(s, 5000000))",
		"regexp_replace(repeat('a', 1000000), 'a', '$0$0$0$0$0$0$0$0', 'g')", "overlay(repeat(s, 1000000) placing s from 2)",
		"array_to_string(array_repeat(s, 1000000), repeat('-', 1000))", "encode(repeat(s, 5000000), 'hex')",
		"coalesce(nullif(repeat(s, 1000000), s), s)", "CASE WHEN n > 5 THEN repeat(s, 10000000) ELSE repeat('b', 100000000) END",
		"greatest(repeat(s, 1000000), repeat('b', 10000000))", "d", "upper(d)", "d || s", "d || d",
	}
	for i, t := range texts {
		texts[i] = fmt.Sprintf("octet_length(%s)", strings.ReplaceAll(t, "overlay(repeat(s, 1000000) placing s from 2)", "overlay(repeat(s, 1000000), s, 2)"))
	}
	lists := []string{
		"range(0, 4000000)", "generate_series(n, n + 3000000)", "array_repeat(s, 4000000)", "array_repeat(n, n * 10000)",
		"array_resize(l, 3000000, n)", "array_concat(range(0, 3000000), l)", "array_append(range(0, 3000000), n)",
		"array_distinct(range(0, 3000000))", "array_union(range(0, 1000000), l)", "array_except(range(0, 1000000), l)",
		"array_intersect(range(0, 1000000), range(n, 1000000))", "array_sort(range(n, 2000000))", "array_reverse(range(n, 2000000))",
		"string_to_array(repeat('a,', 1000000), ',')", "string_to_array(repeat(s, 100000), NULL)", "array_remove(range(n, 2000000), 5)",
		"array_slice(range(n, 2000000), 1, 1000000)", "flatten(make_array(range(n, 1000000), range(0, 1000000)))",
		"arrays_zip(range(n, 1000000), range(0, 1000000))", "regexp_match(repeat(s, 1000000), '(.*)(.*)(.*)(.*)')",
		"array_replace_all(range(n, 1000000), 5, 6)", "make_array(n, n, n, n)",
	}
	for i, l := range lists {
		lists[i] = fmt.Sprintf("array_length(%s)", l)
	}
	return append(append(texts, lists...),
		"array_has_any(range(0, 1000000), l)", "array_has_all(l, range(0, 1000000))", "array_has(range(0, 2000000), n)",
		"array_position(range(0, 2000000), n)", "array_max(range(n, 2000000))",
		"levenshtein(repeat(s, 10000), repeat('b', 100000))", "contains(repeat('ab', 2000000), s)",
		"regexp_like(repeat(s, 100000), '(a|b|c)*[xyz]{1,500}$')", "regexp_count(repeat('a', 10000000), '')",
		"repeat(s, 1000000) LIKE '%' || repeat('_', 1000) || 'x%'", "btrim(repeat(s, 1000000), repeat('é', 1000000))",
		"md5(repeat(s, 10000000))", "repeat('a', 100000000) = s", "repeat(s, 100000000) = s",
	)
}

// TestHostileExpressionsStayWithinTheirShare evaluates expressions whose results are much larger than their
// arguments, with a small memory share: each is computed or refused, and never uses much more than the
// share.
func TestHostileExpressionsStayWithinTheirShare(t *testing.T) {
	const limit = 48 << 20
	rec := hostileBatch()
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, text := range hostile() {
		budget := memory.NewBudget(limit, limit)
		share := budget.Open()
		ctx, cancel := context.WithTimeout(memory.WithShare(t.Context(), share), 300*time.Millisecond)
		peak := heapPeak(ctx)
		err := evalText(ctx, text, rec)
		cancel()
		if used := <-peak; used > before.HeapAlloc+3*limit {
			t.Errorf("%s: %d MB in use, with a share of %d MB (%v)", text, (used-before.HeapAlloc)>>20, limit>>20, err)
		}
		if held := share.Held(); held > meter.MaxFoldedAll {
			t.Errorf("%s: holds %d bytes afterwards", text, held)
		}
		var own *sql.Error
		var refused *memory.Error
		if err != nil && !errors.As(err, &own) && !errors.As(err, &refused) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v", text, err)
		}
		share.Close()
		if budget.Usage().Held != 0 {
			t.Errorf("%s: %d bytes are held after its share was closed", text, budget.Usage().Held)
		}
		runtime.GC()
	}
}

func evalText(ctx context.Context, text string, rec arrow.RecordBatch) error {
	e, err := syntax.Parse(text)
	if err != nil {
		return err
	}
	b, err := plan.Bind(ctx, e, rec.Schema(), sqltest.Clock)
	if err != nil {
		return err
	}
	_, err = b.Eval(ctx, rec)
	return err
}

// heapPeak samples the heap until the context ends, and then sends the maximal size.
func heapPeak(ctx context.Context) <-chan uint64 {
	peak := make(chan uint64, 1)
	go func() {
		var most uint64
		var now runtime.MemStats
		for ctx.Err() == nil {
			runtime.ReadMemStats(&now)
			if now.HeapAlloc > most { // includes garbage; only the live part counts
				runtime.GC()
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc)
			}
			time.Sleep(5 * time.Millisecond)
		}
		peak <- most
	}()
	return peak
}

// TestSlicesDoNotMatter evaluates the expressions of the golden files in slices of other sizes.
func TestSlicesDoNotMatter(t *testing.T) {
	for _, table := range []string{"edges", "calls"} {
		rec := namedTable(t, table)
		for _, text := range filterLines(t) {
			e, err := syntax.Parse(text)
			if err != nil || strings.Contains(text, "rand") || strings.Contains(text, "uuid") {
				continue
			}
			b, err := plan.Bind(t.Context(), e, rec.Schema(), sqltest.Clock)
			if err != nil {
				continue
			}
			want, wantErr := b.Eval(t.Context(), rec)
			for _, rows := range []int{1, 7, 64} {
				got, err := b.InSlicesOf(rows).Eval(t.Context(), rec)
				if (err == nil) != (wantErr == nil) {
					t.Errorf("%s in slices of %d rows: got error %v, want %v", text, rows, err, wantErr)
				} else if err == nil && !sqltest.Same(got, want) {
					t.Errorf("%s in slices of %d rows: got %v, want %v", text, rows, got, want)
				}
			}
		}
	}
}

// TestPlanningMakesLittle binds constants that are too much to be kept.
func TestPlanningMakesLittle(t *testing.T) {
	rec := hostileBatch()
	many := strings.TrimSuffix(strings.Repeat("repeat('a', 200000000) = s OR ", 50), " OR ")
	for _, text := range []string{
		"repeat('a', 200000000) = s", many, "repeat(repeat(repeat('a', 1000), 1000), 200) = s",
		strings.ReplaceAll(many, "200000000", "4000000"), "array_has(range(0, 4000000), n)",
		"levenshtein(repeat('a', 100000), repeat('b', 100000)) > n",
	} {
		budget := memory.NewBudget(64<<20, 64<<20)
		share := budget.Open()
		e, err := syntax.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := plan.Bind(memory.WithShare(t.Context(), share), e, rec.Schema(), sqltest.Clock); err != nil {
			t.Logf("%.60s: %v", text, err)
		}
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; made > 512<<20 {
			t.Errorf("%.60s: planning made %d MB", text, made>>20)
		}
		if share.Held() > meter.MaxFoldedAll {
			t.Errorf("%.60s: keeps %d bytes", text, share.Held())
		}
		share.Close()
	}
}

// TestEvaluationEndsWithItsContext counts the work done after the end of the context.
func TestEvaluationEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rec := hostileBatch()
	for _, text := range hostile() {
		e, err := syntax.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := plan.Bind(t.Context(), e, rec.Schema(), sqltest.Clock)
		if err != nil {
			continue
		}
		if _, err := b.Eval(ctx, rec); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want the end of the context", text, err)
		}
	}
}
