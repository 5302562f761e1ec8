package all_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

const (
	secret  = "canarysecret"  // in tokens, keys, user information and signatures
	stored  = "canarystored"  // in rows of a table
	upload  = "canaryupload"  // in rows of a request
	literal = "canaryliteral" // in expressions of a request
	number  = "3141592653"    // in rows of a table, where they are numbers
)

// signed is a location with a secret in every part that may contain one.
const signed = "s3://" + secret + ":" + secret + "@bucket/place?X-Amz-Signature=" + secret + "#" + secret

// discreet is a server whose log is kept at the level of debugging.
type discreet struct {
	t       *testing.T
	roots   *objectstore.Roots
	handler http.Handler
	log     bytes.Buffer
}

func serveDiscreet(t *testing.T) *discreet {
	t.Helper()
	s, store := &discreet{t: t}, memstore.New()
	var err error
	if s.roots, err = objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: store}); err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.NewStatic("test", secret+"-token")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	routes := all.Open(tables.Stores{
		Objects: s.roots, Now: time.Now, Records: objectrecord.Open(store, time.Now),
	}, all.Options{Logger: log}).Routes
	s.handler = httpapi.Handler(routes, httpapi.Options{Verifier: verifier, Logger: log, Audit: log})
	return s
}

// send returns the answer to a request, and what is logged of it.
func (s *discreet) send(method, path string, body []byte) (status int, answer, logged string) {
	s.t.Helper()
	s.log.Reset()
	req := httptest.NewRequest(method, path, bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+secret+"-token")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, req)
	if s.log.Len() == 0 {
		s.t.Errorf("%s %s is not logged", method, path)
	}
	return w.Code, w.Body.String(), s.log.String()
}

func (s *discreet) must(path string, body []byte) {
	s.t.Helper()
	if status, answer, _ := s.send(http.MethodPost, path, body); status != http.StatusOK {
		s.t.Fatalf("%s: %d %s", path, status, answer)
	}
}

// rowsOf encodes rows of an id, a text, a number and a vector, which all say the same.
func rowsOf(t *testing.T, text string, ids ...int64) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "b", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "v", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Uint8), Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for _, id := range ids {
		b.Field(0).(*array.Int64Builder).Append(id)
		b.Field(1).(*array.StringBuilder).Append(text)
		b.Field(2).(*array.Int64Builder).Append(3141592653)
		b.Field(3).(*array.BinaryBuilder).Append([]byte("\xff" + text))
		b.Field(4).(*array.FixedSizeListBuilder).Append(true)
		b.Field(4).(*array.FixedSizeListBuilder).ValueBuilder().(*array.Uint8Builder).AppendValues([]byte{1, 2}, nil)
	}
	return streamOfBatch(t, b.NewRecordBatch())
}

// names are fields with names, and settings with few values. Errors quote them, so that the client
// finds a spelling mistake; no client has a reason to put a secret there.
var names = strings.Fields("behavior branch column columns describe distance_type from_branch in index_name index_type kind metric_type mode name namespace_id naming_scheme older_than source_tag tag version")

