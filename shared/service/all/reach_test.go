package all_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/clone"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/tables"
)

const tenantPolicies = `
permit (principal in Group::"admins", action, resource);
permit (principal in Group::"as", action, resource in Namespace::"a");
permit (principal in Group::"bs", action, resource in Namespace::"b");
permit (principal in Group::"guests", action in Action::"read", resource == Table::"a$clone");
permit (principal in Group::"as", action == Action::"UseLocation", resource in Location::"memory://test/landing");
permit (principal in Group::"bs", action == Action::"UseLocation", resource in Location::"memory://test/landing");
`

// tenants is a server of two tenants that share a landing folder, and the stores below it.
type tenants struct {
	limited
	roots   *objectstore.Roots
	session *dataset.Session // of a user with native Lance who may write to the landing folder
}

func serveTenants(t *testing.T, policies string) *tenants {
	t.Helper()
	s := &tenants{limited: limited{t: t, store: memstore.New()}}
	var err error
	if s.roots, err = objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: s.store}); err != nil {
		t.Fatal(err)
	}
	s.session = dataset.NewSession(0, time.Now)
	s.session.Roots = s.roots
	options := httpapi.Options{Verifier: groups{}, NewID: func() string { return "request" }}
	if policies != "" {
		options.Policies = auth.OpenPolicies(func(context.Context) ([]byte, error) { return []byte(policies), nil }, time.Now)
	}
	s.handler = httpapi.Handler(all.Routes(tables.Stores{Objects: s.roots, Now: time.Now}, arrowipc.Limits{}), options)
	for _, id := range []string{"a", "b"} {
		s.must("admins", "/v1/namespace/"+id+"/create", "{}")
	}
	s.must("as", "/v1/table/a$secret/create", string(stream(t, 0, 10)))
	return s
}

// location returns where a table is.
func (s *tenants) location(group, id string) objectstore.Location {
	s.t.Helper()
	_, rest, _ := strings.Cut(s.must(group, "/v1/table/"+id+"/describe", "{}"), `"location":"`)
	uri, _, _ := strings.Cut(rest, `"`)
	at, err := s.roots.Resolve(uri)
	if err != nil {
		s.t.Fatal(err)
	}
	return at
}

// land makes a native clone of a table in the landing folder.
func (s *tenants) land(name string, source objectstore.Location) {
	s.t.Helper()
	from, err := s.session.Table(source, 0).Latest(s.t.Context())
	if err == nil {
		_, err = clone.Shallow(s.t.Context(), from, s.session.Table(s.roots.Join("landing/"+name), 0), "")
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// blobAt is a row of an id and a blob that is at a URI.
func blobAt(uri string) arrow.RecordBatch {
	kind := arrow.StructOf(
		arrow.Field{Name: "data", Type: arrow.BinaryTypes.LargeBinary, Nullable: true},
		arrow.Field{Name: "uri", Type: arrow.BinaryTypes.String, Nullable: true},
	)
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "blob", Type: kind, Nullable: true, Metadata: arrow.NewMetadata([]string{"ARROW:extension:name"}, []string{"lance.blob.v2"})},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Int64Builder).Append(0)
	value := b.Field(1).(*array.StructBuilder)
	value.Append(true)
	value.FieldBuilder(0).AppendNull()
	value.FieldBuilder(1).(*array.StringBuilder).Append(uri)
	return b.NewRecordBatch()
}

// landBlob makes a table in the landing folder with a blob that is at a URI.
func (s *tenants) landBlob(name, uri string) {
	s.t.Helper()
	row := blobAt(uri)
	rows := dataset.Rows{Schema: row.Schema(), Trusted: true, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(row, nil) }}
	if _, err := s.session.Table(s.roots.Join("landing/"+name), 0).Create(s.t.Context(), rows); err != nil {
		s.t.Fatal(err)
	}
}

func (s *tenants) register(group, id, place string) {
	s.t.Helper()
	s.must(group, "/v1/table/"+id+"/register", fmt.Sprintf(`{"location":"memory://test/landing/%s"}`, place))
}

// reads returns the status of a read of all rows of a table.
func (s *tenants) reads(group, id string) int {
	status, _ := s.as(group, http.MethodPost, "/v1/table/"+id+"/query", `{"k":100,"vector":[]}`)
	return status
}

