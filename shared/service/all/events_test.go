package all_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

// undelayed is a queue whose messages wait until the test does them, whatever their delay.
type undelayed struct {
	jobs.Queue
	mu      sync.Mutex // held while a message is added: several requests may send at once
	waiting []jobs.Message
}

func (q *undelayed) Send(_ context.Context, _ time.Duration, messages ...jobs.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, messages...)
	return nil
}

func (q *undelayed) work(t *testing.T, w *jobs.Worker) {
	t.Helper()
	for len(q.waiting) > 0 {
		next := q.waiting[0]
		q.waiting = q.waiting[1:]
		if err := w.Do(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
}

const oakAndElm = `
permit (principal in Group::"admins", action, resource);
permit (principal in Group::"oaks", action, resource in Namespace::"oak");
permit (principal in Group::"elms", action, resource in Namespace::"elm");
permit (principal in Group::"clerks", action in [Action::"DescribeTable", Action::"ListTables"], resource);
forbid (principal, action == Action::"ListEvents", resource == Table::"elm$hidden") unless { principal in Group::"admins" };
`

// announced is a server with two tenants that announces changes.
func announced(t *testing.T, source string) (s *limited, settle func()) {
	t.Helper()
	s = &limited{t: t, store: memstore.New()}
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: s.store})
	if err != nil {
		t.Fatal(err)
	}
	queue := new(undelayed)
	services := all.Open(tables.Stores{
		Objects: roots, Now: time.Now, Records: objectrecord.Open(s.store, time.Now), Queue: queue, EventSource: source,
	}, all.Options{Logger: slog.New(slog.DiscardHandler)})
	policies := auth.OpenPolicies(func(context.Context) ([]byte, error) { return []byte(oakAndElm), nil }, time.Now)
	s.handler = httpapi.Handler(services.Routes, httpapi.Options{Verifier: groups{}, Policies: policies})
	return s, func() { t.Helper(); queue.work(t, services.Worker) }
}

// events returns the events that a group is shown, in short, and the answer's cursor.
func (s *limited) events(group, body string) (list []string, cursor string) {
	s.t.Helper()
	var answer eventapi.ListResponse
	if err := json.Unmarshal([]byte(s.must(group, "/v1/event/list", body)), &answer); err != nil {
		s.t.Fatal(err)
	}
	for _, e := range answer.Events {
		list = append(list, strings.TrimPrefix(string(e.Type), "tiltyard.")+" "+e.Subject)
	}
	return list, answer.Cursor
}

// Each tenant is shown the events of the objects that it may see, and no more; nor does a cursor or a bound tell of
// others.
func TestTenantsSeeTheirOwnEvents(t *testing.T) {
	s, settle := announced(t, "urn:test")
	for _, id := range []string{"first", "oak", "elm"} { // the log begins after the first change
		s.must("admins", "/v1/namespace/"+id+"/create", "{}")
		settle()
	}
	for _, id := range []string{"oak$t", "elm$x", "elm$hidden", "elm$moves"} {
		s.must("admins", "/v1/table/"+id+"/declare", "{}")
		settle()
	}
	s.must("admins", "/v1/table/elm$moves/rename", `{"new_table_name":"moved","new_namespace_id":["oak"]}`)
	s.must("elms", "/v1/table/elm$x/drop", "{}")
	settle()
	oaks := []string{"namespace.created oak", "table.created oak$t"}
	elms := []string{"namespace.created elm", "table.created elm$x", "table.created elm$moves", "table.dropped elm$x"}
	everything := []string{
		"namespace.created oak", "namespace.created elm", "table.created oak$t", "table.created elm$x", "table.created elm$hidden",
		"table.created elm$moves", "table.renamed oak$moved", "table.dropped elm$x",
	}
	for _, c := range []struct {
		group, body string
		want        []string
	}{
		{"admins", `{}`, everything},
		{"oaks", `{}`, oaks},
		{"elms", `{}`, elms},
		{"clerks", `{}`, nil},
		{"oaks", `{"within":["elm"]}`, nil},
		{"elms", `{"within":["elm","x"]}`, []string{"table.created elm$x", "table.dropped elm$x"}},
		{"elms", `{"types":["tiltyard.namespace."]}`, []string{"namespace.created elm"}},
		{"elms", `{"types":["tiltyard.table.dropped","tiltyard.namespace.created"]}`, []string{"namespace.created elm", "table.dropped elm$x"}},
		{"admins", `{"within":["elm","moves"]}`, []string{"table.created elm$moves", "table.renamed oak$moved"}},
		{"admins", `{"cursor":"latest"}`, nil},
	} {
		if got, _ := s.events(c.group, c.body); !slices.Equal(got, c.want) {
			t.Errorf("%s with %s: got %q, want %q", c.group, c.body, got, c.want)
		}
	}
	var got []string
	for cursor, more := "", true; more; {
		page, next := s.events("elms", fmt.Sprintf(`{"cursor":%q,"limit":1}`, cursor))
		if len(page) > 1 {
			t.Errorf("a page of one has %q", page)
		}
		got, more, cursor = append(got, page...), len(page) > 0, next
	}
	if !slices.Equal(got, elms) {
		t.Errorf("one by one: got %q, want %q", got, elms)
	}
}