// fieldsOf returns the JSON names of the fields of a request.
func fieldsOf(request reflect.Type) (names []string) {
	for i := range request.NumField() {
		field := request.Field(i)
		if field.Anonymous {
			names = append(names, fieldsOf(field.Type)...)
		} else if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// Clients put secrets into any field that takes a location, a token or a key. Neither the log, at
// any level, nor an error in the answer contains them.
func TestSecretsOfRequestsAreNotTold(t *testing.T) {
	for _, op := range operations.All {
		t.Run(op.Name, func(t *testing.T) {
			s := serveDiscreet(t)
			s.must("/v1/table/t/create", rowsOf(t, stored, 1, 2))
			path, body := request(op, "t")
			for _, field := range slices.Concat(fieldsOf(op.RequestType()), []string{"identity", "context", "unknown", "properties", "location"}) {
				if slices.Contains(names, field) {
					continue
				}
				for _, value := range []any{signed, map[string]string{"auth_token": secret, "location": signed}, []string{signed}, []any{map[string]string{"uri": signed}}} {
					whole := map[string]any{}
					if err := json.Unmarshal([]byte(body), &whole); err != nil {
						t.Fatal(err)
					}
					whole[field] = value
					sent, err := json.Marshal(whole)
					if err != nil {
						t.Fatal(err)
					}
					mark := "?"
					if strings.Contains(path, "?") {
						mark = "&"
					}
					status, answer, logged := s.send(op.Methods[0], path+mark+"X-Amz-Signature="+secret, sent)
					if strings.Contains(logged, secret) {
						t.Errorf("%s: %d, log: %s", sent, status, logged)
					}
					if status >= http.StatusBadRequest && strings.Contains(answer, secret) {
						t.Errorf("%s: %d %s", sent, status, answer)
					}
				}
			}
		})
	}
}

// Values of rows appear in answers that return the rows, and not in errors. Values that came with
// the request do not appear in the log either.
func TestValuesOfRowsAreNotTold(t *testing.T) {
	expressions := []string{
		"CAST(s AS int) = 1", "CAST(s AS date) = DATE '2020-01-01'", "CAST(s AS boolean)", "CAST(s AS float) = 1", "CAST(s AS decimal(5,2)) = 1",
		"CAST(s AS timestamp) IS NULL", "CAST(n AS int) = 1", "CAST(n AS tinyint) = 1", "CAST(CAST(n AS float) AS int) = 1",
		"CAST(CAST(n AS decimal(20,2)) AS int) = 1", "CAST(CAST(n AS decimal(20,2)) AS decimal(5,2)) = 1", "CAST(b AS string) = ''",
		"regexp_like('x', concat('(', s))", "regexp_like('é', concat('[', s))", "regexp_like('x', concat(s, '{', s, '}'))", "regexp_like(s, '(" + literal + "')",
		"to_timestamp(s, '%Y') IS NULL", "to_date(s, '%Y') IS NULL", "to_time(s) IS NULL", "to_char(DATE '2020-01-01', concat('%H%Q', s)) = ''",
		"json_get_int(s, 'a') = 1", "json_extract(s, s) = ''", "decode(s, 'hex') IS NULL", "decode(s, 'base64') IS NULL",
		"factorial(n) = 1", "lcm(n, n + 1) * n * n = 1", "chr(n * 1000) = ''", "make_date(CAST(n % 100000 AS int), 77, 1) IS NULL",
		"substr(s, 1, 0 - n) = ''", "array_resize([1], 0 - n) IS NULL", "n * n * n = 1", "n / 0 = 1", "abs(n - n) / 0 = 1", "power(0, 0 - n) = 1",
		"overlay(s placing s from 0 - n) = ''", "regexp_count(s, 'x', 0 - n) = 1", "regexp_instr(s, 'x', 0 - n) = 1",
		"CAST('" + literal + "' AS int) = n", "s = '" + literal, "s = " + literal, "INTERVAL '" + literal + "' IS NULL", "s = 1 '" + literal + "'", "no_function('" + literal + "')",
	}
	s := serveDiscreet(t)
	s.must("/v1/table/t/create", rowsOf(t, stored, 1, 2))
	refused := 0
	check := func(path string, body []byte, tells ...string) {
		t.Helper()
		before := refused
		status, answer, logged := s.send(http.MethodPost, path, body)
		if status >= http.StatusBadRequest {
			refused++
		}
		for _, value := range []string{stored, upload, literal, number} {
			if strings.Contains(logged, value) {
				t.Errorf("%s %.300q: %d, log: %s", path, body, status, logged)
			}
			if refused > before && strings.Contains(answer, value) && !slices.Contains(tells, value) {
				t.Errorf("%s %.300q: %d %s", path, body, status, answer)
			}
		}
	}
	for _, e := range expressions {
		quoted, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		before := refused
		check("/v1/table/t/query", fmt.Appendf(nil, `{"k":9,"vector":[],"filter":%s}`, quoted), literal)
		check("/v1/table/t/query", fmt.Appendf(nil, `{"k":9,"vector":[],"columns":{"column_aliases":{"x":%s}}}`, quoted), literal)
		check("/v1/table/t/count_rows", fmt.Appendf(nil, `{"predicate":%s}`, quoted), literal)
		check("/v1/table/t/delete", fmt.Appendf(nil, `{"predicate":%s}`, quoted), literal)
		check("/v1/table/t/update", fmt.Appendf(nil, `{"predicate":%s,"updates":[["id","id"]]}`, quoted), literal)
		check("/v1/table/t/add_columns", fmt.Appendf(nil, `{"new_columns":[{"name":"c%d","expression":%s}]}`, refused, quoted), literal)
		check("/v1/table/t/explain_plan", fmt.Appendf(nil, `{"query":{"k":9,"vector":[],"filter":%s}}`, quoted), literal)
		check("/v1/table/t/merge_insert?on=id&when_matched_update_all=true&when_matched_update_all_filt="+
			"CAST(target.s+AS+int)=1", rowsOf(t, upload, 1), upload, number)
		if refused == before {
			t.Errorf("%s fails nowhere", e)
		}
	}
	check("/v1/table/t/alter_columns", []byte(`{"alterations":[{"path":"n","data_type":{"type":"int32"}}]}`))
	check("/v1/table/t/alter_columns", []byte(`{"alterations":[{"path":"n","data_type":{"type":"int8"}}]}`))
	check("/v1/table/t/query", []byte(`{"k":1,"vector":{"single_vector":[3141592653,1]},"vector_column":"v"}`))
	check("/v1/table/t/query", []byte(`{"k":1,"vector":{"single_vector":[1,2,3141592653]},"vector_column":"v"}`))
	check("/v1/table/t/query", []byte(`{"k":1,"vector":[],"full_text_query":{"string_query":{"query":"`+literal+`","columns":["n"]}}}`), literal)
	check("/v1/table/t/merge_insert?on=s&when_matched_update_all=true", rowsOf(t, upload, 1, 1), upload, number)
	check("/v1/table/t/merge_insert?on=n&when_matched_update_all=true", rowsOf(t, upload, 1, 1), upload, number)
	check("/v1/table/t/merge_insert?on=id&when_matched_update_all=true&when_matched_update_all_filt=CAST(source.s+AS+int)=1", rowsOf(t, upload, 1), upload)
	check("/v1/table/t/merge_insert?on=id&when_not_matched_by_source_delete=true&when_not_matched_by_source_delete_filt=CAST(s+AS+int)=1", rowsOf(t, upload, 9), upload)
	check("/v1/table/t/insert", rowsOf(t, upload, 3)[:300], upload)
	check("/v1/table/t/insert", []byte(upload), upload)
	check("/v1/table/t/query", []byte(`{"k":"`+literal+`","vector":[]}`), literal)
	check("/v1/table/t/query", []byte(`{"k":1,"vector":["`+literal+`"]}`), literal)
	check("/v1/table/t/query", []byte(`{"`+literal), literal)
}

// The names and locations in a table that other programs wrote may contain secrets, too.
func TestSecretsOfTablesAreNotTold(t *testing.T) {
	s := serveDiscreet(t)
	session := dataset.NewSession(0, time.Now)
	session.Roots = s.roots
	land := &tenants{limited: limited{t: t}, roots: s.roots, session: session}
	land.landBlob("blob", signed)
	s.must("/v1/table/t/register", []byte(`{"location":"memory://test/landing/blob"}`))
	for _, c := range [][2]string{
		{"/v1/table/t/blob/blob/0", "{}"},
		{"/v1/table/t/query", `{"k":9,"vector":[],"filter":"blob IS NOT NULL"}`},
		{"/v1/table/t/query", `{"k":9,"vector":[],"columns":{"column_names":["blob"]}}`},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			status, answer, logged := s.send(method, c[0], []byte(c[1]))
			if strings.Contains(logged, secret) || status >= http.StatusBadRequest && strings.Contains(answer, secret) {
				t.Errorf("%s: %d %s, log: %s", c, status, answer, logged)
			}
		}
	}
	row := blobAt(signed)
	var rows bytes.Buffer
	w := ipc.NewWriter(&rows, ipc.WithSchema(row.Schema()))
	if err := errors.Join(w.Write(row), w.Close()); err != nil {
		t.Fatal(err)
	}
	s.refuses("/v1/table/t/insert", rows.Bytes(), "below no base path")
}

// refuses sends a request that is refused with a reason that contains no secret.
func (s *discreet) refuses(path string, body []byte, why string) {
	s.t.Helper()
	status, answer, logged := s.send(http.MethodPost, path, body)
	if status < http.StatusBadRequest || status >= http.StatusInternalServerError || !strings.Contains(answer, why) || strings.Contains(answer+logged, secret) {
		s.t.Errorf("%s: %d %s, want it refused as %q without the secret; log: %s", path, status, answer, why, logged)
	}
}

// The error for the path of a staged manifest names what is wrong with the object, without secrets.
func TestSecretsOfManifestPathsAreNotTold(t *testing.T) {
	s := serveDiscreet(t)
	s.must("/v1/table/t/create", rowsOf(t, stored, 1))
	_, told, _ := s.send(http.MethodPost, "/v1/table/t/describe", []byte("{}"))
	_, rest, _ := strings.Cut(told, `"location":"`)
	uri, _, _ := strings.Cut(rest, `"`)
	at, err := s.roots.Resolve(uri)
	if err != nil {
		t.Fatal(err)
	}
	const query = "?X-Amz-Signature=" + secret
	first, err := at.Store.List(t.Context(), objectstore.ListOptions{Prefix: at.Prefix + "/_versions/"})
	if err != nil || len(first.Objects) == 0 {
		t.Fatalf("%d versions, %v", len(first.Objects), err)
	}
	manifest, _, err := at.Store.Get(t.Context(), first.Objects[0].Key)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"none": []byte("no manifest"), "first": manifest} {
		if _, err := at.Store.Put(t.Context(), at.Prefix+"/_versions/"+name+query, data, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, why := range map[string]string{
		`missing` + query + `"`: "there is no manifest", `none` + query + `"`: "is not a manifest", `first` + query + `"`: "is of version",
		`first` + query + `","manifest_size":7`: "manifest_size is 7",
	} {
		s.refuses("/v1/table/t/version/create", fmt.Appendf(nil, `{"version":2,"manifest_path":"%s/_versions/%s}`, at.Prefix, name), why)
	}
}