// A principal that may use a folder cannot use a table in it to read files that it may not read
// otherwise.
func TestTablesLendNobodysRights(t *testing.T) {
	s := serveTenants(t, tenantPolicies)
	secret := s.location("as", "a$secret")
	s.land("evil", secret)
	s.land("fair", secret)
	s.register("bs", "b$evil", "evil")
	s.register("as", "a$fair", "fair")
	for _, path := range []string{"query", "count_rows", "insert", "stats"} {
		body := map[string]string{"query": `{"k":100,"vector":[]}`, "count_rows": `{"predicate":"id > 1"}`, "stats": "{}", "insert": string(stream(t, 0, 1))}[path]
		status, answer := s.as("bs", http.MethodPost, "/v1/table/b$evil/"+path, body)
		if path != "insert" && status != http.StatusForbidden {
			t.Errorf("%s of what is another tenant's: %d %s, want 403", path, status, answer)
		}
		if strings.Contains(answer, secret.Prefix) {
			t.Errorf("%s tells the other tenant's place: %s", path, answer)
		}
	}
	if got := s.reads("as", "a$fair"); got != http.StatusOK {
		t.Errorf("a clone of what its reader may read: %d, want 200", got)
	}
	// A warm process has cached the files for principals that may read them, and gives them to no
	// others.
	if got := s.reads("as", "a$secret"); got != http.StatusOK {
		t.Fatalf("the table itself: %d", got)
	}
	if got := s.reads("bs", "b$evil"); got != http.StatusForbidden {
		t.Errorf("the same by a warm process: %d, want 403", got)
	}
	// A clone, a branch and the clone of a clone do not help.
	for path, body := range map[string]string{
		"b$c/clone":              fmt.Sprintf(`{"source_location":%q}`, secret.URI),
		"b$d/clone":              `{"source_location":"memory://test/landing/evil"}`,
		"b$e/clone":              `{"source_location":"memory://test/landing/fair"}`,
		"b$f/register":           fmt.Sprintf(`{"location":%q}`, secret.URI),
		"b$g/register":           `{"location":"memory://test/landing/fair"}`,
		"b$h/clone":              `{"source_location":"memory://test/_catalog"}`,
		"b$evil/branches/create": `{"name":"x"}`,
	} {
		if status, answer := s.as("bs", http.MethodPost, "/v1/table/"+path, body); status != http.StatusForbidden && status != http.StatusBadRequest {
			t.Errorf("%s: %d %s, want a refusal", path, status, answer)
		}
	}
}

// A table that refers to a folder outside of the server's roots is at fault, not the server.
func TestFilesOutsideOfTheRootsAreAFaultOfTheTable(t *testing.T) {
	s := serveTenants(t, tenantPolicies)
	outside := objectstore.Location{URI: "memory://elsewhere/t.lance", Store: memstore.New(), Prefix: "t.lance"}
	row := blobAt("memory://test/landing/loose")
	rows := dataset.Rows{Schema: row.Schema(), Trusted: true, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(row, nil) }}
	if _, err := s.session.Table(outside, 0).Create(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	s.land("far", outside)
	s.register("admins", "a$far", "far")
	status, answer := s.as("admins", http.MethodPost, "/v1/table/a$far/query", `{"k":100,"vector":[]}`)
	if status != http.StatusUnprocessableEntity || !strings.Contains(answer, `"type":"/errors/damaged-table"`) || strings.Contains(answer, "elsewhere") {
		t.Errorf("got %d %s, want 422 without the place", status, answer)
	}
}

// Every principal that may read a clone made by the service can read its files, because its maker
// could read the source.
func TestClonesLendTheRightOfTheirMaker(t *testing.T) {
	s := serveTenants(t, tenantPolicies)
	body := fmt.Sprintf(`{"source_location":%q}`, s.location("as", "a$secret").URI)
	s.must("as", "/v1/table/a$clone/clone", body)
	s.must("as", "/v1/table/a$again/clone", fmt.Sprintf(`{"source_location":%q}`, s.location("as", "a$clone").URI))
	for _, as := range [][2]string{{"as", "a$clone"}, {"guests", "a$clone"}, {"as", "a$again"}} {
		if got := s.reads(as[0], as[1]); got != http.StatusOK {
			t.Errorf("%s reads %s: %d, want 200", as[0], as[1], got)
		}
	}
	if got := s.reads("guests", "a$secret"); got != http.StatusNotFound {
		t.Errorf("a guest reads the source: %d, want 404", got)
	}
}

