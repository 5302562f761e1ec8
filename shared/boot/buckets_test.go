package boot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"tiltyard/shared/storage/objectstore"
)

// isolateAWS lets nothing of the machine's own configuration into a test.
func isolateAWS(t *testing.T) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_PROFILE": "", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "",
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "",
	} {
		t.Setenv(name, value)
	}
}

func TestBucketsAreRoots(t *testing.T) {
	isolateAWS(t)
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.EscapedPath())
		w.Header().Set("ETag", `"e"`)
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
	root, err := parsePlace("S3://lake/a%20b/")
	if err != nil {
		t.Fatal(err)
	}
	env, err := Open(Config{Root: root, AllowLocations: []string{t.TempDir(), "s3://other"}}, inEnv, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) > 0 {
		t.Errorf("opening asked for %q, want nothing", asked)
	}
	if got, want := env.Objects.Home().URI, "s3://lake/a%20b"; got != want {
		t.Errorf("home is %q, want %q", got, want)
	}
	for location, want := range map[string]string{
		"t.lance":                  "PUT /lake/a%20b/t.lance/k",
		"s3://lake/a%20b/u":        "PUT /lake/a%20b/u/k",
		"s3://other/deep/er/table": "PUT /other/deep/er/table/k",
	} {
		asked = nil
		l, err := env.Objects.Resolve(location)
		if err != nil {
			t.Errorf("Resolve(%q): got %v, want nil", location, err)
			continue
		}
		if _, err := l.Store.Put(t.Context(), l.Prefix+"/k", nil, objectstore.Condition{}); err != nil {
			t.Errorf("put at %q: got %v, want nil", location, err)
		}
		if len(asked) != 1 || asked[0] != want {
			t.Errorf("put at %q: the server was asked for %q, want %q", location, asked, want)
		}
	}
	if _, err := env.Objects.Resolve("s3://lake/elsewhere/t"); err == nil {
		t.Errorf("Resolve beside the prefix: got nil, want an error")
	}
}

func TestBucketsNeedARegion(t *testing.T) {
	isolateAWS(t)
	_, err := Open(Config{Root: "s3://lake/tables"}, inEnv, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "root: no region") || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("got error %v, want one that names the root and AWS_REGION", err)
	}
	t.Setenv("AWS_REGION", "eu-central-1")
	if _, err := Open(Config{Root: "s3://lake/tables"}, inEnv, &bytes.Buffer{}); err != nil {
		t.Errorf("with a region: got %v, want nil", err)
	}
}

func TestOpenReadsAPIKeysFromABucket(t *testing.T) {
	isolateAWS(t)
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked += r.Method + " " + r.URL.Path + "\n"
		hash := sha256.Sum256([]byte("key-of-ann"))
		w.Header().Set("ETag", `"e"`)
		_, _ = w.Write([]byte("ann " + hex.EncodeToString(hash[:]) + "\n"))
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
	env, err := Open(Config{Root: t.TempDir(), APIKeys: "s3://lake/keys/of api.txt"}, inEnv, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if asked != "" {
		t.Errorf("opening asked for %q, want nothing", asked)
	}
	principal, err := env.Verifier.Verify(t.Context(), "key-of-ann")
	if err != nil || principal.Subject != "key:ann" || asked != "GET /lake/keys/of api.txt\n" {
		t.Errorf("got %v, %v after %q, want key:ann after one request", principal, err, asked)
	}
	if _, err := Open(Config{Root: t.TempDir(), APIKeys: "s3://lake"}, inEnv, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "api-keys: must be s3://bucket/key") {
		t.Errorf("a bucket without a key: got %v", err)
	}
}
