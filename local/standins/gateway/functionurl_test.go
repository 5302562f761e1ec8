package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"tiltyard/local/standins/gateway"
)

const streamed = "application/vnd.awslambda.http-integration-response"

// A streaming function keeps the event it got and gives one answer.
type streaming struct {
	event       events.APIGatewayV2HTTPRequest
	contentType string
	answer      io.Reader
	err         error
}

func (f *streaming) Stream(_ context.Context, event []byte, take func(contentType string, body io.Reader) error) error {
	if err := json.Unmarshal(event, &f.event); err != nil || f.err != nil {
		return errors.Join(err, f.err)
	}
	return take(f.contentType, f.answer)
}

// serveURL lets a function answer real requests.
func serveURL(t *testing.T, f *streaming) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(gateway.FunctionURL(f, slog.New(slog.DiscardHandler)))
	t.Cleanup(server.Close)
	return server
}

const prelude = `{"statusCode":202,"headers":{"X-One":"1"}}` + "\x00\x00\x00\x00\x00\x00\x00\x00"

func TestFunctionURLStreams(t *testing.T) {
	answer, pieces := io.Pipe()
	f := &streaming{contentType: streamed, answer: answer}
	server := serveURL(t, f)
	go func() {
		_, _ = io.WriteString(pieces, prelude+"first")
	}()
	response, err := http.Post(server.URL+"/v1/table/a%2Fb/query/?k=%2F", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	first := make([]byte, 5)
	if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != "first" {
		t.Fatalf("first %q, %v", first, err)
	}
	go func() {
		_, _ = io.WriteString(pieces, "\x00second")
		_ = pieces.Close()
	}()
	rest, err := io.ReadAll(response.Body)
	if err != nil || string(rest) != "\x00second" || response.StatusCode != http.StatusAccepted || response.Header.Get("X-One") != "1" {
		t.Errorf("%d %v, then %q, %v", response.StatusCode, response.Header, rest, err)
	}
	if f.event.RawPath != "/v1/table/a%2Fb/query/" || f.event.RawQueryString != "k=%2F" || f.event.Body != "{}" ||
		!strings.Contains(f.event.RequestContext.DomainName, ".lambda-url.") {
		t.Errorf("event %+v", f.event)
	}
}

func TestAnswersThatFunctionURLsCannotDeliver(t *testing.T) {
	cases := []struct {
		name   string
		f      *streaming
		status int    // 0: the connection breaks
		body   string // none when it breaks
	}{
		{"the function fails", &streaming{err: errors.New("no")}, http.StatusBadGateway, `{"message":"Bad Gateway"}` + "\n"},
		{"the prelude is cut off", &streaming{contentType: streamed, answer: strings.NewReader(`{"statusCode":200}`)}, http.StatusBadGateway, `{"message":"Bad Gateway"}` + "\n"},
		{"the prelude is no JSON", &streaming{contentType: streamed, answer: strings.NewReader("?" + prelude)}, http.StatusBadGateway, `{"message":"Bad Gateway"}` + "\n"},
		{"the prelude is not said to be there", &streaming{answer: strings.NewReader("{}")}, http.StatusOK, "{}"},
		{"the answer breaks off", &streaming{contentType: streamed, answer: io.MultiReader(strings.NewReader(prelude+"half"), failing{})}, 0, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			response, err := http.Get(serveURL(t, c.f).URL)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(response.Body)
			if c.status == 0 {
				if err == nil {
					t.Errorf("got %q as a whole answer", body)
				}
				return
			}
			if err != nil || response.StatusCode != c.status || string(body) != c.body {
				t.Errorf("%d %q, %v", response.StatusCode, body, err)
			}
		})
	}
}

// failing is a reader that has nothing but an error.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("as told") }
