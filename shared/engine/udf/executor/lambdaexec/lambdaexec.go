// Package lambdaexec calls executors that are AWS Lambda functions. The event is a call as package executor
// defines it, and the response a stream or a fault:
//
//	{"tiltyard": 1, "call": {…}, "arrow": base64 of the stream}
//	{"arrow": base64 of the stream}, or {"error_type": …, "message": …, "retryable": …}
//
// Events and responses are limited to six megabytes. If the service stores its objects in S3, larger data
// are passed through the bucket (reference.go). call.artifact_url and arrow_url replace artifact and arrow:
// the executor fetches them with GET. The executor may PUT the stream of a reply to reply_url, and then
// responds {"stored": true}. The worker signs each URL for one object and for the duration of one call.
package lambdaexec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tiltyard/shared/engine/udf/executor"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

const (
	// maxEventBytes is Lambda's limit for the size of an event and of a response.
	maxEventBytes = 6 << 20
	// maxAnswerBytes bounds the read part of a Lambda response; its errors are short.
	maxAnswerBytes = maxEventBytes + 64<<10
)

// A Carrier transports calls to one Lambda function.
type Carrier struct {
	client *lambda.Client
	arn    string
	passed passage
}

// Open returns a function that opens the carrier to a Lambda function, in its region, without a request.
// Data too large for an event are passed as objects below folder, which ends in a slash, in a store that
// signs URLs.
func Open(load func() (aws.Config, error), by objectstore.Store, folder string) func(arn string) (executor.Carrier, error) {
	return func(arn string) (executor.Carrier, error) {
		c, err := load()
		if err != nil {
			return nil, err
		}
		if parts := strings.Split(arn, ":"); len(parts) > 3 {
			c.Region = parts[3]
		}
		return New(c, arn, by, folder), nil
	}
}

// New returns a carrier with the given AWS configuration; see [Open].
func New(c aws.Config, arn string, by objectstore.Store, folder string) *Carrier {
	return &Carrier{arn: arn, passed: passage{by, folder}, client: lambda.NewFromConfig(c, func(o *lambda.Options) {
		o.Retryer = aws.NopRetryer{} // the callers of functions repeat calls
		o.HTTPClient = bounded{o.HTTPClient}
	})}
}

// bounded is an HTTP client that limits the size of response bodies.
type bounded struct{ lambda.HTTPClient }

// Do sends a request, and limits the body of the response.
func (b bounded) Do(r *http.Request) (*http.Response, error) {
	resp, err := b.HTTPClient.Do(r)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{&bound{resp.Body, maxAnswerBytes}, resp.Body}
	return resp, nil
}

// errTooLong is the error of a response that is longer than Lambda sends.
var errTooLong = errors.New("the response is longer than those of Lambda")

// A bound is a reader that fails after more than left bytes.
type bound struct {
	from io.Reader
	left int
}

// Read fails as soon as the limit is exceeded.
func (b *bound) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// Connect returns a line. If an artifact exceeds the events, the line stores it as an object.
func (c *Carrier) Connect() executor.Line { return &line{Carrier: c} }

// A line transports the calls of one use of a function.
type line struct {
	*Carrier
	artifact string // key of the artifact's object; "" until an event needs it
}

// Close removes the object of the artifact.
func (l *line) Close() error {
	if l.artifact == "" {
		return nil
	}
	return l.passed.remove(l.artifact)
}

// An event is the argument of the function.
type event struct {
	Format   int            `json:"tiltyard"`
	Call     *executor.Call `json:"call"`
	Arrow    []byte         `json:"arrow,omitempty"`
	ArrowURL string         `json:"arrow_url,omitempty"`
	ReplyURL string         `json:"reply_url,omitempty"`
}

// maxInlineArtifact is the maximum size of an artifact in an event. It reserves most of the event
// for rows.
const maxInlineArtifact = 1 << 20

