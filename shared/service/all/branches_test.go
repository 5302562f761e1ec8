package all_test

import (
	"net/http"
	"strings"
	"testing"

	"tiltyard/shared/storage/objectstore/memstore"
)

func TestBranchesAreServed(t *testing.T) {
	each(t, func(t *testing.T, s *server) {
		s.ok("/v1/table/t/create", stream(t, 0, 10))
		first := s.ok("/v1/table/t/branches/create", `{"name":"dev"}`)
		s.ok("/v1/table/t/insert?branch=dev", stream(t, 10, 5))
		gone := s.ok("/v1/table/t/delete", `{"predicate":"id < 3","branch":"dev"}`)
		for body, want := range map[string]int{`{}`: 10, `{"branch":"main"}`: 10, `{"branch":""}`: 10, `{"branch":"dev"}`: 12} {
			if got := len(s.ids("t", body)); got != want {
				t.Errorf("%s: got %d rows, want %d", body, got, want)
			}
		}
		for _, made := range []map[string]any{first, gone} {
			id, _ := made["transaction_id"].(string)
			told := s.ok("/v1/transaction/"+id+"/describe", "{}")
			if properties, _ := told["properties"].(map[string]any); properties["branch"] != "dev" {
				t.Errorf("transaction %s: got %v, want one of branch dev", id, told)
			}
		}
		s.ok("/v1/table/t/branches/delete", `{"name":"dev"}`)
		s.fails("/v1/transaction/"+gone["transaction_id"].(string)+"/describe", "{}", http.StatusNotFound, 10, "")
		if got := len(s.ids("t", `{}`)); got != 10 {
			t.Errorf("the table has %d rows after its branch was deleted, want 10", got)
		}
	})
}

func TestBranchesThatAreMissingAreRefused(t *testing.T) {
	s := serve(t, "memory://test", memstore.New())
	s.ok("/v1/table/t/create", stream(t, 0, 10))
	s.ok("/v1/table/d/declare", "{}")
	s.ok("/v1/table/t/branches/create", `{"name":"dev"}`)
	s.ok("/v1/table/t/branches/create", `{"name":"dev/two","from_branch":"dev"}`)
	s.fails("/v1/table/t/branches/create", `{"name":"dev"}`, http.StatusConflict, 23, "dev")
	s.fails("/v1/table/t/branches/create", `{"name":"a..b"}`, http.StatusBadRequest, 13, "a..b")
	s.fails("/v1/table/t/branches/create", `{"name":"n","from_branch":"x"}`, http.StatusNotFound, 22, "x")
	s.fails("/v1/table/t/branches/create", `{"name":"n","from_version":9}`, http.StatusNotFound, 11, "version")
	s.fails("/v1/table/d/branches/create", `{"name":"n"}`, http.StatusNotFound, 4, "no data")
	s.fails("/v1/table/x/branches/create", `{"name":"n"}`, http.StatusNotFound, 4, "x")
	s.fails("/v1/table/t/branches/delete", `{"name":"dev"}`, http.StatusBadRequest, 13, "dev/two")
	s.fails("/v1/table/t/branches/delete", `{"name":"x"}`, http.StatusNotFound, 22, "x")
	for operation, body := range map[string]string{
		"query": `{}`, "count_rows": `{}`, "describe": `{}`, "stats": `{}`, "version/describe": `{}`,
		"restore": `{"version":1}`, "delete": `{"predicate":"true"}`, "update": `{"updates":[["x","1.0"]]}`,
		"add_columns": `{"new_columns":[{"name":"y","expression":"1"}]}`, "alter_columns": `{"alterations":[{"path":"x","rename":"y"}]}`,
		"drop_columns": `{"columns":["x"]}`, "update_field_metadata": `{"updates":[{"path":"x","metadata":{"a":"b"}}]}`,
		"tags/create": `{"tag":"a","version":1}`,
	} {
		body = strings.Replace(strings.Replace(body, "{", `{"branch":"gone",`, 1), ",}", "}", 1)
		s.fails("/v1/table/t/"+operation, body, http.StatusNotFound, 22, "gone")
		if strings.HasPrefix(operation, "version") || operation == "query" || operation == "delete" {
			s.fails("/v1/table/d/"+operation, body, http.StatusNotFound, 22, "gone")
		}
	}
	s.fails("/v1/table/t/version/list?branch=gone", `{}`, http.StatusNotFound, 22, "gone")
	for _, path := range []string{"t/insert?branch=gone", "d/insert?branch=gone", "t/merge_insert?on=id&when_matched_update_all=true&branch=gone"} {
		s.fails("/v1/table/"+path, stream(t, 0, 1), http.StatusNotFound, 22, "gone")
	}
	s.fails("/v1/table/t/schema_metadata/update?branch=gone", `{"a":"b"}`, http.StatusNotFound, 22, "gone")
}
