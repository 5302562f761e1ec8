package all_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// names reads a list page by page.
func (s *limited) names(group, path, field string, limit int) (pages [][]string) {
	s.t.Helper()
	token := ""
	for {
		body := fmt.Sprintf(`{"limit":%d,"page_token":%q}`, limit, token)
		var answer map[string]any
		if err := json.Unmarshal([]byte(s.must(group, path, body)), &answer); err != nil {
			s.t.Fatal(err)
		}
		page := []string{}
		for _, name := range answer[field].([]any) {
			page = append(page, name.(string))
		}
		pages = append(pages, page)
		if token, _ = answer["page_token"].(string); token == "" {
			return pages
		}
	}
}

func TestListsLeaveOutWhatIsHidden(t *testing.T) {
	s := serveLimited(t)
	s.populate()
	for i := range 4 { // t00 to t34, of which listers see t02, t12, t22 and t32
		for j := range 5 {
			s.must("admins", fmt.Sprintf("/v1/table/t%d%d/declare", i, j), "{}")
		}
	}
	for _, limit := range []int{1, 2, 3, 4, 5} {
		want := slices.Collect(slices.Chunk([]string{"t02", "t12", "t22", "t32"}, limit))
		if diff := cmp.Diff(want, s.names("listers", "/v1/namespace/$/table/list", "tables", limit)); diff != "" {
			t.Errorf("tables by pages of %d (-want +got):\n%s", limit, diff)
		}
		if diff := cmp.Diff(want, s.names("listers", "/v1/table", "tables", limit)); diff != "" {
			t.Errorf("all tables by pages of %d (-want +got):\n%s", limit, diff)
		}
	}
	for group, want := range map[string][]string{
		"readers": {"oak$in$deep", "oak$t"}, "nobody": {}, "askers": {},
	} {
		if diff := cmp.Diff([][]string{want}, s.names(group, "/v1/table", "tables", 100)); diff != "" {
			t.Errorf("all tables for %s (-want +got):\n%s", group, diff)
		}
	}
	if diff := cmp.Diff([][]string{{"t"}}, s.names("readers", "/v1/namespace/oak/table/list", "tables", 1)); diff != "" {
		t.Errorf("tables of oak for readers (-want +got):\n%s", diff)
	}
}

// A request that names several tables is allowed when the sender may change each of them, and a
// hidden table counts as missing.
func TestBatchesAskAboutEachTable(t *testing.T) {
	cases := []struct {
		name, group, body string
		status            int
		says              string
	}{
		{"a permitted one", "writers", `{"operations":[{"deregister_table":{"id":["oak","t"]}}]}`, 200, ""},
		{"a hidden one", "writers", `{"operations":[{"deregister_table":{"id":["oak","secret"]}}]}`, 404, "table oak$secret does not exist"},
		{"a missing one", "writers", `{"operations":[{"deregister_table":{"id":["oak","none"]}}]}`, 404, "table oak$none does not exist"},
		{"one in a hidden namespace", "writers", `{"operations":[{"deregister_table":{"id":["elm","x"]}}]}`, 404, "namespace elm does not exist"},
		{"one that may only be read", "readers", `{"operations":[{"deregister_table":{"id":["oak","t"]}}]}`, 403, "DeregisterTable"},
		{"a permitted and a hidden one", "writers", `{"operations":[{"deregister_table":{"id":["oak","t"]}},{"deregister_table":{"id":["elm","x"]}}]}`, 404, "namespace elm"},
		{"a declaration elsewhere", "writers", `{"operations":[{"declare_table":{"id":["elm","new"]}}]}`, 403, "DeclareTable"},
		{"a declaration at a place", "writers", `{"operations":[{"declare_table":{"id":["oak","new"],"location":"elsewhere"}}]}`, 403, "UseLocation"},
		{"a declaration", "writers", `{"operations":[{"declare_table":{"id":["oak","new"]}}]}`, 200, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := serveLimited(t)
			s.populate()
			before := s.content()
			status, answer := s.as(c.group, http.MethodPost, "/v1/table/batch-commit", c.body)
			if status != c.status || !strings.Contains(answer, c.says) {
				t.Errorf("got %d %s, want %d and %q", status, answer, c.status, c.says)
			}
			after := s.content()
			for key := range before {
				if c.status != http.StatusOK && after[key] == "" {
					t.Errorf("%s is gone", key)
				}
			}
		})
	}
}

func TestHiddenNamespacesGetNothingNew(t *testing.T) {
	s := serveLimited(t)
	s.populate()
	for path, body := range map[string]string{
		"/v1/table/elm$new/declare":          `{}`,
		"/v1/namespace/elm$new/create":       `{}`,
		"/v1/table/oak$t/rename":             `{"new_table_name":"new","new_namespace_id":["elm"]}`,
		"/v1/table/oak$new/declare":          `{"location":"elsewhere"}`,
		"/v1/table/oak$new/register":         `{"location":"../outside"}`,
		"/v1/table/none$none$none/declare":   `{}`,
		"/v1/table/oak$secret/declare":       `{}`,
		"/v1/table/oak$t/rename?delimiter=$": `{"new_table_name":"secret"}`,
	} {
		before := s.content()
		status, answer := s.as("writers", http.MethodPost, path, body)
		if status != http.StatusForbidden && !strings.Contains(answer, "location not accepted") {
			t.Errorf("%s %s: %d %s, want 403", path, body, status, answer)
		}
		if diff := cmp.Diff(before, s.content()); diff != "" {
			t.Errorf("%s changed (-before +after):\n%s", path, diff)
		}
	}
}

