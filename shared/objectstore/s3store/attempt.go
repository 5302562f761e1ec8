package s3store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tiltyard/shared/objectstore"
	"tiltyard/shared/pause"
)

// A pace determines how long and how often a request is tried. An attempt in this package is one
// HTTP request to S3.
type pace struct {
	attempts  int           // attempts that may fail
	conflicts int           // further attempts after conflicts with other requests
	first     time.Duration // upper bound of the first pause; each further one is twice as long
	longest   time.Duration
	patience  time.Duration // time limit of a request without bytes
	perByte   time.Duration // additional time per byte
}

var usualPace = pace{
	attempts: 5, conflicts: 20,
	first: 50 * time.Millisecond, longest: 2 * time.Second,
	patience: 10 * time.Second,
	perByte:  2 * time.Microsecond, // half a megabyte a second
}

// limit is the time limit of one attempt that transfers the given bytes.
func (p pace) limit(bytes int64) time.Duration {
	return p.patience + time.Duration(bytes)*p.perByte
}

// pause waits before the next attempt after n failed ones.
func (p pace) pause(ctx context.Context, n int) error {
	return pause.Backoff(ctx, p.first, p.longest, n-1)
}

// An outcome is what the failure of an attempt means for the request.
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
		var network *net.OpError
		if errors.As(err, &network) && network.Op == "dial" {
			return refused // the request was never sent
		}
		return unclear
	case errors.As(err, &answer):
		return outcomeOfStatus(answer.HTTPStatusCode(), codeOf(err))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return unclear
	}
	return settled // never sent: there are no credentials, or no endpoint
}

func outcomeOfStatus(status int, code string) outcome {
	switch {
	case code == "ConditionalRequestConflict" || code == "OperationAborted":
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

// codeOf returns the code in the body of an error answer, "" if there is none.
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

// A request can be attempted several times.
type request struct {
	name  string // name in the log
	key   string
	bytes int64 // bytes that it transfers, as far as known in advance
	send  func(ctx context.Context, limit *time.Timer) error
}

// do makes attempts until one succeeds or a further one is useless. doubt is true if a failed
// attempt may have been carried out. The error is that of the last attempt.
func (s *Store) do(ctx context.Context, r request) (doubt bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	conflicts := 0
	for n := 1; ; n++ {
		err = s.try(ctx, r)
		if err == nil {
			return doubt, nil
		}
		outcome := outcomeOf(err)
		doubt = doubt || outcome == unclear
		if outcome == conflict && conflicts < s.pace.conflicts {
			conflicts++
		}
		if ctx.Err() != nil {
			return doubt, fmt.Errorf("%w, in attempt %d: %w", ctx.Err(), n, err)
		}
		if outcome == settled || n-conflicts >= s.pace.attempts {
			return doubt, after(n, err)
		}
		s.log.WarnContext(ctx, "storage request failed and is sent again", "request", r.name, "key", r.key, "attempt", n, "error", err)
		if pauseErr := s.pace.pause(ctx, n); pauseErr != nil {
			return doubt, fmt.Errorf("%w, after attempt %d: %w", pauseErr, n, err)
		}
	}
}

// try makes one attempt with a time limit.
func (s *Store) try(ctx context.Context, r request) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(s.pace.limit(r.bytes), func() { cancel(errStalled) })
	defer limit.Stop()
	err := r.send(ctx, limit)
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return fmt.Errorf("%w: %w: %w", errBroken, errStalled, err)
	}
	return err
}

// after adds the number of attempts to an error if there was more than one.
func after(attempts int, err error) error {
	if attempts == 1 {
		return err
	}
	return fmt.Errorf("after %d attempts: %w", attempts, err)
}

// read makes the attempts of a request that changes nothing. The error is ErrNotExist when the
// object does not exist.
func (s *Store) read(ctx context.Context, r request) error {
	_, err := s.do(ctx, r)
	if isMissing(err) {
		return objectstore.ErrNotExist
	}
	return err
}

// isMissing reports whether the server has no such object. The answer to HEAD has no body, so a
// missing bucket looks the same.
func isMissing(err error) bool {
	if !isStatus(err, http.StatusNotFound) {
		return false
	}
	code := codeOf(err)
	return code == "NoSuchKey" || code == "NotFound"
}

// write makes the attempts of a request that changes an object under cond.
func (s *Store) write(ctx context.Context, name, full string, bytes int64, cond objectstore.Condition, send func(context.Context) error) error {
	doubt, err := s.do(ctx, request{name, full, bytes, func(ctx context.Context, _ *time.Timer) error { return send(ctx) }})
	switch {
	case err == nil:
		return nil
	case doubt:
		return fmt.Errorf("%w: %w", objectstore.ErrUnknownOutcome, err)
	case isStatus(err, http.StatusPreconditionFailed), cond.IfMatch != "" && isMissing(err):
		return objectstore.ErrPrecondition
	}
	return err
}
