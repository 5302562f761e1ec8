package boot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tiltyard/shared/storage/objectstore"
)

func write(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFunctionsNeedARootAndAWayToSignIn(t *testing.T) {
	for _, s := range Settings {
		t.Setenv(s.Variable(), "")
	}
	if _, err := openFromEnv(Clients{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "TILTYARD_ROOT") {
		t.Errorf("got error %v, want one that names TILTYARD_ROOT", err)
	}
	t.Setenv("TILTYARD_ROOT", t.TempDir())
	if _, err := openFromEnv(Clients{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "TILTYARD_TOKEN") {
		t.Errorf("got error %v, want one that names TILTYARD_TOKEN", err)
	}
	t.Setenv("TILTYARD_TOKEN", "the-token")
	var log bytes.Buffer
	env, err := openFromEnv(Clients{}, &log)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TILTYARD_EXECUTOR", "py=exec:/bin/py")
	if _, err := openFromEnv(Clients{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "TILTYARD_EXECUTOR") {
		t.Errorf("got error %v, want one that names TILTYARD_EXECUTOR", err)
	}
	env.Logger.Info("hello")
	if !strings.HasPrefix(log.String(), "{") {
		t.Errorf("log line is %q, want JSON", log.String())
	}
}

func TestOpenKnowsEveryConfiguredCredential(t *testing.T) {
	hash := sha256.Sum256([]byte("key-of-ann"))
	env, err := Open(Config{
		Root:    t.TempDir(),
		Token:   "the-token",
		APIKeys: write(t, "# staff\nann "+hex.EncodeToString(hash[:])+"\n"),
	}, inEnv, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct{ token, want string }{
		{"the-token", "token"},
		{"key-of-ann", "key:ann"},
		{"key-of-bob", ""},
		{"", ""},
	}
	for _, c := range cases {
		principal, err := env.Verifier.Verify(t.Context(), c.token)
		got := ""
		if err == nil {
			got = principal.Subject
		}
		if got != c.want {
			t.Errorf("token %q is of %q (%v), want %q", c.token, got, err, c.want)
		}
	}
}

func TestOpenFetchesNoKeys(t *testing.T) {
	asked := 0
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte(`{"keys":[]}`))
	}))
	defer issuer.Close()
	env, err := Open(Config{Root: t.TempDir(), JWKS: issuer.URL, Issuer: "i", Audience: "a"}, inEnv, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if asked != 0 {
		t.Errorf("opening asked the issuer %d times", asked)
	}
	// A token that is well-formed makes it ask.
	const token = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJzdWIiOiJzIn0.c2ln"
	if _, err := env.Verifier.Verify(t.Context(), token); err == nil || asked != 1 {
		t.Errorf("verifying gave error %v and asked %d times, want an error and 1", err, asked)
	}
}

func TestOpenReportsWhatIsNotThere(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	file := write(t, "not a key file")
	cases := []struct {
		name   string
		config Config
		want   string
	}{
		{"root under a file", Config{Root: file + "/data"}, "root: "},
		{"allowed location", Config{Root: t.TempDir(), AllowLocations: []string{missing}}, "allow-location: "},
		{"allowed location is a file", Config{Root: t.TempDir(), AllowLocations: []string{file}}, "is not a directory"},
		{"API keys", Config{Root: t.TempDir(), APIKeys: missing}, "api-keys: "},
		{"malformed API keys", Config{Root: t.TempDir(), APIKeys: file}, "api-keys: "},
		{"key set", Config{Root: t.TempDir(), JWKS: missing, Issuer: "i", Audience: "a"}, "jwks: "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(c.config, inEnv, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one that says %q", err, c.want)
			}
		})
	}
	_, err := Open(Config{Root: file + "/data", APIKeys: missing}, inEnv, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "root: ") || !strings.Contains(err.Error(), "api-keys: ") {
		t.Errorf("got error %v, want one that tells of both", err)
	}
}

func TestRootIsSpelledWithoutLinks(t *testing.T) {
	target := filepath.Join(t.TempDir(), "with space?")
	if err := os.Mkdir(target, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	env, err := Open(Config{Root: link, AllowLocations: []string{t.TempDir()}}, inEnv, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	home := env.Objects.Home()
	if !strings.HasSuffix(home.URI, "/with%20space%3F") || !strings.HasPrefix(home.URI, "file:///") {
		t.Errorf("home is %q", home.URI)
	}
	if _, err := home.Store.Put(context.Background(), "k", []byte("v"), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(target, "k")); err != nil {
		t.Errorf("what was put is not in the directory: %v", err)
	}
}

func TestRelativeRootIsMade(t *testing.T) {
	t.Chdir(t.TempDir())
	env, err := Open(Config{Root: "./new/data"}, inEnv, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat("new/data"); err != nil || !info.IsDir() {
		t.Errorf("root was not made: %v", err)
	}
	if uri := env.Objects.Home().URI; !strings.HasSuffix(uri, "/new/data") {
		t.Errorf("home is %q", uri)
	}
}

func TestHandlerAnswersProbesInTheConfiguredForm(t *testing.T) {
	var log bytes.Buffer
	env, err := Open(Config{Root: t.TempDir(), Token: "the-token", LogText: true}, inEnv, &log)
	if err != nil {
		t.Fatal(err)
	}
	handler := env.Handler()
	for path, want := range map[string]int{"/healthz": 200, "/version": 200, "/v1/table/": 401} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("GET %s: got %d, want %d", path, w.Code, want)
		}
	}
	if !strings.Contains(log.String(), "level=") || strings.Contains(log.String(), "the-token") {
		t.Errorf("log is %q, want lines of text without the token", log.String())
	}
}
