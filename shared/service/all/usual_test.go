package all_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
)

// usualRows is how many rows the table of usualStream has in the golden file.
const usualRows = 50_000

// usualStream encodes n rows (id, x, s, text, 128-dimensional vector), ids from first on.
func usualStream(first, n int) []byte {
	const dim = 128
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "vector", Type: arrow.FixedSizeListOf(dim, arrow.PrimitiveTypes.Float32), Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	state := uint32(first*2 + 1)
	random := func() uint32 {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		return state
	}
	for i := range n {
		id := first + i
		b.Field(0).(*array.Int64Builder).Append(int64(id))
		b.Field(1).(*array.Float64Builder).Append(float64(id) * 1.5)
		b.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("row %d", id))
		words := make([]string, 8)
		for w := range words {
			words[w] = fmt.Sprintf("word%d", random()%2000)
		}
		b.Field(3).(*array.StringBuilder).Append(strings.Join(words, " "))
		v := b.Field(4).(*array.FixedSizeListBuilder)
		v.Append(true)
		center := random() % 125
		for d := range dim {
			v.ValueBuilder().(*array.Float32Builder).Append(float32(center*uint32(d+7)%97) + float32(random()%1000)/100)
		}
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := errors.Join(w.Write(b.NewRecordBatch()), w.Close()); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// usualIndices are the indices of that table.
var usualIndices = []string{
	`{"column":"id","index_type":"BTREE"}`,
	`{"column":"text","index_type":"FTS"}`,
	`{"column":"vector","index_type":"IVF_PQ","num_partitions":125,"num_sub_vectors":16}`,
}

func usualVector(seed int) string {
	values := make([]string, 128)
	for d := range values {
		values[d] = fmt.Sprint((seed*(d+7))%97 + 5)
	}
	return "[" + strings.Join(values, ",") + "]"
}

// littleCache is the size of a cache that does not hold the vectors of the table of usualStream (25.6 MB).
const littleCache = 16 << 20

// addUsual makes that table with its indices, two namespaces deep, as clients do. The result commits to it
// as native writers do, who neither read nor write the record of a table.
func addUsual(t *testing.T, p *process, store objectstore.Store) (commit func(try int)) {
	t.Helper()
	p.call("/v1/namespace/org/create", []byte("{}"))
	p.call("/v1/namespace/org$team/create", []byte("{}"))
	p.call("/v1/table/org$team$t/create", usualStream(0, usualRows))
	for _, index := range usualIndices {
		p.call("/v1/table/org$team$t/create_index", []byte(index))
	}
	uri := (&server{t: t, serve: p.serve}).ok("/v1/table/org$team$t/describe", []byte("{}"))["location"].(string)
	at := objectstore.Location{Store: store, Prefix: strings.TrimPrefix(uri, "memory://test/"), URI: uri}
	native := engine.New(dataset.NewSession(0, time.Now), engine.Limits{}).Table([]string{"native"}, at)
	return func(try int) {
		rows, err := ipc.NewReader(bytes.NewReader(usualStream(10*usualRows+try, 1)))
		if err != nil {
			t.Fatal(err)
		}
		rows.Next()
		batch := rows.RecordBatch()
		one := dataset.Rows{Schema: rows.Schema(), Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
		if _, err := native.Insert(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
}

// A goal is at most how many requests an operation makes in the first request of a process and in a later
// one, and how many of them may wait for one another.
type goal struct{ cold, coldDepth, warm, warmDepth int }

func (g goal) check(t *testing.T, name string, cold, warm faultstore.Counts) {
	t.Helper()
	if got := (goal{cold.Requests, cold.Depth, warm.Requests, warm.Depth}); got.cold > g.cold || got.coldDepth > g.coldDepth || got.warm > g.warm || got.warmDepth > g.warmDepth {
		t.Errorf("%s: cold %d requests, %d deep, warm %d, %d deep; want at most %d, %d, %d, %d", name,
			got.cold, got.coldDepth, got.warm, got.warmDepth, g.cold, g.coldDepth, g.warm, g.warmDepth)
	}
}

// usualGoals are the goals that the operations below meet.
var usualGoals = map[string]goal{
	"table describe inside":                            {1, 1, 1, 1},
	"take 100 by id, BTREE":                            {10, 6, 3, 1},
	"vector search, nprobes 20 refine 10":              {80, 8, 60, 3},
	"vector search, nprobes 20 refine 10, small cache": {80, 8, 60, 3},
	"tag version":                                      {2, 2, 2, 1},
}

// usualOperations are what clients do with tables inside of namespaces, with indices, and beside other writers.
func usualOperations() []operation {
	const table = "/v1/table/org$team$t/"
	list := func(from, n int) string {
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprint((from + i*479) % usualRows)
		}
		return strings.Join(ids, ",")
	}
	vector := func(try int) []byte {
		return fmt.Appendf(nil, `{"columns":["id"],"vector":{"single_vector":%s},"k":10,"nprobes":20,"refine_factor":10}`, usualVector(try+3))
	}
	text := func(try int) []byte {
		return fmt.Appendf(nil, `{"columns":["id","text"],"full_text_query":{"string_query":{"query":"word%d word%d","columns":["text"]}},"k":10}`, 10+try, 110+try)
	}
	scan := func(int) []byte { return []byte(`{"columns":["id","x","s"]}`) }
	sorted := func(int) []byte {
		return []byte(`{"columns":["id","x","s"],"order_by":[{"column_name":"x","ascending":false}]}`)
	}
	point := func(try int) []byte {
		return fmt.Appendf(nil, `{"columns":["id","x","s"],"filter":"id = %d"}`, 40_001-7919*try)
	}
	rows := func(from, step int) func(int) []byte {
		return func(try int) []byte { return usualStream(from+step*try, 1000) }
	}
	body := func(format string) func(int) []byte {
		return func(try int) []byte { return fmt.Appendf(nil, format, try) }
	}
	const (
		query = table + "query"
		merge = table + "merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true"
	)
	operations := []operation{
		{call: call{"vector search, nprobes 20 refine 10", query, vector, false}, inexact: true},
		{call: call{"vector search, nprobes 20 refine 10, small cache", query, vector, false}, small: true, inexact: true},
	}
	for _, r := range []call{
		{"namespace create inside", "/v1/namespace/org$team$n%d/create", nil, true},
		{"table declare inside", "/v1/table/org$team$d%d/declare", nil, true},
		{"table create inside, 1000 rows", "/v1/table/org$team$c%d/create", rows(0, 0), true},
		{"table describe inside", table + "describe", nil, false},
		{"point lookup, BTREE", query, point, false},
		{"take 100 by id, BTREE", query, func(try int) []byte {
			return fmt.Appendf(nil, `{"columns":["id","x","s"],"filter":"id IN (%s)"}`, list(try*37, 100))
		}, false},
		{"filter 1%, BTREE", query, func(try int) []byte {
			return fmt.Appendf(nil, `{"columns":["id","x","s"],"filter":"id >= %d AND id < %d"}`, try*500, try*500+500)
		}, false},
		{"filter 1%, no index, wide table", query, body(`{"columns":["id","x","s"],"filter":"x < 75%d"}`), false},
		{"text search by FTS, 2 words", query, text, false},
		{"order by x, all rows", query, sorted, false},
		{"tag create", table + "tags/create", body(`{"tag":"t%d","version":1}`), false},
		{"tag version", table + "tags/version", body(`{"tag":"t%d"}`), false},
		{"update 1 row, BTREE", table + "update", body(`{"predicate":"id = 100%d","updates":[["x","x + 1"]]}`), false},
		{"delete 10 rows, BTREE", table + "delete", func(try int) []byte {
			return fmt.Appendf(nil, `{"predicate":"id >= %d AND id < %d"}`, 2000+10*try, 2010+10*try)
		}, false},
		{"merge_insert 1000 rows, BTREE", merge, rows(usualRows-900, 100), false},
	} {
		operations = append(operations, operation{call: r})
	}
	for _, r := range []call{
		{"full scan, small cache", query, scan, false},
		{"point lookup, BTREE, small cache", query, point, false},
		{"text search by FTS, small cache", query, text, false},
		{"order by x, all rows, small cache", query, sorted, false},
	} {
		operations = append(operations, operation{call: r, small: true})
	}
	for _, r := range []call{
		{"describe, latest version, after a native commit", table + "describe?load_detailed_metadata=true", nil, false},
		{"count, after a native commit", table + "count_rows", nil, false},
		{"point lookup, BTREE, after a native commit", query, point, false},
		{"append 1000 rows, after a native commit", table + "insert", rows(2*usualRows, 1000), false},
	} {
		operations = append(operations, operation{call: r, native: true})
	}
	return operations
}
