package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"tiltyard/shared/protocol/operations"
)

// A scripted function keeps the event it got and gives one answer.
type scripted struct {
	event  events.APIGatewayV2HTTPRequest
	answer any
	err    error
}

func (f *scripted) Invoke(_ context.Context, event []byte) ([]byte, error) {
	if err := json.Unmarshal(event, &f.event); err != nil {
		return nil, err
	}
	answer, err := json.Marshal(f.answer)
	return answer, errors.Join(err, f.err)
}

func fine(body string) events.APIGatewayV2HTTPResponse {
	return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusOK, Body: body}
}

// send sends a request through a gateway over a few functions; got is the name and the
// event of the one that was called.
func send(t *testing.T, r *http.Request, answer any, fail error) (name string, event events.APIGatewayV2HTTPRequest, w *httptest.ResponseRecorder) {
	t.Helper()
	functions := map[string]Function{}
	for _, name := range []string{"table", "data", Fallback} {
		functions[name] = &scripted{answer: answer, err: fail}
	}
	w = httptest.NewRecorder()
	Handler(functions, slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
	for n, f := range functions {
		if f := f.(*scripted); f.event.Version != "" {
			name, event = n, f.event
		}
	}
	return name, event, w
}

func TestHandlerSendsEachPathToItsFunction(t *testing.T) {
	cases := []struct{ method, target, function, path string }{
		{"POST", "/v1/table/a$b/describe", "table", "/v1/table/a$b/describe"},
		{"POST", "/v1/table/a%24b/insert?mode=append", "data", "/v1/table/a$b/insert"},
		{"POST", "/v1/table/a%2524b/insert", "data", "/v1/table/a%2524b/insert"},
		{"POST", "/v1/table/a/describe/", "table", "/v1/table/a/describe/"},
		{"POST", "/v1/table/a%24b/insert/?mode=append", "data", "/v1/table/a$b/insert/"},
		{"POST", "//v1/table/a/insert/", "data", "//v1/table/a/insert/"},
		{"POST", "/v1/table/a/insert/more/", "data", "/v1/table/a/insert/more/"},
		{"GET", "/v1/table/", "table", "/v1/table/"},
		{"POST", "/v1/table/a/query/", "table", "/v1/table/a/query/"}, // as it has no function, it is a path below /v1/table/
		{"DELETE", "/v1/table/a/describe/", Fallback, "/v1/table/a/describe/"},
		{"DELETE", "/v1/table/a/describe", Fallback, "/v1/table/a/describe"},
		{"POST", "/v1/namespace/a/list", Fallback, "/v1/namespace/a/list"},
		{"POST", "/v1/namespace/a/list/", Fallback, "/v1/namespace/a/list/"},
		{"POST", "/v1//table/a/insert", Fallback, "/v1//table/a/insert"},
		{"GET", "/nowhere", Fallback, "/nowhere"},
	}
	for _, c := range cases {
		name, event, _ := send(t, httptest.NewRequest(c.method, c.target, nil), fine(""), nil)
		if name != c.function || event.RawPath != c.path || event.RequestContext.HTTP.Method != c.method {
			t.Errorf("%s %s: %s got %s %s, want %s and %s", c.method, c.target, name, event.RequestContext.HTTP.Method, event.RawPath, c.function, c.path)
		}
	}
}

// Whatever operation a client of LanceDB or another one sends, the function of its group gets
// it, and no other.
func TestHandlerSendsEachOperationToItsGroup(t *testing.T) {
	for _, op := range operations.All {
		functions := map[string]Function{}
		for _, op := range operations.All {
			functions[op.Function] = &scripted{answer: fine("")}
		}
		functions[Fallback] = &scripted{answer: fine("")}
		h := Handler(functions, slog.New(slog.DiscardHandler))
		path := strings.NewReplacer("{", "", "}", "").Replace(op.Path)
		for _, method := range op.Methods {
			for _, sent := range []string{path, path + "/"} {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, sent, nil))
				for name, f := range functions {
					f := f.(*scripted)
					if got := f.event.RawPath; (got == sent) != (name == op.Function) {
						t.Errorf("%s %s: %s got %q", method, sent, name, got)
					}
					f.event = events.APIGatewayV2HTTPRequest{}
				}
			}
		}
	}
}

func TestBodiesArriveExactly(t *testing.T) {
	for _, contentType := range []string{"application/json; charset=utf-8", "application/vnd.apache.arrow.stream", ""} {
		body := []byte("{\"a\":1}")
		if !isText(contentType) {
			body = []byte{0, 0xff, 'a', 0xc3}
		}
		r := httptest.NewRequest("POST", "/v1/table/a/insert", bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		_, event, _ := send(t, r, fine(""), nil)
		got := []byte(event.Body)
		if event.IsBase64Encoded {
			got, _ = base64.StdEncoding.DecodeString(event.Body)
		}
		if !bytes.Equal(got, body) || event.IsBase64Encoded == isText(contentType) {
			t.Errorf("%q: got %q (base64 %t), want %q", contentType, got, event.IsBase64Encoded, body)
		}
	}
}

func TestHeadersAreJoined(t *testing.T) {
	r := httptest.NewRequest("POST", "/v1/table/a/describe", nil)
	r.Header["X-Thing"] = []string{"a", "b"}
	if _, event, _ := send(t, r, fine(""), nil); event.Headers["x-thing"] != "a,b" {
		t.Errorf("got %v", event.Headers)
	}
}

func TestAnswersOfFunctionsBecomeHTTP(t *testing.T) {
	binary := events.APIGatewayV2HTTPResponse{
		StatusCode: http.StatusCreated, IsBase64Encoded: true, Body: base64.StdEncoding.EncodeToString([]byte{0, 1, 0xff}),
		Headers: map[string]string{"Content-Type": "application/octet-stream"},
	}
	cases := []struct {
		name   string
		answer any
		err    error
		status int
		body   string
	}{
		{"text", fine("hello"), nil, http.StatusOK, "hello"},
		{"binary", binary, nil, http.StatusCreated, "\x00\x01\xff"},
		{"none", map[string]string{}, nil, http.StatusInternalServerError, ""},
		{"failed", fine(""), errors.New("out of memory"), http.StatusInternalServerError, ""},
		{"late", fine(""), context.DeadlineExceeded, http.StatusServiceUnavailable, ""},
		{"too large", fine(strings.Repeat("x", maxPayloadBytes)), nil, http.StatusInternalServerError, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, _, w := send(t, httptest.NewRequest("POST", "/v1/table/a/describe", nil), c.answer, c.err)
			if w.Code != c.status || c.body != "" && w.Body.String() != c.body {
				t.Errorf("got %d %.100q, want %d %q", w.Code, w.Body, c.status, c.body)
			}
		})
	}
}

func TestHandlerRefusesLargeRequests(t *testing.T) {
	large := httptest.NewRequest("POST", "/v1/table/a/insert", io.LimitReader(zeros{}, 5<<20)) // more than 6 MiB in base64
	if name, _, w := send(t, large, fine(""), nil); name != "" || w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("body: %q answered %d", name, w.Code)
	}
	long := httptest.NewRequest("POST", "/v1/table/a/describe", nil)
	long.Header.Set("X-Long", strings.Repeat("x", maxHeaderBytes))
	if name, _, w := send(t, long, fine(""), nil); name != "" || w.Code != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("header: %q answered %d", name, w.Code)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