// A principal that may read all tables can also read tables that refer to others and have no right
// of their own, even if the others have new names.
func TestReaderOfAllTablesIsNotLockedOut(t *testing.T) {
	s := serveTenants(t, tenantPolicies)
	s.land("evil", s.location("as", "a$secret"))
	s.register("bs", "b$evil", "evil")
	for _, step := range []string{"at first", "warm", "renamed"} {
		if step == "renamed" {
			s.must("as", "/v1/table/a$secret/rename", `{"new_table_name":"other"}`)
		}
		if got := s.reads("admins", "b$evil"); got != http.StatusOK {
			t.Errorf("%s: who may read all reads it: %d, want 200", step, got)
		}
		if got := s.reads("bs", "b$evil"); got != http.StatusForbidden {
			t.Errorf("%s: who may not read the other table: %d, want 403", step, got)
		}
	}
}

// Metadata that makes a blob column of structs with a "uri" lends the caller no right of the server.
func TestStructsThatAreMarkedAsBlobsLendNoRights(t *testing.T) {
	s := serveTenants(t, tenantPolicies)
	secret := s.location("as", "a$secret").Prefix + "/x"
	if _, err := s.store.Put(t.Context(), secret, []byte("content of a secret"), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	row := blobAt("memory://test/" + secret)
	fields := slices.Clone(row.Schema().Fields())
	fields[1].Metadata = arrow.Metadata{}
	row = array.NewRecordBatch(arrow.NewSchema(fields, nil), row.Columns(), row.NumRows())
	rows := dataset.Rows{Schema: row.Schema(), Trusted: true, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(row, nil) }}
	if _, err := s.session.Table(s.roots.Join("landing/structs"), 0).Create(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	s.register("bs", "b$structs", "structs")
	s.as("bs", http.MethodPost, "/v1/table/b$structs/update_field_metadata", `{"updates":[{"path":"blob","metadata":{"ARROW:extension:name":"lance.blob.v2"}}]}`)
	for path, body := range map[string]string{"fetch_blobs": `{"column":"blob","row_ids":[0]}`, "query": `{"k":10,"vector":[]}`} {
		status, answer := s.as("bs", http.MethodPost, "/v1/table/b$structs/"+path, body)
		if strings.Contains(answer, "content of a secret") {
			t.Errorf("%s: %d %q", path, status, answer)
		}
	}
}

// Only a principal that may read the file of a blob can read the blob, no matter which table refers
// to it.
func TestBlobsElsewhereAreReadByRight(t *testing.T) {
	s := serveTenants(t, tenantPolicies)
	ctx := t.Context()
	put := func(key string) {
		if _, err := s.store.Put(ctx, key, []byte("content of "+key), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	put("landing/loose")
	put("landing/as/table/_versions/x")
	s.land("table-of-a", s.location("as", "a$secret"))
	s.register("as", "a$landed", "table-of-a")
	put("landing/table-of-a/x")
	put("other/loose")
	secret := s.location("as", "a$secret")
	put(secret.Prefix + "/x")
	records, err := s.store.List(ctx, objectstore.ListOptions{Prefix: "_catalog/", Limit: 1})
	if err != nil || len(records.Objects) == 0 {
		t.Fatal(err)
	}
	for i, tc := range []struct {
		key            string
		as, bs, admins bool // may read it
	}{
		{"landing/loose", true, true, true},
		{"landing/table-of-a/x", true, false, true},
		{"other/loose", false, false, true},
		{secret.Prefix + "/x", true, false, true},
		{records.Objects[0].Key, false, false, false},
		{"_tiltyard/x", false, false, false},
	} {
		name := fmt.Sprintf("blob%d", i)
		s.landBlob(name, "memory://test/"+tc.key)
		s.register("as", "a$"+name, name)
		s.must("as", "/v1/table/a$"+name+"/deregister", "{}")
		for group, want := range map[string]bool{"as": tc.as, "bs": tc.bs, "admins": tc.admins} {
			id := map[string]string{"as": "a$", "bs": "b$", "admins": "a$"}[group] + name
			s.register(group, id, name)
			status, answer := s.as(group, http.MethodPost, "/v1/table/"+id+"/fetch_blobs", `{"column":"blob","row_ids":[0]}`)
			got := status == http.StatusOK && bytes.Contains([]byte(answer), []byte("content of")) || strings.Contains(answer, `"uid"`)
			if got != want {
				t.Errorf("%s reads %s: %d %.300q, want it read: %v", group, tc.key, status, answer, want)
			}
			s.must(group, "/v1/table/"+id+"/deregister", "{}")
		}
	}
}
