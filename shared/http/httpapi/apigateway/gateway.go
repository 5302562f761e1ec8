// Package apigateway lets an http.Handler answer the events of a gateway in front of a Lambda
// function: HTTP APIs and function URLs (payload 2.0), REST APIs (payload 1.0) and application load
// balancers. Only this package imports aws-lambda-go.
//
// A gateway delivers complete requests and takes complete responses of limited size. Bodies that
// are neither JSON nor text, or are compressed, are encoded as base64. A response that is too large,
// or that failed while it was written, is never delivered in part: the client gets an error instead.
//
// Function URLs and REST APIs can be configured to stream responses, which may then be larger.
// Events do not show this configuration, so [Serve] takes it as a parameter. A streamed response
// that fails after its start breaks off.
package apigateway

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

// maxPayloadBytes is the maximum answer of a synchronous invocation, as JSON with its envelope. For
// a load balancer the limit is lower.
const maxPayloadBytes = 6 << 20

// answerMargin is the part of the function's time that is reserved for the answer that the request
// timed out.
const answerMargin = 500 * time.Millisecond

// Serve answers events with the handler until the function is shut down. stream means that the
// function URLs and REST APIs which call the function stream its responses. atEnd is called when Lambda
// ends the function. Lambda announces that only to functions with an extension, which takes time at
// the start; so there is one only if atEnd has functions.
func Serve(handler http.Handler, stream bool, atEnd ...func()) {
	var options []lambda.Option
	if len(atEnd) > 0 {
		options = append(options, lambda.WithEnableSIGTERM(atEnd...))
	}
	if stream {
		lambda.StartWithOptions(New(handler).Stream, options...)
		return
	}
	lambda.StartWithOptions(New(handler), options...)
}

// Function answers single events. The Lambda runtime calls it.
type Function struct {
	handler     http.Handler
	streamBytes int // the longest streamed answer
}

// New returns the function that answers events with the handler.
func New(handler http.Handler) *Function {
	return &Function{handler: handler, streamBytes: maxStreamBytes}
}

// Invoke answers one event. It returns an error only for an event that no gateway sends; an error
// of the request is in the response.
func (f *Function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	event, err := parseEvent(ctx, payload)
	if err != nil {
		return nil, err
	}
	return f.answer(ctx, event)
}

// answer encodes the complete answer.
func (f *Function) answer(ctx context.Context, event event) ([]byte, error) {
	ctx, cancel := withMargin(event.origin(ctx))
	defer cancel()
	var response *recorder
	if event.ambiguous {
		response = ambiguousPath(event.request)
	} else {
		response = f.respond(ctx, event)
	}
	if response.answer == nil {
		return json.Marshal(event.encode(response))
	}
	return response.answer, nil
}

// withMargin returns a context that ends answerMargin before the function's time.
func withMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-answerMargin))
}

// respond runs the handler and records its response.
func (f *Function) respond(ctx context.Context, event event) (response *recorder) {
	response = newRecorder()
	response.event = event
	r := event.request.WithContext(ctx)
	defer func() {
		cause := recover()
		if cause != nil && cause != http.ErrAbortHandler {
			panic(cause)
		}
		switch status, _ := response.Withheld(cause != nil); status {
		case 0:
		case http.StatusRequestEntityTooLarge:
			response = tooLarge(r, response.header)
		default:
			response = brokenOff(r, response.header)
		}
	}()
	f.handler.ServeHTTP(response, r)
	return response
}
