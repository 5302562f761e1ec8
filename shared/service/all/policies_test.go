package all_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/tables/vending"
)

// groups is a verifier for which a token names the only group of its holder.
type groups struct{}

func (groups) Verify(_ context.Context, token string) (*auth.Principal, error) {
	return &auth.Principal{Subject: "sub-" + token, Issuer: "iss", Groups: []string{token}, Scopes: []string{auth.ScopeWrite}}, nil
}

const testPolicies = `
permit (principal in Group::"admins", action, resource);
permit (principal in Group::"readers", action in Action::"read", resource in Namespace::"oak");
permit (principal in Group::"writers", action, resource in Namespace::"oak");
forbid (principal, action, resource == Table::"oak$secret") unless { principal in Group::"admins" };
forbid (principal, action, resource == Secret::"oak$secret") unless { principal in Group::"admins" };
forbid (principal, action, resource == Function::"oak$secret") unless { principal in Group::"admins" };
permit (principal == User::"iss#sub-askers", action == Action::"QueryTable", resource == Table::"elm$x");
permit (principal in Group::"listers", action in [Action::"ListTables", Action::"ListNamespaces"], resource == Namespace::"$");
permit (principal in Group::"viewers", action == Action::"DescribeTable", resource in Namespace::"oak");
permit (principal in Group::"makers", action in [Action::"DeclareTable", Action::"DescribeNamespace"], resource in Namespace::"oak");
permit (principal in Group::"listers", action in Action::"read", resource) when { resource has name && resource.name like "*2" };
`

// limited is a server with policies, and the stores below it.
type limited struct {
	t       testing.TB
	store   *memstore.Store
	routes  []httpapi.Route
	handler http.Handler
}

func serveLimited(t testing.TB) *limited {
	t.Helper()
	s := &limited{t: t, store: memstore.New()}
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: s.store})
	if err != nil {
		t.Fatal(err)
	}
	policies := auth.OpenPolicies(func(context.Context) ([]byte, error) { return []byte(testPolicies), nil }, time.Now)
	keys, err := secretbox.OpenKeyFile(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	s.routes = all.Open(tables.Stores{
		Objects: roots, Now: time.Now, Records: objectrecord.Open(s.store, time.Now), Queue: new(memqueue.Queue), Vendor: s,
	}, all.Options{Keys: keys}).Routes
	s.handler = httpapi.Handler(s.routes, httpapi.Options{
		Verifier: groups{}, Policies: policies, NewID: func() string { return "request" },
	})
	return s
}

// Vend returns the request in place of credentials.
func (s *limited) Vend(_ context.Context, r vending.Request) (map[string]string, error) {
	return map[string]string{
		"table": protocol.JoinID(r.Table, "$"), "location": r.Location, "write": strconv.FormatBool(r.Write), "holder": r.Holder,
	}, nil
}

// as sends a request as a member of a group.
func (s *limited) as(group, method, path, body string) (status int, answer string) {
	s.t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+group)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// must is as for requests that succeed.
func (s *limited) must(group, path, body string) string {
	s.t.Helper()
	status, answer := s.as(group, http.MethodPost, path, body)
	if status != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", group, path, status, answer)
	}
	return answer
}

// populate makes three namespaces and four tables, none of which has rows.
func (s *limited) populate() {
	s.t.Helper()
	for _, id := range []string{"oak", "elm", "oak$in"} {
		s.must("admins", "/v1/namespace/"+id+"/create", "{}")
	}
	for _, id := range []string{"oak$t", "oak$secret", "oak$in$deep", "elm$x"} {
		s.must("admins", "/v1/table/"+id+"/declare", "{}")
	}
}

// populateSecrets makes a secret beside each table of populate, with its name.
func (s *limited) populateSecrets() {
	s.t.Helper()
	for _, id := range []string{"oak$t", "oak$secret", "oak$in$deep", "elm$x"} {
		s.must("admins", "/v1/secret/"+id+"/create", `{"value":"v"}`)
	}
}