// Commits to branches have a type of their own and name the branch. Those to a branch that is deleted are announced
// before.
func TestCommitsToBranchesAreAnnounced(t *testing.T) {
	s, settle := announced(t, "urn:test")
	s.must("admins", "/v1/namespace/first/create", "{}") // the log begins after the first change
	settle()
	s.must("admins", "/v1/table/first$t/create", string(stream(t, 0, 10)))
	s.must("admins", "/v1/table/first$t/branches/create", `{"name":"dev"}`)
	s.must("admins", "/v1/table/first$t/insert?branch=dev", string(stream(t, 10, 5)))
	s.must("admins", "/v1/table/first$t/insert?branch=dev", string(stream(t, 15, 5)))
	settle()
	time.Sleep(2 * time.Second) // one look is asked for in a second
	s.must("admins", "/v1/table/first$t/maintain", `{"compact":true}`)
	settle()
	s.must("admins", "/v1/table/first$t/branches/create", `{"name":"short/lived"}`)
	s.must("admins", "/v1/table/first$t/delete", `{"predicate":"id < 3","branch":"short/lived"}`)
	s.must("admins", "/v1/table/first$t/branches/delete", `{"name":"short/lived"}`)

	var answer eventapi.ListResponse
	if err := json.Unmarshal([]byte(s.must("admins", "/v1/event/list", `{"types":["tiltyard.branch."],"within":["first"]}`)), &answer); err != nil {
		t.Fatal(err)
	}
	var got []string
	ids := map[string]bool{}
	for _, e := range answer.Events {
		rows := "?"
		if e.Data.Rows != nil {
			rows = fmt.Sprint(*e.Data.Rows)
		}
		got = append(got, fmt.Sprintf("%s %s@%s %d %s: %s", e.Type, e.Subject, e.Data.Branch, e.Data.Version, e.Data.Operation, rows))
		ids[e.ID] = true
		if describe := "/v1/transaction/" + e.Data.TransactionID + "/describe"; e.Data.Branch == "dev" && !strings.Contains(s.must("admins", describe, "{}"), `"branch":"dev"`) {
			t.Errorf("transaction %s of %+v is not that of the branch", e.Data.TransactionID, e)
		}
	}
	want := []string{
		"tiltyard.branch.committed first$t@dev 1 Clone: 10", "tiltyard.branch.committed first$t@dev 2 Append: 15",
		"tiltyard.branch.committed first$t@dev 3 Append: 20", "tiltyard.branch.committed first$t@dev 4 Rewrite: 20",
		"tiltyard.branch.committed first$t@short/lived 1 Clone: 10", "tiltyard.branch.committed first$t@short/lived 2 Delete: 7",
	}
	if !slices.Equal(got, want) || len(ids) != len(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got, _ := s.events("admins", `{"types":["tiltyard.table.committed"]}`); !slices.Equal(got, []string{"table.committed first$t"}) {
		t.Errorf("commits to the table itself: got %q", got)
	}
}

func TestBadRequestsForEvents(t *testing.T) {
	s, _ := announced(t, "urn:test")
	for body, says := range map[string]string{
		`{"cursor":"1.x"}`:      "is not from this list",
		`{"limit":0}`:           "limit is 0",
		`{"types":["created"]}`: "which begin with tiltyard.",
		`{"types":[` + strings.Repeat(`"tiltyard.a",`, 20) + `"tiltyard.a"]}`: "types has 21 entries",
	} {
		if status, answer := s.as("admins", http.MethodPost, "/v1/event/list", body); status != http.StatusBadRequest || !strings.Contains(answer, says) {
			t.Errorf("%s: %d %s; want 400 and %q", body, status, answer, says)
		}
	}
	off, settle := announced(t, "")
	off.must("admins", "/v1/namespace/oak/create", "{}")
	settle()
	if status, answer := off.as("admins", http.MethodPost, "/v1/event/list", "{}"); status != http.StatusNotImplemented || !strings.Contains(answer, "TILTYARD_EVENTS") {
		t.Errorf("without events: %d %s", status, answer)
	}
	for key := range off.content() {
		if strings.Contains(key, "event") {
			t.Errorf("without events there is %s", key)
		}
	}
}
