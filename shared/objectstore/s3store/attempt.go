package s3store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tiltyard/shared/objectstore"
)

// A pace says how long and how often a request is tried.
type pace struct {
	attempts  int           // that may fail
	conflicts int           // further ones, after requests that met others
	first     time.Duration // upper bound of the first pause; it doubles
	longest   time.Duration
	patience  time.Duration // with a request of no bytes
	perByte   time.Duration // more of it
}

var usualPace = pace{
	attempts: 5, conflicts: 20,
	first: 50 * time.Millisecond, longest: 2 * time.Second,
	patience: 10 * time.Second,
	perByte:  2 * time.Microsecond, // half a megabyte a second
}

// limit is how long one attempt may take that moves so many bytes.
func (p pace) limit(bytes int64) time.Duration {
	return p.patience + time.Duration(bytes)*p.perByte
}

// pause waits before the attempt after n others.
func (p pace) pause(ctx context.Context, n int) error {
	timer := time.NewTimer(rand.N(min(p.first<<min(n-1, 20), p.longest)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// An outcome is what the failure of one attempt tells.
type outcome int

const (
	settled  outcome = iota // the answer is final, and the request changed nothing
	refused                 // it changed nothing and may be tried again
	conflict                // refused, because another request was on the same key
	unclear                 // it may have been carried out; it may be tried again
)

var (
	// errBroken says that the bytes of an answer did not all arrive.
	errBroken = errors.New("the answer broke off")
	// errStalled is the cause of an attempt that was given up.
	errStalled = errors.New("no answer in time")
)

// outcomeOf reads the failure of an attempt.
func outcomeOf(err error) outcome {
	var answer *awshttp.ResponseError
	var send *smithyhttp.RequestSendError
	switch {
	case errors.Is(err, errBroken):
		return unclear
	case errors.As(err, &send): // which the SDK wraps in an answer of status 0
		var network *net.OpError
		if errors.As(err, &network) && network.Op == "dial" {
			return refused // never sent
		}
		return unclear
	case errors.As(err, &answer):
		return outcomeOfStatus(answer.HTTPStatusCode(), codeOf(err))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return unclear
	}
	return settled // never sent: no credentials, no endpoint
}

func outcomeOfStatus(status int, code string) outcome {
	switch {
	case code == "ConditionalRequestConflict" || code == "OperationAborted":
		return conflict
	case code == "RequestTimeTooSkewed": // the SDK has learnt the server's time from it
		return refused
	case status == http.StatusTooManyRequests:
		return refused
	case status == http.StatusNotImplemented:
		return settled
	case status >= 500, status == http.StatusRequestTimeout, code == "RequestTimeout":
		return unclear
	case status < 300: // an error, or nothing that could be read, under a good status
		return unclear
	case code == "" && status != http.StatusPreconditionFailed: // what tells why did not arrive
		return refused
	}
	return settled
}

// codeOf is the code in the body of an error answer, if there is one.
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

// A request is what attempts are made of.
type request struct {
	name  string // for the log
	key   string
	bytes int64 // that it moves, as far as that is known before
	send  func(ctx context.Context, limit *time.Timer) error
}

// do makes attempts until one succeeds or there is no sense in another. doubt is true if
// any of those that failed may have been carried out. The error is that of the last.
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

// try makes one attempt, which is given up when it stalls.
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

// after says of an error how many attempts came to it, where that is news.
func after(attempts int, err error) error {
	if attempts == 1 {
		return err
	}
	return fmt.Errorf("after %d attempts: %w", attempts, err)
}

// read makes the attempts of a request that changes nothing. If it fails because the
// object is not there, that is ErrNotExist.
func (s *Store) read(ctx context.Context, r request) error {
	_, err := s.do(ctx, r)
	if isMissing(err) {
		return objectstore.ErrNotExist
	}
	return err
}

// isMissing says whether the server has no such object. An answer to HEAD has no body that
// could tell it from a missing bucket.
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
