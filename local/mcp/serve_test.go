package mcp_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tiltyard/local/mcp"
	"tiltyard/shared/client"
	"tiltyard/shared/service/all/alltest"
)

// overHTTP starts a server of tables, and tools for it over HTTP.
func overHTTP(t *testing.T) *httptest.Server {
	t.Helper()
	tables, err := alltest.Serve(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tables.Close)
	web := httptest.NewServer(mcp.Handler(mcp.New(mcp.Options{Open: mcp.ByToken(tables.URL), Release: "test", Delimiter: "/"})))
	t.Cleanup(web.Close)
	return web
}

const listCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_tables","arguments":{}}}`

func TestHTTPActsForTheCallerAlone(t *testing.T) {
	web := overHTTP(t)
	for _, c := range []struct {
		name   string
		host   string
		header map[string]string
		body   string
		status int
		want   string
	}{
		{name: "token", header: map[string]string{"Authorization": "Bearer " + alltest.Token}, body: listCall, status: 200, want: `{"tables":[]}`},
		{name: "scheme in other letters", header: map[string]string{"Authorization": "bearer " + alltest.Token}, body: listCall, status: 200, want: `{"tables":[]}`},
		{name: "no token", body: listCall, status: 401, want: "Authorization: Bearer TOKEN"},
		{name: "empty token", header: map[string]string{"Authorization": "Bearer "}, body: listCall, status: 401},
		{name: "other scheme", header: map[string]string{"Authorization": "Basic " + alltest.Token}, body: listCall, status: 401},
		{name: "wrong token", header: map[string]string{"Authorization": "Bearer wrong"}, body: listCall, status: 200, want: `"isError":true`},
		{name: "token with a line break", header: map[string]string{"Authorization": "Bearer a b"}, body: listCall, status: 200, want: "contains a space"},
		{name: "name of localhost", host: "localhost:80", header: map[string]string{"Authorization": "Bearer " + alltest.Token}, body: listCall, status: 200},
		{name: "name of another host", host: "evil.example", header: map[string]string{"Authorization": "Bearer " + alltest.Token}, body: listCall, status: 403, want: "invalid Host header"},
		{name: "page of another host", header: map[string]string{"Authorization": "Bearer " + alltest.Token, "Origin": "http://evil.example"}, body: listCall, status: 403},
		{name: "page of another site", header: map[string]string{"Authorization": "Bearer " + alltest.Token, "Sec-Fetch-Site": "cross-site"}, body: listCall, status: 403},
		{name: "too long", header: map[string]string{"Authorization": "Bearer " + alltest.Token}, body: strings.Repeat(" ", 4<<20) + listCall, status: 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Host = c.host
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			for name, value := range c.header {
				req.Header.Set(name, value)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err := errors.Join(err, resp.Body.Close()); err != nil {
				t.Fatal(err)
			}
			if text := strings.ReplaceAll(string(body), `\"`, `"`); resp.StatusCode != c.status || !strings.Contains(text, c.want) {
				t.Errorf("%d %s, want %d %s", resp.StatusCode, text, c.status, c.want)
			}
			if challenged := resp.Header.Get("WWW-Authenticate") == "Bearer"; challenged != (c.status == 401) {
				t.Errorf("WWW-Authenticate is %q", resp.Header.Get("WWW-Authenticate"))
			}
		})
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
