package all_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tiltyard/shared/protocol"
)

// sent sends a request with a JSON body as the administrator.
func (w *staffedServer) sent(path string, body any) (status int, answer map[string]any) {
	w.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.send("admin", path, text)
}

// encoded returns a schema as clients send it: in base64.
func encoded(t *testing.T, fields ...arrow.Field) string {
	t.Helper()
	var out bytes.Buffer
	if err := ipc.NewWriter(&out, ipc.WithSchema(arrow.NewSchema(fields, nil))).Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

func idSchema(t *testing.T) string {
	return encoded(t, arrow.Field{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true})
}

// udtfSpec is a complete udtf_spec.
func udtfSpec(envelope string) map[string]any {
	text := base64.StdEncoding.EncodeToString([]byte(envelope))
	sum := sha256.Sum256([]byte(text))
	return map[string]any{
		"udtf": text, "udtf_sha": hex.EncodeToString(sum[:]), "udtf_name": "split", "udtf_version": "1",
		"input_columns": []string{"body"}, "num_cpus": 1, "num_gpus": 0.5, "memory": 1024.0, "error_handling": map[string]any{"mode": "skip"},
		"batch": true, "manifest": `{"image":"python:3.12","pip":["pyarrow"]}`, "manifest_checksum": "00",
	}
}

// A query that a client made is opaque. Whatever it is, the view is made, and answers no rows.
func TestViewsAreMadeOfAnyQueryOfAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openStaffedServer(t)
		w.must("/v1/view/plain/create", map[string]any{"query": "SELECT id FROM src.a"})
		queries := map[string]string{
			"a missing table":           "SELECT id FROM missing",
			"a missing namespace":       "SELECT id FROM nowhere.missing WHERE id > 1",
			"not SQL":                   "SELEC nonsense (",
			"another dialect":           "SELECT a.id FROM a JOIN b USING (id) QUALIFY row_number() OVER () = 1",
			"a missing column":          "SELECT nothing FROM src.a",
			"itself":                    "SELECT id FROM %s",
			"a plain view":              "SELECT id FROM plain",
			"a query object":            `{"base":{"filter":"id > 1","columns":["id"]},"source_table":"missing"}`,
			"one without source":        `{"base":{}}`,
			"one with a strange source": `{"base":{},"source_table":"a\u0000b/../c"}`,
			"one with a long source":    `{"base":{},"source_table":"` + strings.Repeat("x", 5000) + `"}`,
			"one with a sort":           `{"base":{"sort":["id"]},"shuffle":true,"source_table":"missing"}`,
			"an array":                  `[1,2,3]`,
			"text":                      "from src.a | take 10",
			"bytes":                     base64.StdEncoding.EncodeToString([]byte{0, 1, 2, 255}),
		}
		number := 0
		for what, query := range queries {
			for _, kind := range []string{"query", "udtf", "chunker", "scalar_udtf"} {
				for _, empty := range []any{nil, true, false} {
					number++
					name := fmt.Sprint("v", number)
					body := map[string]any{"kind": kind, "source_query": strings.ReplaceAll(query, "%s", name), "output_schema": idSchema(t), "auto_refresh": number%2 == 0, "id": []string{name}}
					if kind != "query" {
						body["udtf_spec"] = udtfSpec(`{"backend":"builtin","name":"split_text"}`)
					}
					if empty != nil {
						body["with_no_data"] = empty
					}
					status, answer := w.sent("/v1/materialized_view/"+name+"/create", body)
					if begins := answer["job_id"] != nil; status != http.StatusCreated || answer["version"] != 1.0 || begins != (empty == false) {
						t.Fatalf("%s, %s, with_no_data %v: %d %v", what, kind, empty, status, answer)
					}
					if status, _ := w.sent("/v1/materialized_view/"+name+"/create", body); status != http.StatusConflict {
						t.Errorf("%s again: %d, want 409", name, status)
					}
					if status, described := w.sent("/v1/materialized_view/"+name+"/describe", nil); status != http.StatusOK || described["definition_sha256"] == "" {
						t.Errorf("%s: described as %d %v", name, status, described)
					}
					if rows := w.count(name, ""); rows != 0 {
						t.Errorf("%s has %d rows", name, rows)
					}
					if id, ok := answer["job_id"].(string); ok {
						w.work(0)
						if _, told := w.sent("/v1/jobs/describe", map[string]string{"job_id": id}); told["job_state"] != "FAILED" {
							t.Errorf("%s, %s: the first refresh is %v", what, kind, told)
						}
					}
				}
			}
		}
		if _, listed := w.get("/v1/namespace/$/materialized_view/list"); len(listed["views"].([]any)) != number {
			t.Errorf("%d views are listed, want %d", len(listed["views"].([]any)), number)
		}
	})
}

