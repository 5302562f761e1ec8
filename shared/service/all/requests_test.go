package all_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/tables"
)

var update = flag.Bool("update", false, "write the golden file of storage requests")

// process is a running server over a store that counts requests. Every request to the store takes
// the same time, in a bubble where that costs no real time, so that independent requests overlap.
type process struct {
	t     *testing.T
	store *faultstore.Store
	serve http.Handler
}

// storageLatency is about what S3 takes to answer a small request.
const storageLatency = 20 * time.Millisecond

func start(t *testing.T, store objectstore.Store) *process {
	t.Helper()
	return startSmall(t, store, 0)
}

// startSmall is start for a process whose cache of tables holds cacheBytes; 0 means the usual size.
func startSmall(t *testing.T, store objectstore.Store, cacheBytes uint64) *process {
	t.Helper()
	counted := faultstore.New(store, faultstore.Latency(storageLatency))
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: counted})
	if err != nil {
		t.Fatal(err)
	}
	token, err := auth.NewStatic("test", "secret-of-the-test")
	if err != nil {
		t.Fatal(err)
	}
	routes := all.Routes(tables.Stores{Objects: roots, Now: time.Now, CacheBytes: cacheBytes}, arrowipc.Limits{})
	return &process{t: t, store: counted, serve: httpapi.Handler(routes, httpapi.Options{Verifier: token})}
}

// call sends one request and returns the counts of the storage requests that it caused.
func (p *process) call(path string, body []byte) faultstore.Counts {
	p.t.Helper()
	p.store.Reset()
	req := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer secret-of-the-test")
	answer := httptest.NewRecorder()
	began := time.Now()
	p.serve.ServeHTTP(answer, req)
	took := time.Since(began)
	if answer.Code != http.StatusOK {
		p.t.Fatalf("%s: status %d: %s", path, answer.Code, answer.Body)
	}
	synctest.Wait()
	counts := p.store.Snapshot()
	// Only storage takes time here, so the duration of an answer follows from its depth.
	if want := time.Duration(counts.Depth) * storageLatency; took != want {
		p.t.Errorf("%s: took %v, want %v for storage requests %d deep", path, took, want, counts.Depth)
	}
	return counts
}

// stream encodes n rows (id, x, s, 8-dimensional vector), ids from first on.
func stream(t testing.TB, first, n int) []byte { return streamOf(t, first, n, 8) }

// wideStream encodes n rows with vectors of 128 dimensions.
func wideStream(t testing.TB, n int) []byte { return streamOf(t, 0, n, 128) }

func streamOf(t testing.TB, first, n, dim int) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "vector", Type: arrow.FixedSizeListOf(int32(dim), arrow.PrimitiveTypes.Float32), Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range n {
		id := first + i
		b.Field(0).(*array.Int64Builder).Append(int64(id))
		b.Field(1).(*array.Float64Builder).Append(float64(id) * 1.5)
		b.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("row %d", id*7919%n))
		v := b.Field(3).(*array.FixedSizeListBuilder)
		v.Append(true)
		for d := range dim {
			v.ValueBuilder().(*array.Float32Builder).Append(float32(id*31+d*17) / 100)
		}
	}
	return streamOfBatch(t, b.NewRecordBatch())
}

// streamOfBatch encodes one batch as an Arrow stream.
func streamOfBatch(t testing.TB, batch arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(batch.Schema()))
	if err := w.Write(batch); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// depthGoals are how many requests to storage may wait for one another in the first request of a
// process, and in a later one. That is how many round trips to S3 an answer takes. The golden file
// may be better than these goals, and must not become worse than them.
var depthGoals = map[string]struct{ cold, warm int }{
	"namespace create":                 {1, 1},
	"namespace describe":               {1, 1},
	"table declare":                    {1, 1},
	"table create, 1000 rows":          {3, 3},
	"table describe":                   {1, 1},
	"table describe, latest version":   {2, 1},
	"table list":                       {1, 1},
	"version list, latest 1":           {2, 1},
	"open + count":                     {2, 1},
	"full scan (id, x, s)":             {4, 1},
	"filter 1%, no index":              {5, 2},
	"append 1000 rows":                 {4, 2},
	"merge_insert 1000 rows":           {7, 3}, // 6 is what we are after
	"filter by BTREE":                  {5, 1},
	"filter by NGRAM":                  {5, 2},
	"text search by FTS":               {6, 2},
	"vector search by IVF_PQ":          {5, 2},
	"vector search by IVF_PQ, refined": {5, 1},
}

