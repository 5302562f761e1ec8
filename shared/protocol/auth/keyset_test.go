package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tiltyard/shared/protocol"
)

// clock is a time that tests move.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func remoteJWT(t *testing.T, url string, c *clock) *JWT {
	t.Helper()
	v, err := NewJWT(JWTConfig{Issuer: testIssuer, Audience: testAudience, Now: c.Now}, RemoteKeys(url))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRemoteKeysAreFetchedOnceAndRarely(t *testing.T) {
	is := newIssuer(t)
	keys := is.keySet(t)
	var fetches atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetches.Add(1)
		_, _ = w.Write(keys)
	}))
	defer server.Close()
	c := &clock{now: testNow}
	v := remoteJWT(t, server.URL, c)
	good := sign(t, "RS256", is.rsa, object{"kid": "rsa"}, nil)
	unknown := sign(t, "RS256", is.rsa, object{"kid": "gone"}, nil)

	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := v.Verify(context.Background(), good); err != nil {
				t.Errorf("Verify: %v", err)
			}
		})
	}
	wg.Wait()
	for range 100 {
		if _, err := v.Verify(t.Context(), unknown); protocol.CodeOf(err) != protocol.Unauthenticated {
			t.Fatalf("unknown kid: %v, want Unauthenticated", err)
		}
	}
	if got := fetches.Load(); got != 1 {
		t.Errorf("%d fetches within one pause, want 1", got)
	}
	c.now = c.now.Add(refreshPause)
	for range 100 {
		_, _ = v.Verify(t.Context(), unknown)
	}
	if got := fetches.Load(); got != 2 {
		t.Errorf("%d fetches within two pauses, want 2", got)
	}
}

func TestRotatedKeysAreFound(t *testing.T) {
	before, after := newIssuer(t), newIssuer(t)
	var current atomic.Pointer[issuer]
	current.Store(before)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(current.Load().keySet(t))
	}))
	defer server.Close()
	c := &clock{now: testNow}
	v := remoteJWT(t, server.URL, c)
	old := sign(t, "RS256", before.rsa, object{"kid": "rsa"}, object{"exp": testNow.Add(2 * time.Hour).Unix()})
	if _, err := v.Verify(t.Context(), old); err != nil {
		t.Fatalf("before the rotation: %v", err)
	}
	current.Store(after)
	c.now = c.now.Add(keysAge)
	if _, err := v.Verify(t.Context(), old); protocol.CodeOf(err) != protocol.Unauthenticated {
		t.Errorf("old key after the rotation: %v, want Unauthenticated", err)
	}
	if _, err := v.Verify(t.Context(), sign(t, "RS256", after.rsa, object{"kid": "rsa"}, object{"exp": testNow.Add(2 * time.Hour).Unix()})); err != nil {
		t.Errorf("new key after the rotation: %v", err)
	}
}

func TestUnavailableKeysAreNoRefusal(t *testing.T) {
	is := newIssuer(t)
	down := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(is.keySet(t))
	}))
	defer server.Close()
	c := &clock{now: testNow}
	v := remoteJWT(t, server.URL, c)
	good := sign(t, "RS256", is.rsa, object{"kid": "rsa"}, object{"exp": testNow.Add(5 * time.Hour).Unix()})
	if _, err := v.Verify(t.Context(), good); protocol.CodeOf(err) != protocol.ServiceUnavailable {
		t.Errorf("while the issuer is down: %v, want ServiceUnavailable", err)
	}
	down = false
	c.now = c.now.Add(refreshPause)
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Errorf("when the issuer is up again: %v", err)
	}
	down = true
	c.now = c.now.Add(keysAge)
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Errorf("known key while the issuer is down: %v", err)
	}
}

func TestKeySetsOfNoUse(t *testing.T) {
	cases := []struct {
		name  string
		serve http.HandlerFunc
	}{
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }},
		{"no keys", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"keys":[]}`)) }},
		{"only broken keys", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"keys":[{"kty":"RSA"},{"kty":"new"},7]}`))
		}},
		{"too many keys", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"keys":[1` + strings.Repeat(",1", maxKeys) + `]}`))
		}},
		{"too large", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.Repeat(" ", maxKeySetBytes+1)))
		}},
		{"redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(c.serve)
			defer server.Close()
			_, err := RemoteKeys(server.URL).find(t.Context(), "rsa", "RS256", testNow)
			if protocol.CodeOf(err) != protocol.ServiceUnavailable {
				t.Errorf("find: %v, want ServiceUnavailable", err)
			}
		})
	}
}

func TestSingleKeyNeedsNoKid(t *testing.T) {
	is := newIssuer(t)
	one := &KeySet{fetch: func(context.Context) ([]byte, error) {
		return []byte(`{"keys":[` + string(mustJWK(t, is)) + `]}`), nil
	}}
	if _, err := one.find(t.Context(), "", "RS256", testNow); err != nil {
		t.Errorf("find without kid: %v", err)
	}
	failing := &KeySet{fetch: func(context.Context) ([]byte, error) { return nil, errors.New("gone") }}
	if _, err := failing.find(t.Context(), "", "RS256", testNow); protocol.CodeOf(err) != protocol.ServiceUnavailable {
		t.Errorf("find in a set that cannot be fetched: %v, want ServiceUnavailable", err)
	}
}
