// Package gateway is a stand-in for the HTTP API in front of the functions. It routes requests by
// the operation table, passes them to the functions as the events of API Gateway, and returns their
// responses. It treats requests like the real gateway, as far as functions can notice:
//
//   - a path arrives decoded, except for %25
//   - several leading slashes of a path count as one when its route is looked up, and a path
//     that ends in a slash has a route of its own
//   - header names arrive in lower case, repeated headers joined by commas
//   - bodies arrive as base64 unless their type is a text type
//   - requests and responses larger than an invocation can carry are refused
//   - a request that takes 30 seconds gets an error
//
// The limits are those of HTTP APIs and of synchronous Lambda invocations.
//
// [FunctionURL] is a stand-in for a function URL, which streams responses.
package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

const (
	maxPayloadBytes = 6 << 20 // of an event, and of an answer
	maxHeaderBytes  = 10240
	timeout         = 30 * time.Second
)

// Fallback is the name of the function for requests without a route.
const Fallback = "default"

// A Function handles events, such as [tiltyard/local/standins/runtimeapi.Function].
type Function interface {
	Invoke(ctx context.Context, event []byte) ([]byte, error)
}

// Handler serves each operation with the function of its group, and all other requests with the
// function called [Fallback], which must exist. It logs the errors of functions.
func Handler(functions map[string]Function, log *slog.Logger) http.Handler {
	return &handler{functions: functions, routes: newRoutes(functions), log: log}
}

type handler struct {
	functions map[string]Function
	routes    []route
	log       *slog.Logger
}

// ServeHTTP passes one request to a function.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	event, status := newEvent(r, decode(r.URL.EscapedPath()))
	if status != 0 {
		refuse(w, status)
		return
	}
	key, function := h.find(r.Method, event.RawPath)
	event.RouteKey, event.RequestContext.RouteKey = key, key
	payload, err := json.Marshal(event)
	if err != nil || len(payload) > maxPayloadBytes {
		refuse(w, http.StatusRequestEntityTooLarge)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	answer, err := function.Invoke(ctx, payload)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		refuse(w, http.StatusServiceUnavailable)
	case errors.Is(err, context.Canceled): // the client disconnected before an instance was free
	case err != nil || len(answer) > maxPayloadBytes:
		h.log.ErrorContext(ctx, "function failed", "path", event.RawPath, "error", err, "answer_bytes", len(answer))
		refuse(w, http.StatusInternalServerError)
	default:
		h.write(w, answer)
	}
}

// newEvent returns the event of a request. path is the path in the gateway's form. status is the
// HTTP status of a refusal, or 0.
func newEvent(r *http.Request, path string) (events.APIGatewayV2HTTPRequest, int) {
	headers, bytes := joinHeaders(r)
	if bytes > maxHeaderBytes {
		return events.APIGatewayV2HTTPRequest{}, http.StatusRequestHeaderFieldsTooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxPayloadBytes+1))
	if err != nil || len(body) > maxPayloadBytes {
		return events.APIGatewayV2HTTPRequest{}, http.StatusRequestEntityTooLarge
	}
	now := time.Now()
	event := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: path, RawQueryString: r.URL.RawQuery, Headers: headers,
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			Stage: "$default", RequestID: headers["x-amzn-trace-id"], APIID: "local", DomainName: r.Host,
			Time: now.Format("02/Jan/2006:15:04:05 -0700"), TimeEpoch: now.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: r.Method, Path: path, Protocol: r.Proto, SourceIP: "127.0.0.1", UserAgent: r.UserAgent(),
			},
		},
	}
	if isText(r.Header.Get("Content-Type")) {
		event.Body = string(body)
	} else if len(body) > 0 {
		event.Body, event.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return event, 0
}

// joinHeaders returns the headers of an event and their total length.
func joinHeaders(r *http.Request) (headers map[string]string, bytes int) {
	headers = map[string]string{"host": r.Host}
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	for name, value := range headers {
		bytes += len(name) + len(value)
	}
	return headers, bytes + len(r.URL.RequestURI())
}

// isText reports whether a body of this type is passed on without base64.
func isText(contentType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	switch kind = strings.TrimSpace(kind); kind {
	case "application/json", "application/xml", "application/javascript":
		return true
	}
	return strings.HasPrefix(kind, "text/")
}

// decode decodes a path like an HTTP API: all escapes except the one for the percent sign.
func decode(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) && path[i+1:i+3] != "25" {
			b.WriteByte(unhex(path[i+1])<<4 | unhex(path[i+2]))
			i += 2
			continue
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

// unhex returns the value of a hexadecimal digit, which net/url has checked.
func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

// write sends the response of a function to the client.
func (h *handler) write(w http.ResponseWriter, answer []byte) {
	var response events.APIGatewayV2HTTPResponse
	err := json.Unmarshal(answer, &response)
	body := []byte(response.Body)
	if err == nil && response.IsBase64Encoded {
		body, err = base64.StdEncoding.DecodeString(response.Body)
	}
	if err != nil || response.StatusCode == 0 {
		h.log.Error("a function's answer is none", "error", err)
		refuse(w, http.StatusInternalServerError)
		return
	}
	for name, value := range response.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(body) // the client may have disconnected
}

// refuse sends an error of the gateway itself, in the gateway's form.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": http.StatusText(status)})
}