// A call is what an operation of the golden file sends.
type call struct {
	name, path string
	body       func(try int) []byte
	perTry     bool // path holds %d for the try: each is another object
}

// An operation is one section of the golden file.
type operation struct {
	call
	small  bool // by a process whose cache does not hold the table
	native bool // another writer commits to the table before each try
	// The distances of vectors, and with them the requests of a search, differ a little between processors.
	// Such an operation is held to its goal, and is not in the golden file.
	inexact bool
}

// The requests to the object store that each operation makes, and how many of them wait for one
// another, determine the latency of the service and its cost. A rise fails here; the golden file is
// renewed with -update and read in review.
func TestStorageRequests(t *testing.T) {
	const rows = 50_000
	near := []byte(`{"vector":{"single_vector":[1,2,3,4,5,6,7,8]},"k":10,"columns":{"column_names":["id"]},"prefilter":true}`)
	named := func(try int) []byte { return fmt.Appendf(nil, `{"name":"b%d"}`, try) }
	requests := []call{
		{"namespace create", "/v1/namespace/n%d/create", nil, true},
		{"namespace describe", "/v1/namespace/ns/describe", nil, false},
		{"namespace exists", "/v1/namespace/ns/exists", nil, false},
		{"namespace list", "/v1/namespace/$/list", nil, false},
		{"namespace drop", "/v1/namespace/n%d/drop", nil, true},
		{"table declare", "/v1/table/d%d/declare", nil, true},
		{"table rename", "/v1/table/d%d/rename", func(try int) []byte { return fmt.Appendf(nil, `{"new_table_name":"e%d"}`, try) }, true},
		{"table deregister", "/v1/table/e%d/deregister", nil, true},
		{"table create, 1000 rows", "/v1/table/c%d/create", func(int) []byte { return stream(t, 0, 1000) }, true},
		{"table exists", "/v1/table/t/exists", nil, false},
		{"table describe", "/v1/table/t/describe", nil, false},
		{"table describe, latest version", "/v1/table/t/describe?load_detailed_metadata=true", nil, false},
		{"table list", "/v1/namespace/$/table/list", nil, false},
		{"version list, latest 1", "/v1/table/t/version/list?limit=1&descending=true", nil, false},
		{"version describe, latest", "/v1/table/t/version/describe", nil, false},
		{"version describe", "/v1/table/t/version/describe", func(int) []byte { return []byte(`{"version":1}`) }, false},
		{"open + count", "/v1/table/t/count_rows", nil, false},
		{"full scan (id, x, s)", "/v1/table/t/query", func(int) []byte { return []byte(`{"columns":["id","x","s"]}`) }, false},
		{"filter 1%, no index", "/v1/table/t/query", func(int) []byte { return []byte(`{"columns":["id","x","s"],"filter":"id < 500"}`) }, false},
		{"flat vector search, k = 10", "/v1/table/t/query", func(int) []byte { return near }, false},
		{"order by x desc, k = 10", "/v1/table/t/query", func(int) []byte {
			return []byte(`{"columns":["id","x","s"],"order_by":[{"column_name":"x","ascending":false}],"k":10}`)
		}, false},
		{"explain plan", "/v1/table/t/explain_plan", func(int) []byte { return fmt.Appendf(nil, `{"query":%s}`, near) }, false},
		{"analyze plan", "/v1/table/t/analyze_plan", func(int) []byte { return near }, false},
		{"index list", "/v1/table/t/index/list", nil, false},
		{"append 1000 rows", "/v1/table/t/insert", func(try int) []byte { return stream(t, rows+1000*try, 1000) }, false},
		{"merge_insert 1000 rows", "/v1/table/t/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true",
			func(try int) []byte { return stream(t, rows-900+100*try, 1000) }, false},
		{"branch create", "/v1/table/t/branches/create", named, false},
		{"branch count", "/v1/table/t/count_rows", func(int) []byte { return []byte(`{"branch":"b0"}`) }, false},
		{"branch append 1000 rows", "/v1/table/t/insert?branch=b0", func(try int) []byte { return stream(t, 1000*try, 1000) }, false},
		{"branch delete", "/v1/table/t/branches/delete", named, false},
		{"multipart begin", "/v1/table/t/multipart_write/create", nil, false},
		{"multipart part, 1000 rows", "/v1/table/t/insert?upload_id={upload}&upload_part_id=" + uuid.NewString(),
			func(int) []byte { return stream(t, 0, 1000) }, false},
		{"multipart complete", "/v1/table/t/multipart_write/complete?upload_id={upload}", nil, false},
		{"create index BTREE", "/v1/table/c%d/create_index", func(int) []byte { return []byte(`{"column":"id","index_type":"BTREE"}`) }, true},
		{"create index FTS", "/v1/table/c%d/create_index", func(int) []byte { return []byte(`{"column":"s","index_type":"FTS"}`) }, true},
		{"create index IVF_PQ", "/v1/table/c%d/create_index", func(int) []byte {
			return []byte(`{"column":"vector","index_type":"IVF_PQ","num_partitions":4,"num_sub_vectors":4}`)
		}, true},
		{"table drop", "/v1/table/c%d/drop", nil, true},
	}
	for _, q := range indexedQueries {
		requests = append(requests, call{q.name, "/v1/table/indexed/query", indexedQuery(q.query), false})
	}
	var operations []operation
	for _, r := range requests {
		operations = append(operations, operation{call: r})
	}
	operations = append(operations, usualOperations()...)
	var uploads []string // one for each try
	path := func(pattern string, try int, perTry bool) string {
		if before, after, parts := strings.Cut(pattern, "{upload}"); parts {
			return before + uploads[try] + after
		}
		if perTry {
			return fmt.Sprintf(pattern, try)
		}
		return pattern
	}
	var golden strings.Builder
	golden.WriteString("# operation | cold: requests / depth | warm: requests / depth\n")
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New()
		setup := start(t, inner)
		setup.call("/v1/namespace/ns/create", []byte("{}"))
		setup.call("/v1/table/t/create", stream(t, 0, rows))
		addIndexed(t, inner)
		setup.call("/v1/table/indexed/register", fmt.Appendf(nil, `{"location":%q}`, indexedLocation))
		commit := addUsual(t, setup, inner)
		for range 5 {
			uploads = append(uploads, begin(t.Context(), &server{t: t, serve: setup.serve}))
		}
		usual, little := start(t, inner), startSmall(t, inner, littleCache)
		for _, op := range operations {
			body := op.body
			if body == nil {
				body = func(int) []byte { return []byte("{}") }
			}
			warm := usual
			if op.small {
				warm = little
			}
			send := func(p *process, try int) faultstore.Counts {
				if op.native {
					commit(try)
				}
				return p.call(path(op.path, try, op.perTry), body(try))
			}
			cold := send(start(t, inner), 0)
			for try := range 3 {
				send(warm, 1+try)
			}
			now := send(warm, 4)
			if goal, ok := depthGoals[op.name]; ok && (cold.Depth > goal.cold || now.Depth > goal.warm) {
				t.Errorf("%s: cold %d deep, warm %d; want at most %d, %d", op.name, cold.Depth, now.Depth, goal.cold, goal.warm)
			}
			if goal, ok := usualGoals[op.name]; ok {
				goal.check(t, op.name, cold, now)
			}
			if op.inexact {
				continue
			}
			fmt.Fprintf(&golden, "\n%s | %d / %d | %d / %d\n", op.name, cold.Requests, cold.Depth, now.Requests, now.Depth)
			for _, line := range anonymous(now.Log) {
				fmt.Fprintf(&golden, "    %s\n", line)
			}
		}
	})
	const file = "testdata/requests.golden"
	if *update {
		if err := os.WriteFile(file, []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), golden.String()); diff != "" {
		t.Errorf("storage requests differ from %s (-want +got):\n%s", file, diff)
	}
}

// random is the parts of keys that differ from run to run.
var random = regexp.MustCompile(`[01]{24}[0-9a-f]{26}|[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{24}|[0-9]{15,20}(\.arrow|\.bin)`)

// anonymous replaces the random parts by stars, and sorts the lines, whose order depended on them.
func anonymous(log []string) []string {
	lines := make([]string, len(log))
	for i, line := range log {
		lines[i] = random.ReplaceAllString(line, "*$2")
	}
	slices.Sort(lines)
	return lines
}
