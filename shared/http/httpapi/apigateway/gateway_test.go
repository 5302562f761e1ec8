package apigateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"tiltyard/shared/process/requestid"
)

// seen is what a handler saw of a request.
type seen struct {
	Method, Path, Query, Body, Remote string
	Header                            http.Header
}

// echo remembers the request and answers with a body of some type.
func echo(s *seen, contentType string, body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		*s = seen{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, string(data), r.RemoteAddr, r.Header}
		w.Header().Set("Content-Type", contentType)
		w.Header().Add("X-Two", "1")
		w.Header().Add("X-Two", "2")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(body)
	})
}

const httpAPIEvent = `{
  "version": "2.0", "routeKey": "$default", "rawPath": "/v1/table/a%24b%2Fc/insert/", "rawQueryString": "on=a&on=b%2Cc&mode=append",
  "headers": {"authorization": "Bearer t0ken", "content-type": "application/vnd.apache.arrow.stream", "user-agent": "LanceDB-Python-Client/0.40.0", "x-svc-ctx-list": "a, b"},
  "requestContext": {"domainName": "x.example", "http": {"method": "POST", "path": "/v1/table/a$b/c/insert/", "sourceIp": "192.0.2.1"}},
  "body": "/////wA=", "isBase64Encoded": true
}`

const restAPIEvent = `{
  "resource": "/{proxy+}", "path": "/v1/table/a$b/describe", "httpMethod": "POST",
  "headers": {"Authorization": "Bearer t0ken"}, "multiValueHeaders": {"Authorization": ["Bearer t0ken"], "X-Svc-Ctx-List": ["a, b"]},
  "queryStringParameters": {"delimiter": "."}, "multiValueQueryStringParameters": {"delimiter": ["."], "on": ["a", "b c"]},
  "requestContext": {"domainName": "x.example", "identity": {"sourceIp": "192.0.2.1"}},
  "body": "{\"id\":[\"a\"]}", "isBase64Encoded": false
}`

func invoke[Response any](t *testing.T, handler http.Handler, payload string) Response {
	t.Helper()
	answer, err := New(handler).Invoke(t.Context(), []byte(payload))
	if err != nil {
		t.Fatalf("Invoke: %v", err)
	}
	var response Response
	if err := json.Unmarshal(answer, &response); err != nil {
		t.Fatal(err)
	}
	return response
}

func TestHTTPAPIEvent(t *testing.T) {
	var s seen
	arrowFile := []byte("ARROW1\x00\x00valid UTF-8 all the same")
	got := invoke[events.APIGatewayV2HTTPResponse](t, echo(&s, "application/vnd.apache.arrow.file", arrowFile), httpAPIEvent)
	if s.Method != "POST" || s.Path != "/v1/table/a%24b%2Fc/insert/" || s.Query != "on=a&on=b%2Cc&mode=append" || s.Remote != "192.0.2.1" {
		t.Errorf("handler sees %+v", s)
	}
	if s.Body != "\xff\xff\xff\xff\x00" {
		t.Errorf("handler reads %q", s.Body)
	}
	if s.Header.Get("Authorization") != "Bearer t0ken" || s.Header.Get("X-Svc-Ctx-List") != "a, b" || s.Header.Get("User-Agent") != "LanceDB-Python-Client/0.40.0" {
		t.Errorf("handler sees the headers %v", s.Header)
	}
	if got.StatusCode != http.StatusAccepted || got.Headers["X-Two"] != "1,2" {
		t.Errorf("got %+v", got)
	}
	body, err := base64.StdEncoding.DecodeString(got.Body)
	if err != nil || !got.IsBase64Encoded || !bytes.Equal(body, arrowFile) {
		t.Errorf("body %q, base64 %v: %v", got.Body, got.IsBase64Encoded, err)
	}
}

