package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tiltyard/shared/boot"
	"tiltyard/shared/process/requestid"
)

func TestAuditVerifyReadsTheLogOfTheServer(t *testing.T) {
	var log bytes.Buffer
	env, err := boot.Open(boot.Config{Root: t.TempDir(), Token: "t"}, clients, &log)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		env.Logger.Log(t.Context(), slog.LevelInfo, "request")
		env.Audit.Info("audit", "outcome", "done")
	}
	verify := func(name string, text []byte) (string, error) {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := newCommand()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetArgs([]string{"audit", "verify", path})
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(log.Bytes())
	_ = z.Close()
	for name, text := range map[string][]byte{"log": log.Bytes(), "log.gz": zipped.Bytes()} {
		if got, err := verify(name, text); err != nil || got != "3 lines of 1 processes\n" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	got, err := verify("log", bytes.Replace(log.Bytes(), []byte("done"), []byte("denied"), 1))
	if err == nil || !strings.Contains(got, "line 2 was changed, or line 1 was") {
		t.Errorf("after a change: got %q, %v", got, err)
	}
}

// The page of the audit lists all fields that lines have.
func TestDocsListTheFieldsOfLines(t *testing.T) {
	pages := map[any]string{"audit": "../../docs/audit.md", "request": "../../docs/settings.md"}
	var log bytes.Buffer
	env, err := boot.Open(boot.Config{Root: t.TempDir(), Token: "t"}, clients, &log)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"t", "other"} {
		r := httptest.NewRequest(http.MethodPost, "/v1/namespace/a/drop", strings.NewReader("{}"))
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		env.Handler().ServeHTTP(w, r.WithContext(requestid.With(t.Context(), requestid.IDs{Gateway: "g1", Lambda: "l1"})))
		if w.Header().Get("X-Gateway-Request-Id") != "g1" || w.Header().Get("X-Lambda-Request-Id") != "l1" {
			t.Errorf("the answer has the headers %v", w.Header())
		}
	}
	lines := 0
	for line := range strings.Lines(log.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if fields["gateway_request_id"] != "g1" || fields["lambda_request_id"] != "l1" {
			t.Errorf("the line does not name what brought its request: %s", line)
		}
		page, ok := pages[fields["msg"]]
		if !ok {
			continue
		}
		lines++
		for name := range fields {
			if !regexp.MustCompile("(?m)^\\|.*`" + name + "`.* \\|.*\\|$").MatchString(readPage(t, page)) {
				t.Errorf("%s does not list %s", page, name)
			}
		}
	}
	if lines != 4 {
		t.Errorf("got %d lines of requests and of the audit, want 4:\n%s", lines, log.String())
	}
}
