package parts

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"tiltyard/shared/process/memory"
)

// maxEventBytes is Lambda's limit for the event of a synchronous call, and for its response.
const maxEventBytes = 6 << 20

// invoking is a transport whose requests are calls of a Lambda function, in the form of events of an HTTP API
// (payload 2.0), which functions of this service answer anyway. It signs requests itself: the SDK's client of Lambda would
// be a megabyte of each function that serves queries.
type invoking struct {
	function string // name or ARN
	endpoint string // of Lambda's API; empty: that of the region
	aws      func() (aws.Config, error)
}

// An event is what a function reads of the event of an HTTP API.
type event struct {
	Version        string            `json:"version"`
	RawPath        string            `json:"rawPath"`
	RawQueryString string            `json:"rawQueryString"`
	Headers        map[string]string `json:"headers"`
	Body           string            `json:"body"`
	RequestContext struct {
		HTTP struct {
			Method   string `json:"method"`
			Path     string `json:"path"`
			SourceIP string `json:"sourceIp"`
		} `json:"http"`
	} `json:"requestContext"`
}

// A response is what a function answers to such an event.
type response struct {
	StatusCode      int               `json:"statusCode"`
	Headers         map[string]string `json:"headers"`
	Body            string            `json:"body"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

// RoundTrip calls the function once.
func (v *invoking) RoundTrip(r *http.Request) (*http.Response, error) {
	payload, err := eventOf(r)
	if err != nil {
		return nil, err
	}
	if len(payload) > maxEventBytes {
		return nil, fmt.Errorf("%w: %d bytes are more than an event may have", errNowhere, len(payload))
	}
	answer, err := v.invoke(r.Context(), payload)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	// Many answers of a query may wait at the same time. Each is in memory as it came, as text, and decoded, until it is read.
	size := answer.ContentLength
	if size < 0 || size > maxAnswerBytes {
		size = maxAnswerBytes
	}
	held, err := memory.Take(r.Context(), 3*size)
	if err != nil {
		return nil, err
	}
	out, err := v.read(r, answer)
	if err != nil {
		held.Release()
		return nil, err
	}
	if err := held.Resize(r.Context(), out.ContentLength); err != nil {
		held.Release()
		return nil, err
	}
	out.Body = &freeing{ReadCloser: out.Body, free: sync.OnceFunc(held.Release)}
	return out, nil
}

// maxAnswerBytes is more than Lambda sends.
const maxAnswerBytes = maxEventBytes + 1<<20

// read reads the response of Lambda.
func (v *invoking) read(r *http.Request, answer *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes))
	if err != nil {
		return nil, err
	}
	return responseOf(r, answer, body)
}

// freeing is the body of an answer whose memory is freed when it is closed.
type freeing struct {
	io.ReadCloser
	free func()
}

// Close frees the memory.
func (f *freeing) Close() error {
	f.free()
	return f.ReadCloser.Close()
}

// eventOf returns a request as an event.
func eventOf(r *http.Request) ([]byte, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close() // it was read
	}
	e := event{Version: "2.0", RawPath: r.URL.EscapedPath(), RawQueryString: r.URL.RawQuery, Headers: map[string]string{}, Body: string(body)}
	for name, values := range r.Header {
		e.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = r.Method, r.URL.Path
	return json.Marshal(e)
}

// invoke sends an event to the function, and returns the response of Lambda.
func (v *invoking) invoke(ctx context.Context, payload []byte) (*http.Response, error) {
	config, err := v.aws()
	if err != nil {
		return nil, err
	}
	region := config.Region
	if arn := strings.Split(v.function, ":"); len(arn) > 3 {
		region = arn[3]
	}
	base := cmp.Or(v.endpoint, "https://lambda."+region+".amazonaws.com")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(base, "/")+"/2015-03-31/functions/"+url.PathEscape(v.function)+"/invocations", bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	credentials, err := config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("credentials to call the function: %w", err)
	}
	sum := sha256.Sum256(payload)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(sum[:]), "lambda", region, time.Now()); err != nil {
		return nil, fmt.Errorf("sign the call of the function: %w", err)
	}
	return config.HTTPClient.Do(r)
}

// responseOf returns the response of the function as that of a server. Statuses of Lambda itself become errors.
func responseOf(r *http.Request, answer *http.Response, body []byte) (*http.Response, error) {
	switch {
	case answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusRequestEntityTooLarge:
		return nil, fmt.Errorf("%w: Lambda answers %s: %.200s", errNowhere, answer.Status, body)
	case answer.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("%w: Lambda answers %s: %.200s", errCrowded, answer.Status, body)
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("Lambda answers %s: %.200s", answer.Status, body) //nolint:staticcheck // a name
	case answer.Header.Get("X-Amz-Function-Error") != "":
		return nil, fmt.Errorf("the function failed: %.200s", body)
	}
	var out response
	if err := json.Unmarshal(body, &out); err != nil || out.StatusCode == 0 {
		return nil, fmt.Errorf("the function answers with something else than a response: %.200q", body)
	}
	content := []byte(out.Body)
	if out.IsBase64Encoded {
		var err error
		if content, err = base64.StdEncoding.DecodeString(out.Body); err != nil {
			return nil, fmt.Errorf("the body of the function's response: %w", err)
		}
	}
	header := http.Header{}
	for name, value := range out.Headers {
		header.Set(name, value)
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", out.StatusCode, http.StatusText(out.StatusCode)), StatusCode: out.StatusCode, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(content)), ContentLength: int64(len(content)), Request: r,
	}, nil
}
