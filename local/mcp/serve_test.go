package mcp_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"tiltyard/local/mcp"
	"tiltyard/shared/client"
	"tiltyard/shared/service/all/alltest"
)

// overHTTP starts a server of tables behind wrap, which may be nil, and tools for it over HTTP.
func overHTTP(t *testing.T, wrap func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	tables, err := alltest.Serve(wrap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tables.Close)
	return toolsOf(t, tables.URL)
}

// toolsOf starts tools over HTTP for a server of tables.
func toolsOf(t *testing.T, url string) *httptest.Server {
	t.Helper()
	callers := mcp.NewCallers(url)
	web := httptest.NewServer(mcp.Handler(mcp.New(mcp.Options{Open: callers.Open, Release: "test", Delimiter: "/"}), callers))
	t.Cleanup(web.Close)
	return web
}

// post sends a message, and returns the status, the header and the body without the escapes of quotes.
func post(t *testing.T, url, host, body string, header map[string]string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, strings.ReplaceAll(string(answer), `\"`, `"`)
}

const listCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_tables","arguments":{}}}`

func TestHTTPActsForTheCallerAlone(t *testing.T) {
	web := overHTTP(t, nil)
	for _, c := range []struct {
		name      string
		host      string
		header    map[string]string
		body      string
		status    int
		want      string
		challenge string
	}{
		{name: "token", header: map[string]string{"Authorization": "Bearer " + alltest.Token}, body: listCall, status: 200, want: `{"tables":[]}`},
		{name: "scheme in other letters", header: map[string]string{"Authorization": "bearer " + alltest.Token}, body: listCall, status: 200, want: `{"tables":[]}`},
		{name: "no token", body: listCall, status: 401, want: "Authorization: Bearer TOKEN", challenge: "Bearer"},
		{name: "empty token", header: map[string]string{"Authorization": "Bearer "}, body: listCall, status: 401, challenge: "Bearer"},
		{name: "other scheme", header: map[string]string{"Authorization": "Basic " + alltest.Token}, body: listCall, status: 401, challenge: "Bearer"},
		{name: "wrong token", header: map[string]string{"Authorization": "Bearer wrong"}, body: listCall, status: 401, want: "not known", challenge: `Bearer error="invalid_token"`},
		{name: "token with a line break", header: map[string]string{"Authorization": "Bearer a b"}, body: listCall, status: 401, want: "contains a space", challenge: `Bearer error="invalid_token"`},
		{name: "name of localhost", host: "localhost:80", header: map[string]string{"Authorization": "Bearer " + alltest.Token}, body: listCall, status: 200},
		{name: "name of another host", host: "evil.example", header: map[string]string{"Authorization": "Bearer " + alltest.Token}, body: listCall, status: 403, want: "invalid Host header"},
		{name: "page of another host", header: map[string]string{"Authorization": "Bearer " + alltest.Token, "Origin": "http://evil.example"}, body: listCall, status: 403},
		{name: "page of another site", header: map[string]string{"Authorization": "Bearer " + alltest.Token, "Sec-Fetch-Site": "cross-site"}, body: listCall, status: 403},
		{name: "too long", header: map[string]string{"Authorization": "Bearer " + alltest.Token}, body: strings.Repeat(" ", 4<<20) + listCall, status: 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, header, text := post(t, web.URL, c.host, c.body, c.header)
			if status != c.status || !strings.Contains(text, c.want) {
				t.Errorf("%d %s, want %d %s", status, text, c.status, c.want)
			}
			if challenge := header.Get("WWW-Authenticate"); challenge != c.challenge {
				t.Errorf("WWW-Authenticate is %q, want %q", challenge, c.challenge)
			}
		})
	}
}

var tokenOfTest = map[string]string{"Authorization": "Bearer " + alltest.Token}

func TestTokenIsCheckedOnceUntilTheServerRefusesIt(t *testing.T) {
	var checks atomic.Int64
	var revoked atomic.Bool
	web := overHTTP(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/v1/namespace/") {
				checks.Add(1)
			}
			if revoked.Load() {
				http.Error(w, "revoked", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	for range 3 {
		if status, _, text := post(t, web.URL, "", listCall, tokenOfTest); status != 200 || !strings.Contains(text, `{"tables":[]}`) {
			t.Fatalf("%d %s", status, text)
		}
	}
	if checks.Load() != 1 {
		t.Errorf("three requests with one token were checked %d times, want 1", checks.Load())
	}
	revoked.Store(true)
	if status, _, text := post(t, web.URL, "", listCall, tokenOfTest); status != 200 || !strings.Contains(text, `"isError":true`) {
		t.Errorf("the first call with a revoked token: %d %s", status, text)
	}
	if status, header, text := post(t, web.URL, "", listCall, tokenOfTest); status != 401 || header.Get("WWW-Authenticate") == "" {
		t.Errorf("the second call with a revoked token: %d %s", status, text)
	}
}

func TestServerThatCannotCheckATokenDoesNotRefuseIt(t *testing.T) {
	answers := func(status int, body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, body, status) }))
		t.Cleanup(server.Close)
		return server.URL
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, url := range map[string]string{
		"unreachable": gone.URL,
		"failing":     answers(http.StatusInternalServerError, `{"error": "failed", "code": 18}`),
		"no server":   answers(http.StatusNotFound, "no such page"),
	} {
		t.Run(name, func(t *testing.T) {
			status, header, text := post(t, toolsOf(t, url).URL, "", listCall, tokenOfTest)
			if status != 503 || header.Get("Retry-After") == "" || header.Get("WWW-Authenticate") != "" {
				t.Errorf("%d %v %s, want 503 with Retry-After", status, header, text)
			}
		})
	}
	mayNotList := answers(http.StatusForbidden, `{"error": "no permission", "code": 15}`)
	if status, _, text := post(t, toolsOf(t, mayNotList).URL, "", listCall, tokenOfTest); status != 200 || !strings.Contains(text, "no permission") {
		t.Errorf("a token that may not list namespaces: %d %s", status, text)
	}
}

// Over standard input the session ends with the input.
func TestServeEndsWithItsInput(t *testing.T) {
	server := mcp.New(mcp.Options{Open: func(http.Header) (*client.Client, error) { return nil, errors.New("no server") }, Release: "test", Delimiter: "/"})
	in, write := io.Pipe()
	read, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- mcp.Serve(t.Context(), server, in, out) }()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	if _, err := io.WriteString(write, hello+"\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(read).ReadString('\n')
	if err != nil || !strings.Contains(answer, `"serverInfo":{"name":"tiltyard","title":"Tiltyard","version":"test"}`) {
		t.Errorf("it writes %s, %v", answer, err)
	}
	_ = write.Close()
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}
