package tableapi_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
)

func TestRenameNamesTheNewID(t *testing.T) {
	cases := []struct {
		body string
		want []string // nil: refused
	}{
		{`{"new_table_name":"u"}`, []string{"a", "b", "u"}},
		{`{"new_table_name":"u","new_namespace_id":null}`, []string{"a", "b", "u"}},
		{`{"new_table_name":"u","new_namespace_id":[]}`, []string{"a", "b", "u"}},
		{`{"new_table_name":"u","new_namespace":[]}`, []string{"a", "b", "u"}},
		{`{"new_table_name":"u","new_namespace":["c"],"new_namespace_id":[]}`, []string{"c", "u"}},
		{`{"new_table_name":"u","new_namespace":["$"]}`, []string{"u"}},
		{`{"new_table_name":"u","new_namespace_id":["$"]}`, []string{"u"}},
		{`{"new_table_name":"u","new_namespace_id":["c$d"]}`, []string{"c", "d", "u"}},
		{`{"new_table_name":"u","new_namespace_id":["c"]}`, []string{"c", "u"}},
		{`{"new_table_name":"u","new_namespace":["c","d"]}`, []string{"c", "d", "u"}},
		{`{"new_table_name":"u","new_namespace":["c"],"new_namespace_id":["c"]}`, []string{"c", "u"}},
		{`{"new_table_name":"u","new_namespace":["c"],"new_namespace_id":["d"]}`, nil},
		{`{"new_table_name":"a$b"}`, nil},
		{`{"new_table_name":"u","new_namespace_id":[""]}`, nil},
		{`{"new_table_name":""}`, nil},
		{`{}`, nil},
	}
	for _, tc := range cases {
		var req tableapi.RenameRequest
		if err := json.Unmarshal([]byte(tc.body), &req); err != nil {
			t.Fatal(err)
		}
		req.ID = []string{"a", "b", "t"}
		if err := req.Validate(); err != nil || tc.want == nil {
			if tc.want != nil || err == nil || protocol.CodeOf(err) != protocol.InvalidInput {
				t.Errorf("%s: got %v, want the id %q", tc.body, err, tc.want)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, req.NewID()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.body, diff)
		}
		if len(req.ID) != 3 || req.ID[2] != "t" {
			t.Errorf("%s changed the id of the request to %q", tc.body, req.ID)
		}
	}
}
