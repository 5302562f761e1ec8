package s3store

import (
	"context"
	"errors"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tiltyard/shared/storage/cloud"
)

// An outcome is the consequence of a failed attempt for the request.
type outcome int

const (
	settled  outcome = iota // the answer is final, and nothing was changed
	refused                 // nothing was changed, and the request may be tried again
	conflict                // refused, because another request is changing the same key
	unclear                 // the request may have been carried out; it may be tried again
)

var (
	// errBroken means that the bytes of an answer did not all arrive.
	errBroken = errors.New("the answer broke off")
	// errStalled is the cause of an attempt that exceeded its time limit.
	errStalled = errors.New("no answer in time")
)

// outcomeOf determines the outcome of a failed attempt.
func outcomeOf(err error) outcome {
	var answer *awshttp.ResponseError
	var send *smithyhttp.RequestSendError
	switch {
	case errors.Is(err, errBroken):
		return unclear
	case errors.As(err, &send): // which the SDK wraps in an answer of status 0
		if cloud.Unsent(err) {
			return refused
		}
		return unclear
	case errors.As(err, &answer):
		return outcomeOfStatus(answer.HTTPStatusCode(), codeOf(err))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return unclear
	}
	return settled // never sent: no credentials, or no endpoint
}

// outcomeOfStatus classifies an error response by its status and code.
func outcomeOfStatus(status int, code string) outcome {
	switch {
	case code == "ConditionalRequestConflict" || code == "OperationAborted":
		return conflict
	case code == "ExistingObjectIsDirectory": // of versitygw, while the folder of the object is being removed
		return conflict
	case code == "RequestTimeTooSkewed": // the SDK has learnt the server's time from the answer
		return refused
	case status == http.StatusTooManyRequests:
		return refused
	case status == http.StatusNotImplemented:
		return settled
	case status >= 500, status == http.StatusRequestTimeout, code == "RequestTimeout":
		return unclear
	case status < 300: // the status is good, but the body is an error or unreadable
		return unclear
	case code == "" && status != http.StatusPreconditionFailed: // the body with the reason did not arrive
		return refused
	}
	return settled
}

// codeOf returns the error code in the body of a response, or "".
func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func isStatus(err error, status int) bool {
	var answer *awshttp.ResponseError
	return errors.As(err, &answer) && answer.HTTPStatusCode() == status
}

// isMissing reports whether the server has no such object. A HEAD response has no body, so a missing bucket
// is indistinguishable.
func isMissing(err error) bool {
	if !isStatus(err, http.StatusNotFound) {
		return false
	}
	code := codeOf(err)
	return code == "NoSuchKey" || code == "NotFound"
}
