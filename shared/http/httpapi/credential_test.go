package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/operations"
)

// unreadable is a body that must not be read.
type unreadable struct{ t *testing.T }

func (b unreadable) Read([]byte) (int, error) {
	b.t.Error("the body was read")
	return 0, errors.New("the body was read")
}

// Headers and path alone decide who sends a request and whether it is allowed, for every operation
// and for bodies of any length.
func TestStrangersAreRefusedBeforeTheirBodiesAreRead(t *testing.T) {
	h := newTestHandler(new(service))
	for _, token := range []string{"", "Bearer wrong", "Basic YTpi", "Bearer guest"} {
		for _, op := range operations.All {
			path := strings.NewReplacer("{id}", "a$t", "{index_name}", "i", "{column}", "c", "{row_id}", "1").Replace(op.Path)
			for _, slash := range []string{"", "/"} {
				r := httptest.NewRequest(withBody(op), path+slash, unreadable{t})
				if token != "" {
					r.Header.Set("Authorization", token)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				want := http.StatusUnauthorized
				if token == "Bearer guest" {
					want = http.StatusForbidden
				}
				if w.Code != want {
					t.Errorf("%s by %q: got status %d, want %d: %s", path, token, w.Code, want, w.Body)
				}
			}
		}
	}
}

// Policies decide by the path as well, as far as it names the object.
func TestPoliciesDecideBeforeBodiesAreRead(t *testing.T) {
	policies := auth.OpenPolicies(func(context.Context) ([]byte, error) {
		return []byte(`permit (principal, action in [Action::"DescribeTable", Action::"DescribeNamespace"], resource);`), nil
	}, time.Now)
	s := new(service)
	h := Handler(s.routes(), Options{Verifier: verifier{}, Policies: policies})
	for _, route := range s.routes() {
		op, _ := operations.Lookup(route.operation)
		if strings.HasPrefix(op.Name, "Describe") || !strings.Contains(op.Path, "{id}") {
			continue
		}
		r := httptest.NewRequest(withBody(op), strings.ReplaceAll(op.Path, "{id}", "a$t"), unreadable{t})
		r.Header.Set("Authorization", "Bearer "+testToken)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusForbidden {
			t.Errorf("%s: got status %d, want 403: %s", op.Name, w.Code, w.Body)
		}
	}
}

// A client that holds back the last byte of a body that is not read gets its answer nevertheless:
// one without credentials, one with a wrong path or wrong parameters, or one that sends a body
// where none is expected.
func TestBodiesThatNobodyLooksAtDoNotHoldConnections(t *testing.T) {
	server := httptest.NewServer(newTestHandler(new(service)))
	defer server.Close()
	const known = "Authorization: Bearer " + testToken + "\r\n"
	for _, c := range []struct {
		name, request, header string
		size, status          int
	}{
		{"stranger, short", "POST /v1/table/t/query", "", 100, http.StatusUnauthorized},
		{"stranger, long", "POST /v1/table/t/query", "", 8 << 20, http.StatusUnauthorized},
		{"path", "POST /v1/table/a%00/query", known, 100, http.StatusBadRequest},
		{"parameter", "POST /v1/table/t/create?mode=odd", known, 100, http.StatusBadRequest},
		{"no operation", "POST /v1/nothing", known, 100, http.StatusNotFound},
		{"no body", "GET /v1/namespace/t/list", known, 100, http.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			go func() { // the server may close while this is being written
				_, _ = fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", c.request, c.header, c.size, strings.Repeat(" ", c.size-1))
			}()
			_ = conn.SetReadDeadline(time.Now().Add(10 * refusedBodyTime))
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != c.status {
				t.Errorf("got status %d, want %d", answer.StatusCode, c.status)
			}
		})
	}
}
