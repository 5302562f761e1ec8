// Package apigateway lets an http.Handler answer the events of a gateway in front of a
// Lambda function: HTTP APIs and function URLs (payload 2.0), REST APIs (payload 1.0) and
// application load balancers. It alone knows aws-lambda-go.
//
// A gateway hands over whole requests and takes whole responses, within a limit of size.
// Bodies that are neither JSON nor text travel as base64. A response that is too large,
// or that broke off while it was written, is never delivered in part: the client gets an
// error in its place.
//
// Function URLs and REST APIs can be set up to take responses as they are written, which
// may be larger and are sent as they are. The events do not tell, so that the function has
// to be told. There a response that fails after it has begun breaks off.
package apigateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

// maxPayloadBytes is what a synchronous invocation may answer, as JSON with its envelope.
// A load balancer takes less.
const maxPayloadBytes = 6 << 20

// answerMargin is kept of the function's time to answer that the rest was not enough.
const answerMargin = 500 * time.Millisecond

// Serve answers events with the handler until the function is shut down. stream says that
// the function URLs and the REST APIs which call it take answers as they come.
func Serve(handler http.Handler, stream bool) {
	if stream {
		lambda.Start(New(handler).Stream)
		return
	}
	lambda.Start(New(handler))
}

// Function answers single events. It is what the Lambda runtime calls.
type Function struct {
	handler     http.Handler
	streamBytes int // the longest answer as a stream
}

// New returns the function that answers events with the handler.
func New(handler http.Handler) *Function {
	return &Function{handler: handler, streamBytes: maxStreamBytes}
}

// Invoke answers one event. The error is for events that no gateway sends; whatever goes
// wrong with a request is in the response.
func (f *Function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	event, err := parseEvent(ctx, payload)
	if err != nil {
		return nil, err
	}
	return f.answer(ctx, event)
}

// answer makes the whole answer.
func (f *Function) answer(ctx context.Context, event event) ([]byte, error) {
	ctx, cancel := withMargin(ctx)
	defer cancel()
	var response *recorder
	if event.ambiguous {
		response = ambiguousPath(event.request)
	} else {
		response = f.respond(event.request.WithContext(ctx))
	}
	answer, err := json.Marshal(event.encode(response))
	if err != nil {
		return nil, fmt.Errorf("encode the response: %w", err)
	}
	if len(answer) > event.limit {
		return json.Marshal(event.encode(tooLarge(event.request, response.header)))
	}
	return answer, nil
}

// withMargin keeps some of the function's time.
func withMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-answerMargin))
}

// respond runs the handler and keeps what it writes.
func (f *Function) respond(r *http.Request) (response *recorder) {
	response = newRecorder()
	defer func() {
		cause := recover()
		switch {
		case response.overflow:
			response = tooLarge(r, response.header)
		case cause == nil:
		case cause == http.ErrAbortHandler:
			response = brokenOff(r, response.header)
		default:
			panic(cause)
		}
	}()
	f.handler.ServeHTTP(response, r)
	return response
}

// errOverflow tells the handler that nobody will see the rest of its response.
var errOverflow = errors.New("response is larger than the gateway delivers")
