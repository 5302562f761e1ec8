package all_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/tables"
)

// server is the handler of all services over one store.
type server struct {
	t     testing.TB
	serve http.Handler
}

func serve(t testing.TB, uri string, store objectstore.Store) *server {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: uri, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	token, err := auth.NewStatic("test", "secret-of-the-test")
	if err != nil {
		t.Fatal(err)
	}
	routes := all.Routes(tables.Stores{Objects: roots, Now: time.Now}, arrowipc.Limits{})
	return &server{t: t, serve: httpapi.Handler(routes, httpapi.Options{Verifier: token})}
}

// each runs a test over memory and over a directory.
func each(t *testing.T, test func(t *testing.T, s *server)) {
	t.Run("memory", func(t *testing.T) { test(t, serve(t, "memory://test", memstore.New())) })
	t.Run("directory", func(t *testing.T) {
		dir := t.TempDir()
		store, err := diskstore.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		test(t, serve(t, dir, store))
	})
}

// post sends a body (a string of JSON, or bytes) and returns status and answer.
func (s *server) post(path string, body any) (int, []byte) {
	s.t.Helper()
	var payload []byte
	switch body := body.(type) {
	case string:
		payload = []byte(body)
	case []byte:
		payload = body
	}
	req := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(payload))
	req.Header.Set("Authorization", "Bearer secret-of-the-test")
	answer := httptest.NewRecorder()
	s.serve.ServeHTTP(answer, req)
	return answer.Code, answer.Body.Bytes()
}

// ok is post for requests that succeed; it decodes the JSON answer.
func (s *server) ok(path string, body any) map[string]any {
	s.t.Helper()
	status, answer := s.post(path, body)
	if status != http.StatusOK {
		s.t.Fatalf("%s: status %d: %s", path, status, answer)
	}
	decoded := map[string]any{}
	if len(answer) > 0 && answer[0] == '{' {
		if err := json.Unmarshal(answer, &decoded); err != nil {
			s.t.Fatalf("%s: %v in %s", path, err, answer)
		}
	}
	return decoded
}

// fails is post for requests that are refused with a status and a code.
func (s *server) fails(path string, body any, status, code int, text string) {
	s.t.Helper()
	got, answer := s.post(path, body)
	var problem struct {
		Code  *int
		Error string
	}
	if err := json.Unmarshal(answer, &problem); err != nil || problem.Code == nil {
		s.t.Errorf("%s: status %d, no error body: %s", path, got, answer)
		return
	}
	if got != status || *problem.Code != code || !strings.Contains(problem.Error, text) {
		s.t.Errorf("%s: status %d, code %d, %q; want status %d, code %d, text with %q", path, got, *problem.Code, problem.Error, status, code, text)
	}
}

// query returns the rows of an answer as JSON objects.
func (s *server) query(table, body string) []map[string]any {
	s.t.Helper()
	status, answer := s.post("/v1/table/"+table+"/query", body)
	if status != http.StatusOK {
		s.t.Fatalf("query %s: status %d: %s", body, status, answer)
	}
	file, err := ipc.NewFileReader(bytes.NewReader(answer))
	if err != nil {
		s.t.Fatal(err)
	}
	rows := []map[string]any{}
	for i := range file.NumRecords() {
		batch, err := file.RecordBatch(i)
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := array.RecordToStructArray(batch).MarshalJSON()
		if err != nil {
			s.t.Fatal(err)
		}
		var part []map[string]any
		if err := json.Unmarshal(text, &part); err != nil {
			s.t.Fatal(err)
		}
		rows = append(rows, part...)
	}
	return rows
}

// ids returns the id column of a query's answer.
func (s *server) ids(table, body string) []int {
	s.t.Helper()
	ids := []int{}
	for _, row := range s.query(table, body) {
		ids = append(ids, int(row["id"].(float64)))
	}
	return ids
}

func TestRowsComeBackAsTheyWentIn(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.ok("/v1/namespace/shop/create", `{"properties":{"owner":"me"}}`)
		created := s.ok("/v1/table/shop$orders/create", stream(t, 0, 100))
		if created["version"] != 1.0 || created["location"] == "" {
			t.Errorf("create answers %v", created)
		}
		added := s.ok("/v1/table/shop$orders/insert", stream(t, 100, 50))
		if added["version"] != 2.0 || added["num_inserted_rows"] != 50.0 {
			t.Errorf("insert answers %v", added)
		}
		if _, count := s.post("/v1/table/shop$orders/count_rows", `{}`); string(count) != "150" {
			t.Errorf("count answers %s", count)
		}
		if _, count := s.post("/v1/table/shop$orders/count_rows", `{"version":1}`); string(count) != "100" {
			t.Errorf("count of version 1 answers %s", count)
		}
		cases := []struct {
			body string
			want []int
		}{
			{`{"columns":["id"],"filter":"id >= 148"}`, []int{148, 149}},
			{`{"columns":{"column_names":["id"]},"k":3,"offset":99}`, []int{99, 100, 101}},
			{`{"columns":["id"],"filter":"id in (3, 5, 700) or id between 120 and 121"}`, []int{3, 5, 120, 121}},
			{`{"columns":["id"],"filter":"x < 3 and not id = 1"}`, []int{0}},
			{`{"columns":["id"],"filter":"id > 10","k":2,"version":1}`, []int{11, 12}},
			{`{"columns":["id"],"filter":"_rowid = 4294967298"}`, []int{102}},
			{`{"columns":["id","_rowoffset"],"filter":"_rowoffset IN (1, 101)"}`, []int{1, 101}},
			{`{"columns":["id"],"filter":"s is null"}`, []int{}},
		}
		for _, c := range cases {
			if got := s.ids("shop$orders", c.body); !slices.Equal(got, c.want) {
				t.Errorf("query %s gives %v, want %v", c.body, got, c.want)
			}
		}
	})
}