func TestRESTAPIEvent(t *testing.T) {
	var s seen
	got := invoke[events.APIGatewayProxyResponse](t, echo(&s, "application/json", []byte(`{"a":"<é>"}`)), restAPIEvent)
	if s.Method != "POST" || s.Path != "/v1/table/a$b/describe" || s.Query != "delimiter=.&on=a&on=b+c" || s.Body != `{"id":["a"]}` {
		t.Errorf("handler sees %+v", s)
	}
	if s.Header.Get("X-Svc-Ctx-List") != "a, b" {
		t.Errorf("handler sees the headers %v", s.Header)
	}
	if got.StatusCode != http.StatusAccepted || got.Body != `{"a":"<é>"}` || got.IsBase64Encoded || len(got.MultiValueHeaders["X-Two"]) != 2 {
		t.Errorf("got %+v", got)
	}
}

// The body of a compressed text cannot be a text.
func TestCompressedResponsesAreBase64(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write([]byte{0x1f, 0x8b, 0xff})
	})
	got := invoke[events.APIGatewayProxyResponse](t, handler, restAPIEvent)
	if !got.IsBase64Encoded || got.Body != "H4v/" {
		t.Errorf("body %q, base64 %v", got.Body, got.IsBase64Encoded)
	}
}

// The User-Agent and the Accept that a REST API fills in for clients without them are not passed on.
func TestRESTAPINamesNoClients(t *testing.T) {
	for _, c := range []struct{ agent, accept, wantAgent, wantAccept string }{
		{"curl/8", "application/json", "curl/8", ""},
		{"AmazonAPIGateway_a1b2c3", "application/json", "", ""},
		{"curl/8", "application/json;q=1", "curl/8", "application/json;q=1"},
		{"curl/8", "application/x-ndjson", "curl/8", "application/x-ndjson"},
	} {
		var s seen
		payload := strings.Replace(restAPIEvent, `"Authorization": ["Bearer t0ken"]`, `"User-Agent": ["`+c.agent+`"], "Accept": ["`+c.accept+`"]`, 1)
		invoke[events.APIGatewayProxyResponse](t, echo(&s, "application/json", nil), payload)
		if agent, accept := s.Header.Get("User-Agent"), s.Header.Get("Accept"); agent != c.wantAgent || accept != c.wantAccept {
			t.Errorf("%+v: the handler sees %q and %q", c, agent, accept)
		}
	}
}

const albEvent = `{
  "requestContext": {"elb": {"targetGroupArn": "arn:aws:elasticloadbalancing:us-east-1:0:targetgroup/t/1"}},
  "httpMethod": "POST", "path": "/v1/table/a%24b/insert/",
  "queryStringParameters": {"on": "b%2Cc", "mode": "append"},
  "headers": {"authorization": "Bearer t0ken", "content-type": "application/vnd.apache.arrow.stream", "x-forwarded-for": "198.51.100.7, 192.0.2.1"},
  "body": "/////wA=", "isBase64Encoded": true
}`

const albMultiEvent = `{
  "requestContext": {"elb": {"targetGroupArn": "arn"}},
  "httpMethod": "POST", "path": "/v1/table/a%24b/insert/",
  "multiValueQueryStringParameters": {"on": ["b%2Cc"], "mode": ["append"]},
  "multiValueHeaders": {"authorization": ["Bearer t0ken"], "x-forwarded-for": ["192.0.2.1"]},
  "body": "/////wA=", "isBase64Encoded": true
}`

