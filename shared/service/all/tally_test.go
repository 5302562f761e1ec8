package all_test

import (
	"net/http"
	"testing"

	"tiltyard/shared/http/httpapi"
)

// Each way to write rows reports their number, which quotas and usage count.
func TestWrittenRowsAreCounted(t *testing.T) {
	s, served := serveObserved(t)
	for _, r := range []struct {
		path, body string
		rows       int64
	}{
		{"/v1/namespace/a/create", `{}`, 0},
		{"/v1/sql", `{"query": "CREATE TABLE a.t AS SELECT column1 AS id, column2 AS name FROM (VALUES (1, 'x'), (2, 'y'), (3, 'z'))"}`, 3},
		{"/v1/sql", `{"query": "INSERT INTO a.t VALUES (4, 'v'), (5, 'w')"}`, 2},
		{"/v1/table/a$t/update", `{"updates": [["name", "'n'"]], "predicate": "id > 2"}`, 3},
		{"/v1/table/a$t/delete", `{"predicate": "id = 1"}`, 1},
		{"/v1/sql", `{"query": "DELETE FROM a.t WHERE id < 4"}`, 2},
		{"/v1/table/a$t/count_rows", `{}`, 0},
		{"/v1/table/a$t/query", `{"k": 10, "columns": ["id"]}`, 0},
	} {
		*served = nil
		if status, answer := s.as("admins", http.MethodPost, r.path, r.body); status != http.StatusOK {
			t.Fatalf("%s %s: %d %s", r.path, r.body, status, answer)
		}
		if got := (*served)[0]; got.Wrote != r.rows || got.Tenant != "iss#sub-admins" {
			t.Errorf("%s %s: %d rows of %s, want %d", r.path, r.body, got.Wrote, got.Tenant, r.rows)
		}
	}
}

// serveObserved is serveLimited without policies, and the requests that it has served.
func serveObserved(t *testing.T) (*limited, *[]*httpapi.Served) {
	t.Helper()
	s, served := serveLimited(t), new([]*httpapi.Served)
	s.handler = httpapi.Handler(s.routes, httpapi.Options{Verifier: groups{}, Observe: func(s *httpapi.Served) { *served = append(*served, s) }})
	return s, served
}