func TestNearestRowsAreFound(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.ok("/v1/table/t/create", stream(t, 0, 1000))
		s.ok("/v1/table/t/insert", stream(t, 1000, 1000))
		vector := vectorOf(1500)
		first := s.query("t", fmt.Sprintf(`{"vector":%s,"k":3,"columns":["id"],"prefilter":true}`, vector))
		if len(first) != 3 || first[0]["id"] != 1500.0 || first[0]["_distance"] != 0.0 {
			t.Fatalf("nearest rows are %v, want 1500 first", first)
		}
		cases := []struct {
			name, body string
			want       []int
		}{
			{"prefilter", `{"vector":%s,"k":2,"columns":["id"],"prefilter":true,"filter":"id < 1400"}`, []int{1399, 1398}},
			{"postfilter", `{"vector":%s,"k":3,"columns":["id"],"filter":"id = 1500"}`, []int{1500}},
			{"postfilter finds nothing", `{"vector":%s,"k":3,"columns":["id"],"filter":"id < 1400"}`, []int{}},
			{"offset", `{"vector":%s,"k":1,"offset":0,"columns":["id"],"prefilter":true,"upper_bound":0.1}`, []int{1500}},
			{"bounds", `{"vector":%s,"k":5,"columns":["id"],"prefilter":true,"lower_bound":0.1,"upper_bound":0.7}`, []int{}},
			{"k past the end", `{"vector":%s,"k":9223372036854775807,"columns":["id"],"prefilter":true,"filter":"id > 1998"}`, []int{1999}},
			{"no k", `{"vector":%s,"columns":["id"],"prefilter":true,"filter":"id = 7"}`, []int{7}},
		}
		for _, c := range cases {
			if got := s.ids("t", fmt.Sprintf(c.body, vector)); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", c.name, got, c.want)
			}
		}
		two := s.query("t", fmt.Sprintf(`{"vector":[%s,%s],"k":1,"columns":["id"],"with_row_id":true,"prefilter":true}`, vectorOf(7), vector))
		want := []map[string]any{
			{"query_index": 0.0, "id": 7.0, "_distance": 0.0, "_rowid": 7.0},
			{"query_index": 1.0, "id": 1500.0, "_distance": 0.0, "_rowid": 4294967796.0},
		}
		if diff := cmp.Diff(want, two); diff != "" {
			t.Errorf("two queries (-want +got):\n%s", diff)
		}
	})
}

// vectorOf is the vector of the row with an id, as stream makes it.
func vectorOf(id int) string {
	parts := make([]string, 8)
	for d := range parts {
		parts[d] = fmt.Sprint(float32(id*31+d*17) / 100)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func TestMergeUpdatesAndInserts(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		const both = "?on=id&when_matched_update_all=true&when_not_matched_insert_all=true"
		s.ok("/v1/table/t/declare", `{}`)
		filled := s.ok("/v1/table/t/merge_insert"+both, stream(t, 0, 10))
		if diff := cmp.Diff(map[string]any{"num_updated_rows": 0.0, "num_inserted_rows": 10.0, "num_deleted_rows": 0.0, "num_rows": 10.0, "num_attempts": 1.0, "version": 1.0}, s.settled(filled)); diff != "" {
			t.Errorf("merge into a declared table (-want +got):\n%s", diff)
		}
		merged := s.ok("/v1/table/t/merge_insert"+both, stream(t, 8, 4))
		if diff := cmp.Diff(map[string]any{"num_updated_rows": 2.0, "num_inserted_rows": 2.0, "num_deleted_rows": 0.0, "num_rows": 4.0, "num_attempts": 1.0, "version": 2.0}, s.settled(merged)); diff != "" {
			t.Errorf("merge (-want +got):\n%s", diff)
		}
		if got, want := s.ids("t", `{"columns":["id"]}`), []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}; !slices.Equal(got, want) {
			t.Errorf("after the merge the ids are %v, want %v", got, want)
		}
		s.ok("/v1/table/t/merge_insert?on=id&on=s&when_not_matched_insert_all=true", stream(t, 0, 10))
		s.fails("/v1/table/t/merge_insert?on=id", stream(t, 0, 1), 400, 13, "change nothing")
		s.fails("/v1/table/t/merge_insert?on=nope&when_matched_update_all=true", stream(t, 0, 1), 404, 12, "nope")
		s.ok("/v1/table/t/merge_insert?on=vector&when_matched_update_all=true", stream(t, 0, 1))
		s.fails("/v1/table/t/merge_insert"+both+"&when_matched_update_all_filt=target.nope%3D1", stream(t, 0, 1), 400, 13, "nope")
	})
}

