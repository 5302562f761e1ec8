package cloud

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// Connections that were idle while the process was frozen are not used again.
func TestIdleConnectionsAreDroppedAfterAFreeze(t *testing.T) {
	connections := atomic.Int64{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client, ok := NewHTTPClient(nil).(*thawing)
	if !ok {
		t.Fatal("the client keeps its connections")
	}
	clock := time.Now()
	client.now = func() time.Time { return clock }
	for _, c := range []struct {
		passes time.Duration
		want   int64
	}{{0, 1}, {time.Second, 1}, {idleTime, 1}, {3 * time.Hour, 2}, {time.Second, 2}, {-time.Hour, 3}} {
		clock = clock.Add(c.passes)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if got := connections.Load(); got != c.want {
			t.Errorf("after %v: %d connections, want %d", c.passes, got, c.want)
		}
	}
}

// Redirects that keep the method are followed, as from one region to another, without the token of the session; the
// answer to others is that of the request.
func TestRedirects(t *testing.T) {
	for status, followed := range map[int]bool{301: false, 302: false, 307: true, 308: true} {
		token := "none"
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token = r.Header.Get("X-Amz-Security-Token")
			w.WriteHeader(http.StatusNoContent)
		}))
		defer other.Close()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(status)
		}))
		defer server.Close()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Amz-Security-Token", "secret")
		answer, err := NewHTTPClient(nil).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if want := map[bool]int{true: http.StatusNoContent, false: status}[followed]; answer.StatusCode != want || followed != (token == "") {
			t.Errorf("%d: got %d, token %q, want %d", status, answer.StatusCode, token, want)
		}
	}
}