func TestLoadBalancerEvent(t *testing.T) {
	for name, payload := range map[string]string{"headers": albEvent, "multi-value headers": albMultiEvent} {
		var s seen
		got := invoke[events.ALBTargetGroupResponse](t, echo(&s, "application/vnd.apache.arrow.file", []byte{0, 0xff}), payload)
		if s.Method != "POST" || s.Path != "/v1/table/a%24b/insert/" || s.Query != "mode=append&on=b%2Cc" || s.Remote != "192.0.2.1" {
			t.Errorf("%s: handler sees %+v", name, s)
		}
		if s.Body != "\xff\xff\xff\xff\x00" || s.Header.Get("Authorization") != "Bearer t0ken" {
			t.Errorf("%s: handler sees %q under %v", name, s.Body, s.Header)
		}
		if got.StatusDescription != "202 Accepted" || !got.IsBase64Encoded || got.Body != "AP8=" {
			t.Errorf("%s: got %+v", name, got)
		}
		multi := name != "headers"
		if one, two := got.Headers["X-Two"] == "1,2", len(got.MultiValueHeaders["X-Two"]) == 2; one == multi || two != multi {
			t.Errorf("%s: got the headers %v and %v", name, got.Headers, got.MultiValueHeaders)
		}
	}
}

func TestLoadBalancersTakeOneMebibyte(t *testing.T) {
	large := echo(&seen{}, "text/plain", bytes.Repeat([]byte("x"), maxALBBytes))
	if got := invoke[events.ALBTargetGroupResponse](t, large, albEvent); got.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d, want 413", got.StatusCode)
	}
}

// A function URL speaks payload 2.0, but leaves the path as it was sent.
const functionURLEvent = `{
  "version": "2.0", "routeKey": "$default", "rawPath": "/v1/table/a%2Fb/describe/", "rawQueryString": "",
  "headers": {"authorization": "Bearer t0ken"},
  "requestContext": {"domainName": "x.lambda-url.us-east-1.on.aws", "http": {"method": "POST", "path": "/v1/table/a%2Fb/describe/", "sourceIp": "192.0.2.1"}},
  "isBase64Encoded": false
}`

func TestFunctionURLEvent(t *testing.T) {
	var s seen
	got := invoke[events.LambdaFunctionURLResponse](t, echo(&s, "application/json", []byte("{}")), functionURLEvent)
	if s.Path != "/v1/table/a%2Fb/describe/" || s.Body != "" || s.Remote != "192.0.2.1" {
		t.Errorf("handler sees %+v", s)
	}
	if got.StatusCode != http.StatusAccepted || got.Body != "{}" || got.IsBase64Encoded {
		t.Errorf("got %+v", got)
	}
}