// settled checks that the transaction of an answer can be described, and returns the rest of the
// answer.
func (s *server) settled(answer map[string]any) map[string]any {
	s.t.Helper()
	id, _ := answer["transaction_id"].(string)
	delete(answer, "transaction_id")
	described := s.ok("/v1/transaction/"+id+"/describe", `{}`)
	properties, _ := described["properties"].(map[string]any)
	if described["status"] != "Succeeded" || properties["version"] != fmt.Sprint(answer["version"]) {
		s.t.Errorf("transaction %s is %v, want it to have made version %v", id, described, answer["version"])
	}
	return answer
}

func TestCreateDoesAsItsModeSays(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.ok("/v1/table/t/create", stream(t, 0, 3))
		s.fails("/v1/table/t/create", stream(t, 0, 3), 409, 5, "already exists")
		s.fails("/v1/table/t/create/?mode=create", stream(t, 0, 3), 400, 5, "already exists")
		if got := s.ok("/v1/table/t/create?mode=exist_ok", stream(t, 0, 9)); got["version"] != 1.0 {
			t.Errorf("create of an existing table, kept, answers %v", got)
		}
		s.ok("/v1/table/t/create?mode=exist_ok", streamOf(t, 0, 1, 16))
		s.fails("/v1/table/t/create/?mode=exist_ok", streamOf(t, 0, 1, 16), 400, 20, "exists with another schema")
		if got := s.ok("/v1/table/t/create?mode=Overwrite", stream(t, 5, 2)); got["version"] != 2.0 {
			t.Errorf("create over an existing table answers %v", got)
		}
		if got, want := s.ids("t", `{"columns":["id"]}`), []int{5, 6}; !slices.Equal(got, want) {
			t.Errorf("ids %v, want %v", got, want)
		}
		s.fails("/v1/table/none$t/create", stream(t, 0, 3), 404, 1, "none")
		s.fails("/v1/table/u/create", "not arrow", 400, 13, "arrow")
		s.fails("/v1/table/u/describe", "", 404, 4, "u")
	})
}

func TestDescribeTellsWhatIsThere(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.ok("/v1/table/d/declare", `{}`)
		declared := s.ok("/v1/table/d/describe", `{"load_detailed_metadata":true}`)
		if declared["is_only_declared"] != true || declared["version"] != nil {
			t.Errorf("declared table is described as %v", declared)
		}
		s.fails("/v1/table/d/describe/", "", 404, 4, "no data")
		s.fails("/v1/table/d/query", `{}`, 404, 4, "no data")
		if got := s.ok("/v1/table/d/version/list", ""); fmt.Sprint(got["versions"]) != "[]" {
			t.Errorf("versions of a declared table: %v", got)
		}
		created := s.ok("/v1/table/d/create", stream(t, 0, 5))
		described := s.ok("/v1/table/d/describe/", "")
		if described["location"] != created["location"] || described["version"] != 1.0 {
			t.Errorf("created %v, described %v", created, described)
		}
		schema := described["schema"].(map[string]any)["fields"].([]any)
		if got := schema[1].(map[string]any)["type"].(map[string]any)["type"]; got != "double" {
			t.Errorf("LanceDB clients see type %v, want double", got)
		}
		s.fails("/v1/table/d/describe", `{"version":7}`, 404, 11, "version")
		registered := s.ok("/v1/table/other/register", fmt.Sprintf(`{"location":%q}`, created["location"]))
		if registered["location"] != created["location"] {
			t.Errorf("registered %v", registered)
		}
		asSent := created["location"].(string) + "/"
		if again := s.ok("/v1/table/again/register", fmt.Sprintf(`{"location":%q}`, asSent)); again["location"] != asSent {
			t.Errorf("registered at %s, the answer is %v", asSent, again)
		}
		s.ok("/v1/table/again/deregister", `{}`)
		s.fails("/v1/table/x/register", `{"location":"/etc"}`, 400, 13, "location not accepted")
		s.fails("/v1/table/x/register", `{"location":"nothing-here.lance"}`, 400, 13, "no Lance table")
		s.ok("/v1/table/other/deregister", `{}`)
		s.ok("/v1/table/d/drop", "")
		s.fails("/v1/table/d/describe", "", 404, 4, "d")
	})
}

func TestClonesNameTheirSource(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		place := s.ok("/v1/table/t/create", stream(t, 0, 3))["location"]
		s.fails("/v1/table/new/clone", fmt.Sprintf(`{"source_location":%q,"source_tag":"none"}`, place), 404, 8, `table at source_location has no tag "none"`)
		s.fails("/v1/table/new/clone", fmt.Sprintf(`{"source_location":%q,"source_version":9}`, place), 404, 11, "table at source_location has no such version")
		s.fails("/v1/table/new/describe", "", 404, 4, "new")
	})
}