// Room returns the size of the longest stream that an event transports with a call.
func (l *line) Room(call *executor.Call) int64 {
	without := *call
	without.Artifact = nil
	object, err := json.Marshal(without)
	if err != nil {
		return 0
	}
	taken := int64(len(object)) + referenceBytes
	if len(call.Artifact) <= maxInlineArtifact || !l.passed.works() {
		taken += inBase64(int64(len(call.Artifact)))
	}
	return max(0, (maxEventBytes-taken)/4*3)
}

// inBase64 returns the length of n bytes in base64.
func inBase64(n int64) int64 { return (n + 2) / 3 * 4 }

// Do invokes the function once.
func (l *line) Do(ctx context.Context, call *executor.Call, stream []byte, limit int64) (*executor.Bytes, error) {
	held, err := memory.Take(ctx, min(inBase64(int64(len(stream)+len(call.Artifact))), maxEventBytes)+maxAnswerBytes)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	e := event{Format: 1, Call: call, Arrow: stream}
	reply, room := "", l.Room(call)
	// With objects in S3, data beyond the limit of an event is passed through the bucket.
	if l.passed.works() {
		var remove func()
		if reply, remove, err = l.refer(ctx, &e, room); err != nil {
			return nil, err
		}
		defer remove()
	} else if int64(len(stream)) > room {
		return nil, &executor.Fault{Type: executor.TooLarge, Message: fmt.Sprintf(
			"the call does not fit into the %d bytes of an event: it has %d bytes of rows and %d of the function; only a service with a root in S3 passes more", maxEventBytes, len(stream), len(call.Artifact))}
	}
	payload, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode an event: %w", err)
	}
	out, err := l.client.Invoke(ctx, &lambda.InvokeInput{FunctionName: &l.arn, Payload: payload})
	if err != nil {
		return nil, faultOf(err)
	}
	if out.FunctionError != nil {
		return nil, crashOf(out.Payload)
	}
	var answer struct {
		Arrow  *[]byte `json:"arrow"`
		Stored bool    `json:"stored"`
	}
	switch err := json.Unmarshal(out.Payload, &answer); {
	case err == nil && answer.Stored && reply != "":
		return l.passed.take(ctx, reply, limit)
	// An answer without a stream is a fault.
	case err != nil || answer.Arrow == nil:
		return nil, executor.ReadFault(out.Payload)
	}
	return executor.KeepReply(ctx, *answer.Arrow, limit)
}

// crashOf returns the fault of a function that failed, or that Lambda has ended.
func crashOf(payload []byte) *executor.Fault {
	var told struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	_ = json.Unmarshal(payload, &told) // missing fields stay empty
	if strings.HasSuffix(told.Type, "ResponseSizeTooLarge") {
		return &executor.Fault{Type: executor.TooLarge, Message: "the reply is larger than responses of Lambda: " + told.Message}
	}
	return &executor.Fault{Type: executor.Crashed, Message: "the function of AWS failed: " + told.Type + ": " + told.Message}
}

// faultOf turns an error of an invocation into a fault.
func faultOf(err error) *executor.Fault {
	if errors.Is(err, errTooLong) {
		return &executor.Fault{Type: executor.TooLarge, Message: "the reply is larger than responses of Lambda", Err: err}
	}
	f := &executor.Fault{Type: executor.Unreachable, Message: "no whole reply came from Lambda", Retryable: true, Lost: true, Err: err}
	status := 0
	if answered := new(smithyhttp.ResponseError); errors.As(err, &answered) {
		status = answered.HTTPStatusCode()
	}
	if status == 0 || status == http.StatusOK { // it did not answer, or broke off
		return f
	}
	f.Message = "Lambda does not call the function"
	if named := smithy.APIError(nil); errors.As(err, &named) {
		f.Message += ": " + named.ErrorCode()
	}
	switch {
	case status == http.StatusTooManyRequests || status >= 500:
		f.Type = executor.Overloaded
	case status == http.StatusRequestEntityTooLarge:
		f.Type, f.Retryable, f.Lost = executor.TooLarge, false, false
	default:
		f.Type, f.Retryable = executor.Refused, false
	}
	return f
}
