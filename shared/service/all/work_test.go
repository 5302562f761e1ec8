package all_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/tables"
)

// A shape is the size of a table.
type shape struct {
	rows, fragments, versions, columns int
}

// work is the cost of one warm request, in countable things.
type work struct {
	allocations, bytes uint64 // of the memory of the process
	reads, readBytes   int    // of storage
	answer             string
}

// A question is a request whose answer does not depend on the size of the table.
type question struct{ name, path, body string }

var questions = []question{
	{"count", "/v1/table/t/count_rows", `{}`},
	{"describe", "/v1/table/t/describe", `{}`},
	{"first rows", "/v1/table/t/query", `{"columns":["id"],"k":10}`},
	{"lookup by BTREE", "/v1/table/t/query", `{"columns":["id"],"filter":"id = 77","k":10}`},
	{"rows of one of many values by BITMAP", "/v1/table/t/query", `{"columns":["id"],"filter":"kind = 'k7'","k":10}`},
	{"words of FTS", "/v1/table/t/query", `{"columns":["id"],"full_text_query":{"string_query":{"query":"rare7 rare9","columns":["text"]}},"k":10}`},
	{"nearest by IVF_PQ", "/v1/table/t/query", `{"vector":{"single_vector":[1,2,3,4,5,6,7,8]},"vector_column":"pq","nprobes":4,"k":10,"columns":["id"]}`},
	{"nearest by IVF_HNSW_SQ", "/v1/table/t/query", `{"vector":{"single_vector":[1,2,3,4,5,6,7,8]},"vector_column":"graph","nprobes":1,"k":10,"columns":["id"]}`},
}

// The work of a warm request depends on what it visits, and not on the rest of the table. With many times
// the rows, fragments, versions or columns, the same answer takes about as many allocations, bytes of memory
// and reads of storage.
func TestWarmWorkFollowsWhatIsVisited(t *testing.T) {
	small := shape{rows: 4_000, fragments: 4, versions: 8, columns: 4}
	for name, large := range map[string]shape{
		"rows":      {rows: 64_000, fragments: 4, versions: 8, columns: 4},
		"fragments": {rows: 4_000, fragments: 400, versions: 8, columns: 4},
		"versions":  {rows: 4_000, fragments: 4, versions: 400, columns: 4},
		"columns":   {rows: 4_000, fragments: 4, versions: 8, columns: 400},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := workOf(t, small), workOf(t, large)
			for _, q := range questions {
				a, b := before[q.name], after[q.name]
				t.Logf("%-40s %5d → %5d allocations, %7d → %7d bytes, %d → %d reads of %d → %d bytes", q.name, a.allocations, b.allocations, a.bytes, b.bytes, a.reads, b.reads, a.readBytes, b.readBytes)
				if b.allocations > a.allocations*3/2+100 || b.bytes > a.bytes*3/2+16<<10 {
					t.Errorf("%s: %d allocations of %d bytes became %d of %d", q.name, a.allocations, a.bytes, b.allocations, b.bytes)
				}
				if b.reads > a.reads+2 || b.readBytes > a.readBytes+64<<10 {
					t.Errorf("%s: %d reads of %d bytes became %d of %d", q.name, a.reads, a.readBytes, b.reads, b.readBytes)
				}
			}
		})
	}
}

// workOf makes a table of a shape, and returns the work of each question to it.
func workOf(t *testing.T, s shape) map[string]work {
	t.Helper()
	counted := faultstore.New(memstore.New(), faultstore.Latency(0))
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: counted})
	if err != nil {
		t.Fatal(err)
	}
	token, err := auth.NewStatic("test", "secret-of-the-test")
	if err != nil {
		t.Fatal(err)
	}
	handler := httpapi.Handler(all.Routes(tables.Stores{Objects: roots, Now: time.Now}, arrowipc.Limits{}), httpapi.Options{Verifier: token})
	send := func(path string, body []byte) string {
		t.Helper()
		request := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
		request.Header.Set("Authorization", "Bearer secret-of-the-test")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != http.StatusOK {
			t.Fatalf("%s: status %d: %s", path, answer.Code, answer.Body)
		}
		return answer.Body.String()
	}
	send("/v1/table/t/create", s.stream(t, 0))
	for i := 1; i < s.fragments; i++ {
		send("/v1/table/t/insert", s.stream(t, i))
	}
	for _, index := range []string{
		`{"column":"id","index_type":"BTREE"}`, `{"column":"kind","index_type":"BITMAP"}`, `{"column":"text","index_type":"FTS"}`,
		fmt.Sprintf(`{"column":"pq","index_type":"IVF_PQ","metric_type":"l2","num_partitions":%d,"num_sub_vectors":4}`, s.rows/500),
		`{"column":"graph","index_type":"IVF_HNSW_SQ","metric_type":"l2","num_partitions":1}`,
	} {
		send("/v1/table/t/create_index", []byte(index))
	}
	for i := range s.versions {
		send("/v1/table/t/add_columns", fmt.Appendf(nil, `{"new_columns":[{"name":"v%d","expression":"id"}]}`, i))
		send("/v1/table/t/drop_columns", fmt.Appendf(nil, `{"columns":["v%d"]}`, i))
	}
	found := map[string]work{}
	for _, q := range questions {
		found[q.name] = measured(send, counted, q)
	}
	return found
}

// measured sends a question several times until the process is warm. It then sends it as often again, and
// returns the mean work.
func measured(send func(string, []byte) string, counted *faultstore.Store, q question) work {
	const times = 20
	var w work
	for range times {
		w.answer = send(q.path, []byte(q.body))
	}
	counted.Reset()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		send(q.path, []byte(q.body))
	}
	runtime.ReadMemStats(&after)
	counts := counted.Snapshot()
	w.allocations, w.bytes = (after.Mallocs-before.Mallocs)/times, (after.TotalAlloc-before.TotalAlloc)/times
	w.reads, w.readBytes = counts.Requests/times, int(counts.ReadBytes)/times
	return w
}

// stream encodes the rows of one fragment. Each value of kind, and each rare word of text, occurs in 20
// consecutive rows.
func (s shape) stream(t *testing.T, fragment int) []byte {
	t.Helper()
	vectors := arrow.FixedSizeListOf(8, arrow.PrimitiveTypes.Float32)
	fields := []arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "kind", Type: arrow.BinaryTypes.String}, {Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "pq", Type: vectors}, {Name: "graph", Type: vectors},
	}
	for i := range s.columns {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: arrow.PrimitiveTypes.Int8})
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	n := s.rows / s.fragments
	for i := range n {
		id := fragment*n + i
		b.Field(0).(*array.Int64Builder).Append(int64(id))
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("k%d", id/20))
		b.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("%s rare%d", strings.Repeat("common ", id%5), id/20))
		for _, column := range []int{3, 4} {
			v := b.Field(column).(*array.FixedSizeListBuilder)
			v.Append(true)
			for d := range 8 {
				v.ValueBuilder().(*array.Float32Builder).Append(float32(uint32(id*2654435761+d*40503)%1000) / 100)
			}
		}
		for c := range s.columns {
			b.Field(5 + c).(*array.Int8Builder).Append(int8(id))
		}
	}
	return streamOfBatch(t, b.NewRecordBatch())
}
