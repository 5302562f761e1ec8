package all_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A revocations is a history of grants, revocations, views, refreshes, pauses and inserts. Two tenants define views in
// namespaces of their own over tables that they may read for some time. The administrator, who may do everything, refreshes
// whatever there is.
//
// The oracle: all rows at a place of a tenant are rows that the tenant could read in the source of the place at some
// time, because they were there while he had the right.
type revocations struct {
	*staffedServer
	rng      *rand.Rand
	rows     map[string][]int64                   // of each source, by id
	granted  map[string]map[string]bool           // sources by tenant
	readable map[string]map[string]map[int64]bool // rows by source, by tenant
	places   []place
	jobs     []string
	next     int64
	told     []string // the history, for failures
}

// A place is a table of a tenant, whose rows come from a source.
type place struct{ tenant, table, source string }

var definers, sources = []string{"ann", "bob"}, []string{"src$a", "src$b"}

func newRevocations(t *testing.T, seed uint64) *revocations {
	m := &revocations{staffedServer: openStaffedServer(t), rng: rand.New(rand.NewPCG(seed, 0)), next: 100,
		rows:    map[string][]int64{"src$a": {1, 2}, "src$b": {3}},
		granted: map[string]map[string]bool{}, readable: map[string]map[string]map[int64]bool{}}
	for _, tenant := range definers {
		m.granted[tenant], m.readable[tenant] = map[string]bool{}, map[string]map[int64]bool{}
		for _, source := range sources {
			m.readable[tenant][source] = map[int64]bool{}
		}
		m.must("/v1/namespace/"+tenant+"/create", nil)
	}
	for _, tenant := range definers {
		m.grant(tenant, "src$a", true)
		m.define(tenant, "src$a", true)
	}
	return m
}

func (m *revocations) tell(format string, args ...any) {
	m.told = append(m.told, fmt.Sprintf(format, args...))
}

// as sends a request, whatever comes of it, and keeps the job that it begins.
func (m *revocations) as(group, path, body string) int {
	status, answer := m.send(group, path, []byte(body))
	m.tell("%s %s %s: %d", group, path, body, status)
	if id, ok := answer["job_id"].(string); ok {
		m.jobs = append(m.jobs, id)
	}
	return status
}

// grant gives or takes away the right to read a source. Policies count a minute later.
func (m *revocations) grant(tenant, source string, given bool) {
	m.tell("%s may read %s: %v", tenant, source, given)
	m.granted[tenant][source] = given
	text := `permit (principal in Group::"admin", action, resource);`
	for _, tenant := range definers {
		text += fmt.Sprintf("\npermit (principal in Group::%q, action, resource in Namespace::%[1]q);", tenant)
		for _, source := range sources {
			if m.granted[tenant][source] {
				text += fmt.Sprintf("\npermit (principal in Group::%q, action in Action::\"read\", resource == Table::%q);", tenant, source)
			}
		}
	}
	m.policies = text
	time.Sleep(2 * time.Minute)
	m.see()
}

// see notes what tenants can read now.
func (m *revocations) see() {
	for _, tenant := range definers {
		for _, source := range sources {
			if m.granted[tenant][source] {
				for _, row := range m.rows[source] {
					m.readable[tenant][source][row] = true
				}
			}
		}
	}
}

func sqlOf(source string) string { return "SELECT id FROM " + strings.ReplaceAll(source, "$", ".") }

// define makes a view, in the form of either client.
func (m *revocations) define(tenant, source string, auto bool) {
	m.next++
	name := fmt.Sprintf("%s$v%d", tenant, m.next)
	body := fmt.Sprintf(`{"query":%q,"auto_refresh":%v}`, sqlOf(source), auto)
	if m.rng.IntN(3) == 0 {
		body = fmt.Sprintf(`{"kind":"query","source_query":%q,"output_schema":%q,"with_no_data":false,"auto_refresh":%v}`, sqlOf(source), idSchema(m.t), auto)
	}
	if status := m.as(tenant, "/v1/materialized_view/"+name+"/create", body); status < http.StatusMultipleChoices {
		m.places = append(m.places, place{tenant, name, source})
	}
}

