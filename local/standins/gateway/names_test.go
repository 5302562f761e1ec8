package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"pgregory.net/rapid"

	"tiltyard/shared/http/httpapi/apigateway"
)

// A front is a gateway: it makes the event of a request as the real one does.
type front struct {
	name    string
	decodes bool // paths
	event   func(*http.Request) (any, error)
}

var fronts = []front{
	{"HTTP API", true, func(r *http.Request) (any, error) {
		event, status := newEvent(r, decode(r.URL.EscapedPath()))
		return event, refusal(status)
	}},
	{"function URL", false, func(r *http.Request) (any, error) {
		event, status := newEvent(r, r.URL.EscapedPath())
		event.RequestContext.DomainName = "x.lambda-url.us-east-1.on.aws"
		return event, refusal(status)
	}},
	{"REST API", false, func(r *http.Request) (any, error) {
		body, err := io.ReadAll(r.Body)
		return events.APIGatewayProxyRequest{
			Path: r.URL.EscapedPath(), HTTPMethod: r.Method, Body: string(body),
			MultiValueQueryStringParameters: r.URL.Query(), // decoded
		}, err
	}},
	{"load balancer", false, func(r *http.Request) (any, error) {
		body, err := io.ReadAll(r.Body)
		query := map[string][]string{} // as it was sent
		for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
			name, value, _ := strings.Cut(pair, "=")
			query[name] = append(query[name], value)
		}
		return events.ALBTargetGroupRequest{
			Path: r.URL.EscapedPath(), HTTPMethod: r.Method, Body: string(body), MultiValueQueryStringParameters: query,
			RequestContext: events.ALBTargetGroupRequestContext{ELB: events.ELBContext{TargetGroupArn: "arn"}},
		}, err
	}},
}

func refusal(status int) error {
	if status != 0 {
		return fmt.Errorf("the gateway refuses with %d", status)
	}
	return nil
}

// encodings are the ways to write a name in a path: form is that of native Lance, percent that of all other clients.
var encodings = map[string]func(string) string{
	"form": url.QueryEscape,
	"percent": func(name string) string {
		return strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	},
}

// Whatever name a client sends, in a path or in a query string, the handler reads it, through
// every gateway; where one has lost what the name was, the request is refused.
func TestNamesArriveThroughEachGateway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(
			rapid.StringOfN(rapid.Rune().Filter(func(r rune) bool { return r >= ' ' && r != 0x7f && !(0x80 <= r && r < 0xa0) && r != 0xfffd }), 1, 20, 256),
			rapid.StringOfN(rapid.SampledFrom([]rune("+ %/25BF?#&=.$;,é~")), 1, 8, -1),
		).Draw(t, "name")
		encoding := rapid.SampledFrom([]string{"form", "percent"}).Draw(t, "encoding")
		named := rapid.Bool().Draw(t, "the body names it")
		for _, front := range fronts {
			if front.decodes && strings.Contains(name, "/") {
				continue // it is another path
			}
			got, status, err := through(front, encodings[encoding](name), name, named)
			if err != nil {
				t.Fatal(err)
			}
			lost := front.decodes && !named && (strings.Contains(name, "+") || encoding == "form" && strings.Contains(name, " "))
			switch {
			case lost && status != http.StatusBadRequest:
				t.Errorf("%s: %q, in %s encoding: got status %d and %q, want 400", front.name, name, encoding, status, got)
			case !lost && !slices.Equal(got, []string{name, name}):
				t.Errorf("%s: %q, in %s encoding: got %q, with status %d", front.name, name, encoding, got, status)
			}
		}
	})
}

// through sends a name in path and query, and returns what the handler reads in both.
func through(front front, encoded, name string, named bool) (got []string, status int, err error) {
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		segments := strings.Split(r.URL.EscapedPath(), "/")
		if len(segments) != 5 {
			return
		}
		id, err := url.QueryUnescape(segments[3]) // as httpapi does
		if err == nil {
			got = []string{id, r.URL.Query().Get("on")}
		}
	})
	body := []byte("{}")
	if named {
		if body, err = json.Marshal(map[string][]string{"id": {name}}); err != nil {
			return nil, 0, err
		}
	}
	r, err := http.NewRequest(http.MethodPost, "http://x/v1/table/"+encoded+"/drop?on="+encoded, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	event, err := front.event(r)
	if err != nil {
		return nil, 0, err
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return nil, 0, err
	}
	answer, err := apigateway.New(handler).Invoke(context.Background(), payload)
	if err != nil {
		return nil, 0, err
	}
	var response struct {
		StatusCode int `json:"statusCode"`
	}
	return got, response.StatusCode, json.Unmarshal(answer, &response)
}

// The whole way of a name over HTTP: what native Lance drops is what it means.
func TestGatewayDoesNotTakeAPlusForASpace(t *testing.T) {
	dropped := ""
	function := apigateway.New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { dropped = r.URL.EscapedPath() }))
	server := httptest.NewServer(Handler(map[string]Function{"table": function, Fallback: function}, slog.New(slog.DiscardHandler)))
	defer server.Close()
	answer, err := http.Post(server.URL+"/v1/table/p%2Bq/drop", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest || dropped != "" {
		t.Errorf("got status %d, and %q is dropped; want 400 and nothing", answer.StatusCode, dropped)
	}
}
