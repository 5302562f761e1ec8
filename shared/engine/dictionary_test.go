package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	account "tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestAnswersHaveOneDictionary(t *testing.T) {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.LargeString}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "d", Type: typ, Nullable: true},
	}, nil)
	// Each fragment has as many items as its indices can tell apart.
	fragment := func(n int) dataset.Rows {
		ids, indices := array.NewInt64Builder(memory.DefaultAllocator), array.NewInt8Builder(memory.DefaultAllocator)
		values := array.NewLargeStringBuilder(memory.DefaultAllocator)
		for i := range 128 {
			ids.Append(int64(n*128 + i))
			indices.Append(int8(i))
			values.Append(fmt.Sprint("item ", n*128+i))
		}
		columns := []arrow.Array{ids.NewArray(), array.NewDictionaryArray(typ, indices.NewArray(), values.NewArray())}
		batch := array.NewRecordBatch(schema, columns, 128)
		return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
	}
	table := enginetest.Table(memstore.New(), engine.Limits{})
	_, err := table.Create(t.Context(), fragment(0))
	for n := 1; n < 3 && err == nil; n++ {
		_, err = table.Insert(t.Context(), fragment(n))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		filter string
		rows   int
		index  arrow.DataType
	}{
		{"", 3 * 128, arrow.PrimitiveTypes.Int16},
		{"id < 128", 128, arrow.PrimitiveTypes.Int8},
		{"id % 4 = 0", 96, arrow.PrimitiveTypes.Int8},
		{"id < 0", 0, arrow.PrimitiveTypes.Int8},
	} {
		q := &query.Query{Filter: c.filter}
		lines := enginetest.Show(t, table, q)
		if len(lines) != c.rows {
			t.Errorf("filter %q: got %d rows, want %d", c.filter, len(lines), c.rows)
		}
		for _, line := range lines {
			var id, item int
			if _, err := fmt.Sscanf(line, "id=%d d=item %d", &id, &item); err != nil || id != item {
				t.Errorf("filter %q: got row %s, want item %d", c.filter, line, id)
			}
		}
		rows, err := table.Query(t.Context(), engine.AsOf{}, q)
		if err != nil {
			t.Fatal(err)
		}
		if got := rows.Schema.Field(1).Type.(*arrow.DictionaryType).IndexType; !arrow.TypeEqual(got, c.index) {
			t.Errorf("filter %q: got indices of type %s, want %s", c.filter, got, c.index)
		}
	}
}

func TestDictionaryOfAnAnswerHoldsMemory(t *testing.T) {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "d", Type: typ, Nullable: true}}, nil)
	const fragments, rows = 4, 50_000
	values := array.NewStringBuilder(memory.DefaultAllocator)
	values.AppendValues([]string{"x", "y"}, nil)
	dictionary := values.NewArray()
	indices := array.NewInt32Builder(memory.DefaultAllocator)
	for i := range rows {
		indices.Append(int32(i % 2))
	}
	batch := array.NewRecordBatch(schema, []arrow.Array{array.NewDictionaryArray(typ, indices.NewArray(), dictionary)}, rows)
	source := dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
	table := enginetest.Table(memstore.New(), engine.Limits{})
	_, err := table.Create(t.Context(), source)
	for n := 1; n < fragments && err == nil; n++ {
		_, err = table.Insert(t.Context(), source)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limit int64
		fits  bool
	}{{64 << 20, true}, {4 * fragments * rows, false}} {
		budget := account.NewBudget(c.limit, c.limit)
		share := budget.Open()
		answer, err := table.Query(account.WithShare(t.Context(), share), engine.AsOf{}, &query.Query{})
		var refused *account.Error
		switch {
		case !c.fits && (!errors.As(err, &refused) || refused.Busy):
			t.Errorf("with %d bytes: %v, want memory to be refused for good", c.limit, err)
		case c.fits && err != nil:
			t.Errorf("with %d bytes: %v", c.limit, err)
		case c.fits:
			if held := share.Held(); held < 4*fragments*rows {
				t.Errorf("an answer of %d bytes holds %d", 4*fragments*rows, held)
			}
			n := int64(0)
			for batch, err := range answer.Batches {
				if err != nil {
					t.Fatal(err)
				}
				n += batch.NumRows()
			}
			if n != fragments*rows {
				t.Errorf("got %d rows, want %d", n, fragments*rows)
			}
		}
		if held := share.Held(); held != 0 {
			t.Errorf("with %d bytes: %d are held after all", c.limit, held)
		}
		share.Close()
	}
}

func TestExpressionsOverListsOfDictionaries(t *testing.T) {
	item := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	table := enginetest.Create(t, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "x", Type: arrow.ListOf(item), Nullable: true},
	}, nil), `[{"id":0,"x":["a",null]},{"id":1,"x":null},{"id":2,"x":[]}]`)

	_, err := table.Update(t.Context(), []engine.Assignment{{Column: "x", SQL: "coalesce(x, x)"}}, "")
	if protocol.CodeOf(err) != protocol.Unsupported {
		t.Errorf("got %v; want that no expression makes dictionaries in lists", err)
	}
	if _, err := table.Update(t.Context(), []engine.Assignment{{Column: "x", SQL: "NULL"}}, "id = 2"); err != nil {
		t.Error(err)
	}
	if _, err := evolution.AddColumns(t.Context(), table, []engine.Assignment{{Column: "y", SQL: "x"}}); err != nil {
		t.Error(err)
	}
	q := &query.Query{Filter: "id < 2", Columns: []query.Column{
		{Name: "y"}, formula("same", "coalesce(x, x)"), formula("in", "make_array(x)"), formula("one", "x[1]"), formula("x", "x"),
	}}
	got := enginetest.Show(t, table, q)
	if want := []string{
		`y=["a",null] same=["a",null] in=[["a",null]] one=a x=["a",null]`,
		`y=(null) same=(null) in=[null] one=(null) x=(null)`,
	}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
