package all_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/tables"
)

// The line of a statement in the log has the tables that it names, and nothing else of it.
func TestLogNamesTheTablesOfStatements(t *testing.T) {
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "mem://root", Store: memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	token, err := auth.NewStatic("test", "secret-of-the-test")
	if err != nil {
		t.Fatal(err)
	}
	var log, audit bytes.Buffer
	handler := httpapi.Handler(all.Routes(tables.Stores{Objects: roots, Now: time.Now}, arrowipc.Limits{}), httpapi.Options{
		Verifier: token, Logger: slog.New(slog.NewJSONHandler(&log, nil)), Audit: slog.New(slog.NewJSONHandler(&audit, nil)),
	})
	for _, c := range []struct{ text, object, audited string }{
		{"CREATE NAMESPACE a", "a", "a"},
		{"CREATE TABLE a.t (id int, word text)", "a$t", "a$t"},
		{"CREATE TABLE u (id int, word text)", "u", "u"},
		{"SELECT id FROM a.t WHERE word = 'hush'", "a$t", ""},
		{"SELECT count(*) AS n FROM a.t WHERE word = $word", "a$t", ""},
		{"SELECT x.id FROM a.t x JOIN u ON x.id = u.id JOIN a.t y ON y.id = x.id WHERE x.word = 'hush' AND EXISTS (SELECT 1 FROM a.t VERSION AS OF 1)", "a$t, u", ""},
		{"INSERT INTO u SELECT id, 'hush' AS word FROM a.t", "u, a$t", "u, a$t"},
		{"MERGE INTO u USING a.t AS s ON u.id = s.id WHEN MATCHED AND s.word = 'hush' THEN UPDATE SET *", "u, a$t", "u, a$t"},
		{"SELECT * FROM nope WHERE word = 'hush'", "nope", ""},
		{"DESCRIBE a.t", "a$t", ""},
		{"SELECT 'hush' AS word", "", ""},
		{"SELECT table_name FROM information_schema.tables WHERE table_name <> 'hush'", "", ""},
		{"INSERT INTO u SELECT 1, table_name FROM information_schema.tables WHERE table_name <> 'hush'", "u", "u"},
	} {
		log.Reset()
		audit.Reset()
		body, err := json.Marshal(map[string]any{"query": c.text, "parameters": map[string]any{}})
		if strings.Contains(c.text, "$word") {
			body, err = json.Marshal(map[string]any{"query": c.text, "parameters": map[string]any{"word": "hush"}})
		}
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequest(http.MethodPost, "/v1/sql", bytes.NewReader(body))
		request.Header.Set("Authorization", "Bearer secret-of-the-test")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if (answer.Code == http.StatusOK) == strings.Contains(c.text, "nope") {
			t.Errorf("%s: %d %s", c.text, answer.Code, answer.Body)
		}
		if got := objectOf(t, log.Bytes()); got != c.object || strings.Contains(log.String(), "hush") {
			t.Errorf("%s: the log has %s, want the object %q", c.text, log.String(), c.object)
		}
		if got := objectOf(t, audit.Bytes()); got != c.audited || strings.Contains(audit.String(), "hush") {
			t.Errorf("%s: the audit has %s, want the object %q", c.text, audit.String(), c.audited)
		}
	}
}

// objectOf returns the object of a line, or "" without a line.
func objectOf(t *testing.T, line []byte) string {
	t.Helper()
	var said struct{ Object string }
	if len(line) > 0 {
		if err := json.Unmarshal(line, &said); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return said.Object
}
