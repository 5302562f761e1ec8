package all_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs/idempotency"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

// The value of a secret appears in no answer, log line, observation, stored object or file of keys,
// whether its request succeeds, fails, cannot be read, or comes again.
func TestValuesOfSecretsAppearNowhere(t *testing.T) {
	canary := rand.Text()
	keyFile := filepath.Join(t.TempDir(), "keys")
	keys, err := secretbox.OpenKeyFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	store := memstore.New()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.NewStatic("test", "token")
	if err != nil {
		t.Fatal(err)
	}
	var seen bytes.Buffer // all that leaves the service
	log := slog.New(slog.NewJSONHandler(&seen, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}))
	records := objectrecord.Open(store, time.Now)
	handler := httpapi.Handler(all.Open(tables.Stores{Objects: roots, Now: time.Now, Records: records}, all.Options{Logger: log, Keys: keys}).Routes, httpapi.Options{
		Verifier: verifier, Logger: log, Audit: log, Ledger: idempotency.Open(records, time.Now),
		Observe: func(served *httpapi.Served) { fmt.Fprintf(&seen, "%+v\n", *served) },
	})
	send := func(path, body string, header http.Header) int {
		t.Helper()
		req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		req.Header = header.Clone()
		req.Header.Set("Authorization", "Bearer token")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		fmt.Fprintf(&seen, "%s %v %s\n", path, w.Header(), w.Body)
		return w.Code
	}
	value, err := json.Marshal(map[string]string{"value": canary})
	if err != nil {
		t.Fatal(err)
	}
	good := string(value)
	for n, header := range []http.Header{{}, {"X-Request-Id": {"again"}}, {"Idempotency-Key": {"again"}}} {
		name := fmt.Sprintf("s%d", n)
		for _, c := range []struct {
			path, body string
			want       int
		}{
			{"/v1/secret/s/alter", good, 404},
			{"/v1/secret/s/create", good, 200},
			{"/v1/secret/s/create", good, 409},
			{"/v1/secret/s/alter", good, 200},
			{"/v1/secret/none$s/create", good, 404},
			{"/v1/secret/a+b/create", good, 400},
			{"/v1/secret/s/create", good[:len(good)-1], 400},
			{"/v1/secret/s/create", good + good, 400},
			{"/v1/secret/s/create", `"` + canary + `"`, 400},
			{"/v1/secret/s/create", canary, 400},
			{"/v1/secret/s/create", fmt.Sprintf(`{"value":[%q]}`, canary), 400},
			{"/v1/secret/s/create", fmt.Sprintf(`{"value":"v","id":%q}`, canary), 400},
			{"/v1/secret/s/create", fmt.Sprintf(`{"value":%q}`, canary+"\x00"), 400},
			{"/v1/secret/s/create", fmt.Sprintf(`{"value":%q}`, strings.Repeat(canary, 64<<10/len(canary)+1)), 400},
			{"/v1/secret/s/create", fmt.Sprintf(`{"value":%q}`, strings.Repeat(canary, 2<<20/len(canary))), 413},
			{"/v1/secret/s/describe", "{}", 200},
			{"/v1/namespace/$/secret/list", "{}", 200},
		} {
			path := strings.Replace(c.path, "/s/", "/"+name+"/", 1)
			if got := send(path, c.body, header); got != c.want {
				t.Errorf("%s %.80s: got %d, want %d", path, strings.ReplaceAll(c.body, canary, "CANARY"), got, c.want)
			}
		}
	}
	if seen.Len() < 1000 || !strings.Contains(seen.String(), "CreateSecret") {
		t.Errorf("only this was seen: %s", &seen)
	}
	kept, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	seen.Write(kept)
	var stored []string
	for object, err := range objectstore.Objects(t.Context(), store, objectstore.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := store.Get(t.Context(), object.Key)
		if err != nil {
			t.Fatal(err)
		}
		seen.WriteString(object.Key)
		seen.Write(data)
		stored = append(stored, object.Key)
	}
	// The ledger would hold the SHA-256 of the body, from which a weak value can be guessed.
	if want := []string{"_catalog/$/s/s0", "_catalog/$/s/s1", "_catalog/$/s/s2"}; !slices.Equal(stored, want) {
		t.Errorf("stored are %q, want %q", stored, want)
	}
	raw := []byte(canary)
	for form, text := range map[string]string{
		"itself": canary, "hexadecimal": hex.EncodeToString(raw), "base64": strings.TrimRight(base64.StdEncoding.EncodeToString(raw), "="),
	} {
		if at := strings.Index(seen.String(), text); at >= 0 {
			t.Errorf("the value as %s: %.400q", form, strings.ReplaceAll(seen.String()[max(0, at-200):], text, "CANARY"))
		}
	}
}