// A view begins to work when its source appears, and follows it.
func TestViewWaitsForItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, query := range map[string]string{"sql": "SELECT id FROM later WHERE id > 1", "object": `{"base":{"filter":"id > 1","columns":["id"]},"source_table":"later"}`} {
			w := openStaffedServer(t)
			made := w.must("/v1/materialized_view/v/create", map[string]any{"kind": "query", "source_query": query, "output_schema": idSchema(t), "with_no_data": false, "auto_refresh": true})
			w.work(0)
			_, told := w.sent("/v1/jobs/describe", map[string]any{"job_id": made["job_id"]})
			if failure, _ := told["failure"].(map[string]any); failure == nil || !strings.Contains(failure["message"].(string), "later") {
				t.Errorf("%s: the first refresh is %v, want a failure that names the source", name, told)
			}
			if status, answer := w.sent("/v1/materialized_view/v/refresh", nil); status != http.StatusNotFound || !strings.Contains(fmt.Sprint(answer["detail"], answer["error"]), "later") {
				t.Errorf("%s: a refresh without source: %d %v", name, status, answer)
			}
			w.create("later", nil, 1, 2, 3)
			if status, answer := w.sent("/v1/materialized_view/v/refresh", nil); status != http.StatusAccepted {
				t.Fatalf("%s: a refresh with source: %d %v", name, status, answer)
			}
			w.work(0)
			if rows := w.count("v", ""); rows != 2 {
				t.Errorf("%s: the view has %d rows, want 2", name, rows)
			}
			w.insert("later", 4)
			w.work(30 * minutes)
			if rows := w.count("v", ""); rows != 3 {
				t.Errorf("%s: the view has %d rows after an insert, want 3", name, rows)
			}
		}
	})
}

// What a request says wrong is found before anything is looked for.
func TestBodiesOfViewsAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openStaffedServer(t)
		spec := func(changes map[string]any) map[string]any {
			all := udtfSpec("{}")
			maps.Copy(all, changes)
			return all
		}
		cases := map[string]struct {
			body map[string]any
			want int
		}{
			"schema that is no base64": {map[string]any{"output_schema": "%%%"}, 400},
			"schema that is no Arrow":  {map[string]any{"output_schema": base64.StdEncoding.EncodeToString([]byte("nothing"))}, 400},
			"no schema":                {map[string]any{"output_schema": nil}, 400},
			"schema of another type":   {map[string]any{"output_schema": 1}, 400},
			"no query":                 {map[string]any{"source_query": ""}, 400},
			"query of another type":    {map[string]any{"source_query": map[string]any{}}, 400},
			"unknown kind":             {map[string]any{"kind": "table"}, 400},
			"kind and query":           {map[string]any{"query": "SELECT id FROM missing"}, 400},
			"spec of a query":          {map[string]any{"udtf_spec": spec(nil)}, 400},
			"no spec":                  {map[string]any{"kind": "udtf"}, 400},
			"null spec":                {map[string]any{"kind": "chunker", "udtf_spec": nil}, 400},
			"another id":               {map[string]any{"id": []string{"other"}}, 400},
			"with_no_data as text":     {map[string]any{"with_no_data": "no"}, 400},
			"auto_refresh as number":   {map[string]any{"auto_refresh": 1}, 400},
		}
		for field, wrong := range map[string][]any{
			"udtf": {"%%%", 1, ""}, "udtf_sha": {"00", 1, ""}, "udtf_name": {1, ""}, "udtf_version": {1.5, ""}, "input_columns": {"body", []int{1}},
			"partition_by": {1, []string{"a"}}, "partition_by_indexed_column": {true}, "num_cpus": {"1", -1}, "num_gpus": {"1", -0.5}, "memory": {"1G", -1, 1.5},
			"error_handling": {"skip", 1, []string{"skip"}, true}, "batch": {"yes", 1}, "manifest": {map[string]any{}, 1}, "manifest_checksum": {1}, "kind": {"chunker", 1},
		} {
			for i, value := range wrong {
				cases[fmt.Sprint(field, " ", i)] = struct {
					body map[string]any
					want int
				}{map[string]any{"kind": "udtf", "udtf_spec": spec(map[string]any{field: value})}, 400}
			}
		}
		for what, test := range cases {
			body := map[string]any{"kind": "query", "source_query": "SELECT id FROM missing", "output_schema": idSchema(t)}
			maps.Copy(body, test.body)
			if status, answer := w.sent("/v1/materialized_view/v/create", body); status != test.want {
				t.Errorf("%s: %d %v, want %d", what, status, answer, test.want)
			}
		}
		good := map[string]any{"kind": "query", "source_query": "SELECT id FROM missing", "output_schema": idSchema(t)}
		if status, answer := w.sent("/v1/materialized_view/none$v/create", good); status != http.StatusNotFound || answer["code"] != float64(protocol.NamespaceNotFound) {
			t.Errorf("without a namespace: %d %v, want 404", status, answer)
		}
		if status, _ := w.sent("/v1/materialized_view/src$a/create", good); status != http.StatusConflict {
			t.Errorf("at the name of a table: %d, want 409", status)
		}
		if rec := httptest.NewRecorder(); w.count("src$a", "") != 2 || rec.Code != http.StatusOK {
			t.Error("the table has changed")
		}
	})
}
