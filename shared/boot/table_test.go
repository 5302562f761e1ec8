package boot

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

func TestOpenTableInABucket(t *testing.T) {
	isolateAWS(t)
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.EscapedPath()
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
	at, done, err := OpenTable("S3://lake/some%20where/t.lance/", inEnv, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if want := "s3://lake/some%20where/t.lance"; at.URI != want {
		t.Errorf("got URI %q, want %q", at.URI, want)
	}
	if _, _, err := at.Store.Get(t.Context(), at.Prefix+"/k"); err == nil {
		t.Error("get of what is not there: got no error")
	}
	if want := "GET /lake/some%20where/t.lance/k"; asked != want {
		t.Errorf("the server was asked for %q, want %q", asked, want)
	}
	if err := done(); err != nil {
		t.Error(err)
	}
}

func TestOpenTableInADirectory(t *testing.T) {
	parent := t.TempDir()
	directory := filepath.Join(parent, "a table")
	if err := os.Mkdir(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, "k"), []byte("value"), 0o600); err != nil {
		t.Fatal(err)
	}
	at, done, err := OpenTable("file://"+parent+"/a%20table/", inEnv, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if data, _, err := at.Store.Get(t.Context(), at.Prefix+"/k"); err != nil || string(data) != "value" {
		t.Errorf("got %q %v, want the value", data, err)
	}
	if err := done(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
		t.Errorf("beside the table there is now %v %v", entries, err)
	}
}