// content is the keys and ETags of everything in the store.
func (s *limited) content() map[string]string {
	s.t.Helper()
	listed, err := s.store.List(s.t.Context(), objectstore.ListOptions{Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]string{}
	for _, object := range listed.Objects {
		all[object.Key] = object.ETag
	}
	return all
}

// This is the model of testPolicies: what each group may do, and which objects it sees.

func inOak(id string) bool { return id == "oak" || strings.HasPrefix(id, "oak$") }

func modelPermits(group string, op protocol.Operation, id string) bool {
	switch group {
	case "admins":
		return true
	case "readers":
		return inOak(id) && id != "oak$secret" && op.Access == protocol.Read
	case "writers":
		return inOak(id) && id != "oak$secret"
	case "askers":
		return op.Name == "QueryTable" && id == "elm$x"
	}
	return false
}

func modelSees(group, id string) bool {
	switch group {
	case "admins":
		return true
	case "readers", "writers":
		return inOak(id) && id != "oak$secret"
	}
	return false
}

// twin returns a name of the same shape as id for an object that does not exist. It keeps the parts
// of the path to id that the group sees.
func twin(group, id string) string {
	parts := strings.Split(id, "$")
	for i := range parts {
		if !modelSees(group, strings.Join(parts[:i+1], "$")) {
			parts[i] = strings.Repeat("z", len(parts[i]))
			break
		}
	}
	return strings.Join(parts, "$")
}

// request is the path and body of an operation on an object.
func request(op protocol.Operation, id string) (path, body string) {
	path = strings.NewReplacer("{id}", id, "{index_name}", "i", "{column}", "c", "{row_id}", "0").Replace(op.Path)
	if op.Name == "MergeInsertIntoTable" {
		path += "?on=c"
	}
	return path, op.LeastBody
}

// served are the operations with an object in their path that are supported here: those on
// transactions name it otherwise.
func served(t *testing.T) []protocol.Operation {
	s := serveLimited(t)
	s.populate()
	return slices.DeleteFunc(slices.Clone(operations.All), func(op protocol.Operation) bool {
		if !strings.Contains(op.Path, "{id}") || strings.HasPrefix(op.Path, "/v1/transaction/") {
			return true
		}
		path, body := request(op, "none$none")
		_, answer := s.as("nobody", op.Methods[0], path, body)
		return strings.Contains(answer, "not supported by this server")
	})
}

// Each group tries each operation on each object, existing or not, and the model predicts the
// result. A denied operation changes nothing, and the answer for a hidden object is, word for word,
// that for a missing one.
func TestPoliciesHoldForEveryOperation(t *testing.T) {
	tables := []string{"oak$t", "oak$secret", "oak$none", "oak$in$deep", "elm$x", "elm$none", "none$none"}
	namespaces := []string{"oak", "oak$in", "oak$none", "elm", "elm$none", "none"}
	for _, op := range served(t) {
		objects := tables
		if strings.HasPrefix(op.Path, "/v1/namespace/") {
			objects = namespaces
		}
		t.Run(op.Name, func(t *testing.T) {
			for _, group := range []string{"readers", "writers", "askers", "nobody"} {
				for _, id := range objects {
					checkDecision(t, op, group, id)
				}
			}
		})
	}
}

func checkDecision(t *testing.T, op protocol.Operation, group, id string) {
	t.Helper()
	s := serveLimited(t)
	s.populate()
	if strings.HasPrefix(op.Path, "/v1/secret/") || op.Name == "ListSecrets" {
		s.populateSecrets()
	}
	path, body := request(op, id)
	before := s.content()
	status, answer := s.as(group, op.Methods[0], path, body)
	where := fmt.Sprintf("%s by %s on %s", op.Name, group, id)
	permitted, sees := modelPermits(group, op, id), modelSees(group, id)
	switch op.Name {
	case "RenameTable": // to a name beside it
		create, _ := operations.Lookup("CreateTable")
		if !modelPermits(group, create, parentOf(id)+"$u") {
			permitted, sees = false, true
		}
	case "RegisterTable", "CloneTable": // at locations that only admins may use
		permitted = false
	}
	if permitted {
		if status == http.StatusForbidden {
			t.Errorf("%s: %d %s, want it permitted", where, status, answer)
		}
		return
	}
	if diff := cmp.Diff(before, s.content()); diff != "" {
		t.Errorf("%s is denied, but changed (-before +after):\n%s", where, diff)
	}
	switch {
	case sees || op.Makes():
		if status != http.StatusForbidden {
			t.Errorf("%s: %d %s, want 403", where, status, answer)
		}
	default:
		other := twin(group, id)
		path, body = request(op, other)
		wantStatus, want := s.as("admins", op.Methods[0], path, body)
		answer = strings.ReplaceAll(answer, id, other)
		answer = strings.ReplaceAll(answer, "namespace "+parentOf(id)+" does", "namespace "+parentOf(other)+" does")
		if status != wantStatus || answer != want {
			t.Errorf("%s is hidden:\n got %d %s\nwant %d %s", where, status, answer, wantStatus, want)
		}
	}
}

func parentOf(id string) string { return id[:max(strings.LastIndex(id, "$"), 0)] }
