package s3store

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/storage/objectstore"
)

// A signed URL reads or writes the one object, without credentials in headers, and names when it ends.
func TestSignedURLs(t *testing.T) {
	_, store, _ := newServer(t)
	put, err := store.SignPut(t.Context(), "a/b c", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, put, strings.NewReader("content"))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Body.Close()
	if stored.StatusCode != http.StatusOK {
		t.Fatalf("got %v", stored.Status)
	}
	if got, _, err := store.Get(t.Context(), "a/b c"); err != nil || string(got) != "content" {
		t.Fatalf("got %q, %v", got, err)
	}
	get, err := store.SignGet(t.Context(), "a/b c", "text/x", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(get)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); err != nil || string(got) != "content" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, text := range []string{put, get} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		if q.Get("X-Amz-Expires") != "60" || q.Get("X-Amz-Signature") == "" || q.Get("X-Amz-SignedHeaders") != "host" || strings.Contains(text, "checksum") {
			t.Errorf("got %s", text)
		}
	}
	if objectstore.SignerOf(store) == nil {
		t.Error("the store is no signer")
	}
	if _, err := store.SignGet(t.Context(), "../x", "", time.Minute); err == nil {
		t.Error("a key that is none was signed")
	}
}