// A cascade also drops hidden objects, so it is allowed only if its sender may drop them.
func TestCascadesDropNothingThatIsForbidden(t *testing.T) {
	s := serveLimited(t)
	s.populate()
	cascade := `{"behavior":"Cascade"}`
	for _, attempt := range []struct{ path, body string }{
		{"/v1/namespace/oak/drop", cascade}, {"/v1/namespace/oak/drop", "{}"}, {"/v1/namespace/oak/create", `{"mode":"Overwrite"}`},
	} {
		before := s.content()
		status, answer := s.as("writers", http.MethodPost, attempt.path, attempt.body)
		if status != http.StatusConflict || strings.Contains(answer, "secret") {
			t.Errorf("%s: %d %s, want 409 without the name", attempt.path, status, answer)
		}
		for key, etag := range before {
			if after := s.content(); after[key] == "" || !strings.Contains(key, "/n/") && after[key] != etag {
				t.Errorf("%s %s changed %s", attempt.path, attempt.body, key)
			}
		}
	}
	if status, answer := s.as("writers", http.MethodPost, "/v1/namespace/oak$in/drop", cascade); status != http.StatusOK {
		t.Errorf("of what is all permitted: %d %s, want 200", status, answer)
	}
}

func TestTransactionsOfHiddenTablesAreHidden(t *testing.T) {
	s := serveLimited(t)
	s.populate()
	begin := func(id string) string {
		var answer struct {
			JobID string `json:"job_id"`
		}
		if err := json.Unmarshal([]byte(s.must("admins", "/v1/table/"+id+"/maintain", "{}")), &answer); err != nil {
			t.Fatal(err)
		}
		return answer.JobID
	}
	open, hidden := begin("oak$t"), begin("oak$secret")
	missing := strings.Repeat("0", len(hidden))
	for path, body := range map[string]string{
		"/v1/transaction/ID/describe": `{}`,
		"/v1/transaction/ID/alter":    `{"actions":[{"set_property_action":{"key":"k","value":"v"}}]}`,
		"/v1/jobs/describe":           `{"job_id":"ID"}`,
		"/v1/jobs/cancel":             `{"job_id":"ID"}`,
		"/v1/jobs/pause":              `{"job_id":"ID"}`,
		"/v1/jobs/resume":             `{"job_id":"ID"}`,
	} {
		ask := func(id string) (int, string) {
			status, answer := s.as("writers", http.MethodPost, strings.ReplaceAll(path, "ID", id), strings.ReplaceAll(body, "ID", id))
			return status, strings.ReplaceAll(answer, id, "ID")
		}
		before := s.content()
		status, answer := ask(hidden)
		wantStatus, want := ask(missing)
		if status != wantStatus || answer != want || status != http.StatusNotFound {
			t.Errorf("%s of a hidden table: %d %s, want %d %s", path, status, answer, wantStatus, want)
		}
		if diff := cmp.Diff(before, s.content()); diff != "" {
			t.Errorf("%s changed (-before +after):\n%s", path, diff)
		}
		if status, answer := s.as("readers", http.MethodPost, strings.ReplaceAll("/v1/transaction/ID/alter", "ID", open), `{"actions":[{"set_property_action":{"key":"k","value":"v"}}]}`); status != http.StatusForbidden {
			t.Errorf("altering what may be read: %d %s, want 403", status, answer)
		}
		if status, answer := ask(open); status != http.StatusOK {
			t.Errorf("%s of a permitted one: %d %s, want 200", path, status, answer)
		}
	}
	listed := s.must("writers", "/v1/jobs/list", "{}")
	if !strings.Contains(listed, open) || strings.Contains(listed, hidden) {
		t.Errorf("jobs are %s, want %s and not %s", listed, open, hidden)
	}
}

func TestListsLeaveOutHiddenSecrets(t *testing.T) {
	s := serveLimited(t)
	s.populate()
	s.populateSecrets()
	for group, want := range map[string]string{
		"admins": `{"secrets":[{"name":"secret"},{"name":"t"}]}`, "readers": `{"secrets":[{"name":"t"}]}`, "writers": `{"secrets":[{"name":"t"}]}`,
	} {
		if got := strings.TrimSpace(s.must(group, "/v1/namespace/oak/secret/list", "{}")); got != want {
			t.Errorf("%s: got %s, want %s", group, got, want)
		}
	}
	// A secret that writers may not drop keeps its namespace, even when all tables could be dropped.
	s.must("admins", "/v1/table/oak$secret/drop", "{}")
	status, answer := s.as("writers", http.MethodPost, "/v1/namespace/oak/drop", `{"behavior":"Cascade"}`)
	if status != http.StatusConflict || strings.Contains(answer, "secret") {
		t.Errorf("cascade of writers: %d %s, want 409 without the name", status, answer)
	}
	s.must("admins", "/v1/namespace/oak/secret/list", "{}")
}