// plant makes a table that looks like a view, or gives a view another definition.
func (m *revocations) plant(tenant, source string) {
	definition := fmt.Sprintf(`{"format":1,"kind":"query","query":%q}`, sqlOf(source))
	if own := m.placesOf(tenant); len(own) > 0 && m.rng.IntN(3) == 0 {
		at := own[m.rng.IntN(len(own))]
		m.as(tenant, "/v1/table/"+at.table+"/schema_metadata/update", fmt.Sprintf(`{"mv.definition":%q}`, definition))
		return
	}
	m.next++
	name := fmt.Sprintf("%s$trap%d", tenant, m.next)
	metadata := map[string]string{"mv.definition": definition, "mv.incarnation": "00000000-0000-0000-0000-000000000001"}
	status, _ := m.send(tenant, "/v1/table/"+name+"/create", encodedIDs(m.t, metadata))
	m.tell("%s plants %s over %s: %d", tenant, name, source, status)
	m.places = append(m.places, place{tenant, name, source})
}

func (m *revocations) placesOf(tenant string) []place {
	return slices.DeleteFunc(slices.Clone(m.places), func(p place) bool { return p.tenant != tenant })
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

// step does something.
func (m *revocations) step() {
	tenant, source := pick(m.rng, definers), pick(m.rng, sources)
	at := pick(m.rng, m.places)
	who := pick(m.rng, []string{"admin", at.tenant})
	job := fmt.Sprintf(`{"job_id":%q}`, pick(m.rng, m.jobs))
	switch m.rng.IntN(10) {
	case 0, 1:
		m.next++
		m.insert(source, m.next)
		m.rows[source] = append(m.rows[source], m.next)
		m.tell("row %d is inserted into %s", m.next, source)
		m.see()
	case 2:
		m.grant(tenant, source, !m.granted[tenant][source])
	case 3:
		m.define(tenant, source, m.rng.IntN(2) == 0)
	case 4:
		m.plant(tenant, source)
	case 5:
		m.as(who, "/v1/materialized_view/"+at.table+"/refresh", `{}`)
	case 6:
		m.as(who, "/v1/jobs/pause", job)
	case 7:
		m.as(who, "/v1/jobs/resume", job)
	default:
		d := time.Duration(m.rng.IntN(20)) * time.Minute
		m.tell("work for %v", d)
		m.work(d)
	}
}

// check compares each place with the oracle.
func (m *revocations) check() {
	m.t.Helper()
	for _, at := range m.places {
		var wrong []int64
		found := 0
		for _, row := range m.rows[at.source] {
			n := m.count(at.table, fmt.Sprintf("id = %d", row))
			found += n
			if n > 0 && !m.readable[at.tenant][at.source][row] {
				wrong = append(wrong, row)
			}
		}
		if all := m.count(at.table, ""); all != found {
			m.t.Errorf("%s has %d rows, and %d of its source", at.table, all, found)
		}
		if len(wrong) > 0 {
			m.t.Fatalf("%s shows rows %v of %s, which %s could never read, after:\n%s", at.table, wrong, at.source, at.tenant, strings.Join(m.told, "\n"))
		}
	}
}

func TestRowsReachNobodyWhoMayNotReadThem(t *testing.T) {
	shown := 0
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			m := newRevocations(t, seed)
			for range 40 {
				m.step()
			}
			for _, id := range m.jobs {
				m.as("admin", "/v1/jobs/resume", fmt.Sprintf(`{"job_id":%q}`, id))
			}
			m.work(time.Hour)
			m.check()
			for _, at := range m.places {
				shown += m.count(at.table, "")
			}
		})
	}
	if shown < 20 {
		t.Errorf("the views show %d rows, too few for a test", shown)
	}
}

// failureOf returns why the last job of a view failed, "" if it did not.
func (w *staffedServer) failureOf(view string) string {
	w.t.Helper()
	described := w.must("/v1/materialized_view/"+view+"/describe", nil)
	_, told := w.sent("/v1/jobs/describe", map[string]any{"job_id": described["last_job_id"]})
	failure, _ := told["failure"].(map[string]any)
	text, _ := failure["message"].(string)
	return text
}

