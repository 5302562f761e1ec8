// Package lambdaexec calls executors that are functions of AWS. An event of one is a call as package
// executor describes it, and its response a stream or a fault:
//
//	{"tiltyard": 1, "call": {…}, "arrow": base64 of the stream}
//	{"arrow": base64 of the stream}, or {"error_type": …, "message": …, "retryable": …}
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
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tiltyard/shared/function/executor"
	"tiltyard/shared/memory"
)

const (
	// maxEventBytes is the size of the largest event and response that Lambda takes.
	maxEventBytes = 6 << 20
	// maxAnswerBytes is how much is read of an answer of Lambda; its errors are small.
	maxAnswerBytes = maxEventBytes + 64<<10
)

// A Carrier brings calls to one function. It has nothing to close, and its lines are itself.
type Carrier struct {
	client *lambda.Client
	arn    string
}

// Open opens the carrier to a function, in its region and with the credentials of the environment. It
// sends no request.
func Open(arn string) (executor.Carrier, error) {
	c, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		return nil, err
	}
	if parts := strings.Split(arn, ":"); len(parts) > 3 {
		c.Region = parts[3]
	}
	return New(c, arn), nil
}

// New is Open with a configuration.
func New(c aws.Config, arn string) *Carrier {
	return &Carrier{arn: arn, client: lambda.NewFromConfig(c, func(o *lambda.Options) {
		o.Retryer = aws.NopRetryer{} // the callers of functions repeat calls
		o.HTTPClient = bounded{o.HTTPClient}
	})}
}

// bounded is a client that reads no more of a response than one may have.
type bounded struct{ lambda.HTTPClient }

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

// A bound is a reader that fails when more than left bytes come.
type bound struct {
	from io.Reader
	left int
}

func (b *bound) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// Connect returns the carrier itself: calls are independent of each other.
func (c *Carrier) Connect() executor.Line { return c }

// Close does nothing.
func (c *Carrier) Close() error { return nil }

// An event is the argument of the function.
type event struct {
	Format int            `json:"tiltyard"`
	Call   *executor.Call `json:"call"`
	Arrow  []byte         `json:"arrow"`
}

// Do invokes the function once.
func (c *Carrier) Do(ctx context.Context, call *executor.Call, stream []byte, limit int64) (*executor.Bytes, error) {
	held, err := memory.Take(ctx, int64(len(stream)+len(call.Artifact))*4/3+maxAnswerBytes)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	payload, err := json.Marshal(event{Format: 1, Call: call, Arrow: stream})
	if err != nil {
		return nil, fmt.Errorf("encode an event: %w", err)
	}
	if len(payload) > maxEventBytes {
		return nil, &executor.Fault{Type: executor.TooLarge, Message: fmt.Sprintf("the call is larger than the %d bytes of an event", maxEventBytes)}
	}
	out, err := c.client.Invoke(ctx, &lambda.InvokeInput{FunctionName: &c.arn, Payload: payload})
	if err != nil {
		return nil, faultOf(err)
	}
	if out.FunctionError != nil {
		return nil, crashOf(out.Payload)
	}
	var answer struct {
		Arrow *[]byte `json:"arrow"`
	}
	if err := json.Unmarshal(out.Payload, &answer); err != nil || answer.Arrow == nil {
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
	_ = json.Unmarshal(payload, &told) // what it does not tell stays empty
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
