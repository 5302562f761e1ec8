package apigateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"tiltyard/shared/process/requestid"
)

// event is a request and the functions that answer it in the form of its gateway.
type event struct {
	request *http.Request
	encode  func(*recorder) any
	gateway string                      // id of the request at the gateway; may be empty
	limit   int                         // largest answer in bytes, as JSON
	stream  func(*stream) io.ReadCloser // nil if the gateway needs complete answers
	// ambiguous means that several original paths may have been decoded to this one.
	ambiguous bool
}

// parseEvent recognizes each form of event by a field that only this form has.
func parseEvent(ctx context.Context, payload []byte) (event, error) {
	var form struct {
		Version        string `json:"version"`
		HTTPMethod     string `json:"httpMethod"`
		RequestContext struct {
			ELB *json.RawMessage `json:"elb"`
		} `json:"requestContext"`
	}
	if err := json.Unmarshal(payload, &form); err != nil {
		return event{}, fmt.Errorf("parse the event: %w", err)
	}
	switch {
	case form.Version == "2.0":
		return parseV2(ctx, payload)
	case form.RequestContext.ELB != nil:
		return parseALB(ctx, payload)
	case form.HTTPMethod != "":
		return parseV1(ctx, payload)
	}
	return event{}, errors.New("the event is not from an HTTP API, a REST API, a load balancer or a function URL")
}

// parseV2 reads payload 2.0. It gives the adapter library a harmless path and query, because the
// library fails on some real ones, and then sets the real ones, undecoded.
func parseV2(ctx context.Context, payload []byte) (event, error) {
	var in events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(payload, &in); err != nil {
		return event{}, fmt.Errorf("parse the event: %w", err)
	}
	path, query := in.RawPath, in.RawQueryString
	if path == "" {
		path = in.RequestContext.HTTP.Path
	}
	in.RawPath, in.RawQueryString, in.QueryStringParameters = "/", "", nil
	var accessor core.RequestAccessorV2
	r, err := accessor.EventToRequestWithContext(ctx, in)
	if err != nil {
		return event{}, fmt.Errorf("convert the event: %w", err)
	}
	answer := event{request: r, encode: encodeV2, gateway: in.RequestContext.RequestID, limit: maxPayloadBytes}
	if strings.Contains(in.RequestContext.DomainName, functionURLDomain) {
		answer.stream = streamV2
	} else if path, answer.ambiguous, err = undecode(r, path, query); err != nil {
		return event{}, err
	}
	setURL(r, path, query)
	// The adapter splits values at commas, which some of our headers contain.
	for name, value := range in.Headers {
		r.Header.Set(name, value)
	}
	return answer, nil
}

// origin returns the context with the names that AWS gave to the event.
func (e event) origin(ctx context.Context) context.Context {
	o := requestid.IDs{Gateway: e.gateway}
	if call, ok := lambdacontext.FromContext(ctx); ok {
		o.Lambda = call.AwsRequestID
	}
	return requestid.With(ctx, o)
}

// functionURLDomain occurs in the domain names of function URLs only.
const functionURLDomain = ".lambda-url."

// parseV1 reads payload 1.0, whose query parameters are already decoded.
func parseV1(ctx context.Context, payload []byte) (event, error) {
	var in events.APIGatewayProxyRequest
	if err := json.Unmarshal(payload, &in); err != nil {
		return event{}, fmt.Errorf("parse the event: %w", err)
	}
	path, query := in.Path, url.Values(in.MultiValueQueryStringParameters)
	if query == nil {
		query = url.Values{}
		for name, value := range in.QueryStringParameters {
			query.Set(name, value)
		}
	}
	in.Path, in.MultiValueQueryStringParameters, in.QueryStringParameters = "/", nil, nil
	var accessor core.RequestAccessor
	r, err := accessor.EventToRequestWithContext(ctx, in)
	if err != nil {
		return event{}, fmt.Errorf("convert the event: %w", err)
	}
	setURL(r, path, query.Encode())
	// A REST API adds its own User-Agent if the client sends none. The absence identifies one native client.
	if strings.HasPrefix(r.UserAgent(), "AmazonAPIGateway_") {
		r.Header.Del("User-Agent")
	}
	// It also adds this Accept, which would request rows as JSON from those who expect Arrow.
	if r.Header.Get("Accept") == "application/json" {
		r.Header.Del("Accept")
	}
	return event{request: r, encode: encodeV1, gateway: in.RequestContext.RequestID, limit: maxPayloadBytes, stream: streamV1}, nil
}

// setURL sets the path of the request to the path of the event. Some gateways decode paths: a path
// that could not have been sent in this form counts as decoded. These gateways replace invalid
// UTF-8 by U+FFFD. setURL makes it invalid again, because requests for different names would
// otherwise refer to the same object.
func setURL(r *http.Request, path, query string) {
	path = strings.ReplaceAll(path, "\uFFFD", "\xff")
	r.URL.Path, r.URL.RawPath = path, ""
	if decoded, err := url.PathUnescape(path); err == nil {
		r.URL.Path, r.URL.RawPath = decoded, path // net/url ignores an inconsistent RawPath
	}
	r.URL.RawQuery = query
	r.RequestURI = r.URL.RequestURI()
}

func encodeV2(response *recorder) any {
	body, isBase64 := response.text()
	return events.APIGatewayV2HTTPResponse{
		StatusCode: response.status, Headers: joined(response.header), Body: body, IsBase64Encoded: isBase64,
	}
}

// joined returns headers for a gateway with one value per header.
func joined(header http.Header) map[string]string {
	values := make(map[string]string, len(header))
	for name, several := range header {
		values[name] = strings.Join(several, ",")
	}
	return values
}

func encodeV1(response *recorder) any {
	body, isBase64 := response.text()
	return events.APIGatewayProxyResponse{
		StatusCode: response.status, MultiValueHeaders: response.header, Body: body, IsBase64Encoded: isBase64,
	}
}

// text returns the body in the form of an event: unchanged if it is JSON or text that is not compressed,
// and as base64 otherwise.
func (w *recorder) text() (body string, isBase64 bool) {
	kind, _, _ := mime.ParseMediaType(w.header.Get("Content-Type"))
	isText := kind == "application/json" || strings.HasPrefix(kind, "text/")
	if w.body.Len() == 0 || isText && w.header.Get("Content-Encoding") == "" {
		return w.body.String(), false
	}
	return base64.StdEncoding.EncodeToString(w.body.Bytes()), true
}