// A view whose definer has lost the right to read its source tells so once, in words that do not tell whether the source
// exists, and goes on when he has the right again.
func TestViewReportsThatItsDefinerMayNotReadItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newRevocations(t, 0)
		view := m.places[1]
		m.work(time.Minute)
		jobs := func() int { return len(m.must("/v1/jobs/list", map[string]any{})["jobs"].([]any)) }
		if n := m.count(view.table, ""); n != 2 {
			t.Fatalf("the view has %d rows, want 2", n)
		}
		m.grant("bob", "src$a", false)
		m.insert("src$a", 50)
		before := jobs()
		for range 5 {
			m.work(time.Hour)
			m.insert("src$a", m.next)
			m.next++
		}
		denied := m.failureOf(view.table)
		if !strings.Contains(denied, "view "+view.table) {
			t.Errorf("the failure is %q, want the name of the view", denied)
		}
		ofAnn := 2 * 5 // the other view goes on
		if begun := jobs() - before; begun < 2 || begun > 1+ofAnn {
			t.Errorf("%d jobs were begun, want one for the refusal beside those of the other view", begun)
		}
		m.must("/v1/table/src$a/drop", nil)
		if status := m.as("bob", "/v1/materialized_view/"+view.table+"/refresh", `{}`); status != http.StatusNotFound {
			t.Errorf("a refresh by the definer: %d, want 404", status)
		}
		m.must("/v1/table/src$a/undrop", nil)
		m.grant("bob", "src$a", true)
		m.work(time.Hour)
		if status := m.as("bob", "/v1/materialized_view/"+view.table+"/refresh", `{}`); status != http.StatusAccepted {
			t.Errorf("a refresh after the grant: %d", status)
		}
		m.work(time.Minute)
		if n, all := m.count(view.table, ""), m.count("src$a", ""); n != all {
			t.Errorf("the view has %d rows after the grant, want %d", n, all)
		}
	})
}

// A definition that no request has brought is run only for a sender who names it, and with the sender's rights.
func TestDefinitionsAreAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newRevocations(t, 0)
		m.plant("bob", "src$b")
		trap := "/v1/materialized_view/" + m.places[len(m.places)-1].table
		for who, want := range map[string]int{"bob": http.StatusNotFound, "admin": http.StatusBadRequest} {
			if status := m.as(who, trap+"/refresh", `{}`); status != want {
				t.Errorf("%s refreshes it: %d, want %d", who, status, want)
			}
		}
		digest := m.must(trap+"/describe", nil)["definition_sha256"]
		if status := m.as("admin", trap+"/refresh", `{"adopt":"0000"}`); status != http.StatusBadRequest {
			t.Errorf("another definition is adopted: %d", status)
		}
		if status := m.as("bob", trap+"/refresh", fmt.Sprintf(`{"adopt":%q}`, digest)); status != http.StatusNotFound {
			t.Errorf("it is adopted by somebody who may not read the source: %d", status)
		}
		if status := m.as("admin", trap+"/refresh", fmt.Sprintf(`{"adopt":%q}`, digest)); status != http.StatusAccepted {
			t.Errorf("it is not adopted: %d", status)
		}
		m.work(0)
		if n := m.count(m.places[len(m.places)-1].table, ""); n != 1 {
			t.Errorf("the view has %d rows after it was adopted, want 1: %s", n, m.failureOf(m.places[len(m.places)-1].table))
		}
		if status := m.as("admin", trap+"/refresh", `{}`); status != http.StatusAccepted {
			t.Errorf("the next refresh: %d", status)
		}
	})
}

func TestClientsDoNotEditDefinitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openStaffedServer(t)
		for _, key := range []string{"mv.definition", "mv.incarnation", "mv.source_version", "mv.view_version", "geneva::view::query", "geneva::view::base_table", "tiltyard.mv"} {
			if status, answer := w.sent("/v1/table/src$a/schema_metadata/update", map[string]string{key: "x"}); status != http.StatusBadRequest || !strings.Contains(fmt.Sprint(answer), key) {
				t.Errorf("%s: %d %v, want 400", key, status, answer)
			}
		}
	})
}