func TestPathsSurvive(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/table/t/describe/": "/v1/table/t/describe/",
		"//v1/table/t":          "//v1/table/t",
		"/v1/table/a%2Fb/x":     "/v1/table/a%2Fb/x",
		"/v1/table/a b?c#d/x":   "/v1/table/a%20b%3Fc%23d/x",
		"/v1/table/é/x":         "/v1/table/%C3%A9/x",
		"/v1/table/50%/x":       "/v1/table/50%25/x",
		"/v1/table/../x":        "/v1/table/../x",
		"/v1/table/\uFFFD/x":    "/v1/table/%FF/x", // what a gateway that decodes makes of %FF
		"":                      "/fallback",
	} {
		var s seen
		payload, err := json.Marshal(map[string]any{
			"version": "2.0", "rawPath": path,
			"requestContext": map[string]any{"http": map[string]any{"method": "GET", "path": "/fallback"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		invoke[events.APIGatewayV2HTTPResponse](t, echo(&s, "text/plain", nil), string(payload))
		if s.Path != want {
			t.Errorf("path %q arrives as %q, want %q", path, s.Path, want)
		}
	}
}

func TestInvokeRefusesOtherEvents(t *testing.T) {
	for _, payload := range []string{``, `[]`, `{}`, `{"Records":[]}`, `{"version":"2.0","headers":7}`, `{"version":"2.0","isBase64Encoded":true,"body":"?"}`} {
		if _, err := New(http.NotFoundHandler()).Invoke(t.Context(), []byte(payload)); err == nil {
			t.Errorf("Invoke(%s) succeeded, want an error", payload)
		}
	}
}

type problemBody struct {
	Error     string `json:"error"`
	Code      int    `json:"code"`
	Status    int    `json:"status"`
	Instance  string `json:"instance"`
	RequestID string `json:"request_id"`
}

func decodeProblem(t *testing.T, response events.APIGatewayV2HTTPResponse) problemBody {
	t.Helper()
	var p problemBody
	if err := json.Unmarshal([]byte(response.Body), &p); err != nil {
		t.Fatalf("body %.200q: %v", response.Body, err)
	}
	if p.Status != response.StatusCode || response.Headers["Content-Type"] != "application/json" {
		t.Errorf("problem %+v in %+v", p, response.Headers)
	}
	return p
}

func TestResponsesTooLargeToDeliver(t *testing.T) {
	cases := []struct {
		name        string
		contentType string
		bytes       int
		fits        bool
	}{
		{"binary that fits in base64", "application/vnd.apache.arrow.file", 4 << 20, true},
		{"binary that does not fit in base64", "application/vnd.apache.arrow.file", 5 << 20, false},
		{"text that fits", "text/plain", 5 << 20, true},
		{"more than ever fits", "text/plain", 8 << 20, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.contentType)
				w.Header().Set("X-Request-Id", "r1")
				for sent := 0; sent < c.bytes; sent += 1 << 16 {
					if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
						panic(http.ErrAbortHandler)
					}
				}
			})
			got := invoke[events.APIGatewayV2HTTPResponse](t, handler, httpAPIEvent)
			if c.fits {
				if got.StatusCode != http.StatusOK {
					t.Errorf("status %d, want 200", got.StatusCode)
				}
				return
			}
			p := decodeProblem(t, got)
			if p.Status != http.StatusRequestEntityTooLarge || p.Code != 13 || p.RequestID != "r1" || p.Instance != "/v1/table/a%24b%2Fc/insert/" || !strings.Contains(got.Body, "X-Tiltyard-Result: redirect") {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func TestBrokenOffResponsesAreErrors(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.apache.arrow.file")
		_, _ = io.WriteString(w, "half an answ")
		panic(http.ErrAbortHandler)
	})
	got := invoke[events.APIGatewayV2HTTPResponse](t, handler, httpAPIEvent)
	if p := decodeProblem(t, got); p.Status != http.StatusInternalServerError || p.Code != 18 || strings.Contains(got.Body, "half") {
		t.Errorf("got %+v", p)
	}
}

func TestTimeIsLeftToAnswer(t *testing.T) {
	end := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if got, ok := r.Context().Deadline(); !ok || !got.Equal(end.Add(-answerMargin)) {
			t.Errorf("deadline %v, want %v", got, end.Add(-answerMargin))
		}
	})
	if _, err := New(handler).Invoke(ctx, []byte(httpAPIEvent)); err != nil {
		t.Fatal(err)
	}
}

func TestPanicsOfTheProgramAreNotHidden(t *testing.T) {
	cause := errors.New("out of cheese")
	defer func() {
		if got, ok := recover().(error); !ok || !errors.Is(got, cause) {
			t.Errorf("Invoke ends with %v, want the panic of the handler", got)
		}
	}()
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(cause) })
	_, _ = New(handler).Invoke(t.Context(), []byte(httpAPIEvent))
}

func TestRequestsCarryTheNamesThatAWSGaveThem(t *testing.T) {
	for name, payload := range map[string]string{
		"HTTP API": `{"version": "2.0", "requestContext": {"requestId": "g1", "http": {"method": "GET", "path": "/x"}}}`,
		"REST API": `{"httpMethod": "GET", "path": "/x", "requestContext": {"requestId": "g1"}}`,
	} {
		var got requestid.IDs
		handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = requestid.From(r.Context()) })
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "l1"})
		if _, err := New(handler).Invoke(ctx, []byte(payload)); err != nil {
			t.Fatal(err)
		}
		if want := (requestid.IDs{Gateway: "g1", Lambda: "l1"}); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}
