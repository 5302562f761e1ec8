// Package cloud configures the AWS clients of DynamoDB, SQS, KMS, STS, EventBridge, Lambda, and S3. Package s3store has
// retry rules of its own.
//
// [FromEnv] reads what functions of AWS need; other programs use package profiles. Both give an HTTP client with short timeouts for connections (transport.go). [Service.Client] bounds each attempt. It
// repeats requests that are throttled, cannot be sent or get no answer, until shortly before the deadline of their
// context. The error is then an [outage.Error].
package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"tiltyard/shared/storage/outage"
)

const (
	// Whole bounds the time for which a request is repeated. The deadline of its context may end that
	// earlier.
	Whole = 30 * time.Second
	// reserve is the minimum time before its deadline at which a write may begin. An answer usually takes less, so that the
	// outcome of the write is known at the deadline. It also leaves time to report an outage to the client.
	reserve = time.Second
	// maxAttempts bounds the load on a service that refuses requests at once.
	maxAttempts = 40
	// Pauses between attempts are up to firstPause, and each further one up to twice as long.
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
)

// Begins returns an error of a passed deadline when there is too little time to begin a write.
func Begins(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < reserve {
		return fmt.Errorf("not begun, because the time of the request is nearly over: %w", context.DeadlineExceeded)
	}
	return nil
}

// LastAttempt returns the latest begin of the last attempt of a request that begins now.
func LastAttempt(ctx context.Context) time.Time {
	now, whole := time.Now(), Whole
	if deadline, ok := ctx.Deadline(); ok {
		left := deadline.Sub(now)
		whole = min(whole, left-min(reserve, left/10))
	}
	return now.Add(whole)
}

// A Service is a service of AWS as this program uses it.
type Service struct {
	Name    string        // for users: "DynamoDB"
	What    string        // name for users, such as "the table of records in DynamoDB"
	Attempt time.Duration // time limit of an attempt
	Pause   time.Duration // upper bound of the pauses; 0: the default of this package
}

// UsualAttempt is the time limit of an attempt at a small request.
const UsualAttempt = 2 * time.Second

// waits maps operations that wait for an event to their maximum duration.
var waits = map[string]time.Duration{"ReceiveMessage": 20 * time.Second}

// Client returns the configuration of a client of the service.
func (s Service) Client(cfg aws.Config) aws.Config {
	longest := cmp.Or(s.Pause, longestPause)
	cfg.Retryer = func() aws.Retryer {
		return patient{retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = maxAttempts
			o.RateLimiter = ratelimit.None // the default limiter makes requests fail because others failed
			o.Backoff = retry.BackoffDelayerFunc(func(n int, _ error) (time.Duration, error) {
				return rand.N(min(firstPause<<min(n, 20), longest)), nil
			})
		})}
	}
	cfg.APIOptions = append(slices.Clip(cfg.APIOptions), func(stack *middleware.Stack) error {
		if err := stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Outage", s.request), middleware.Before); err != nil {
			return err
		}
		return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("LimitAttempt", s.attempt), "Retry", middleware.After)
	})
	return cfg
}

// A span is the time in which the attempts at a request begin.
type span struct{ begin, end time.Time }

type spanKey struct{}

// request bounds the attempts at a request, and names the outage that made it fail.
func (s Service) request(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	within := span{time.Now(), LastAttempt(ctx)}
	out, metadata, err := next.HandleInitialize(middleware.WithStackValue(ctx, spanKey{}, within), in)
	switch {
	case err == nil || ctx.Err() != nil:
	case lacks(err):
		err = outage.Missing(s.What, err)
	case isOutage(err):
		err = outage.Busy(s.Name, err)
	}
	return out, metadata, err
}

// attempt bounds one attempt.
func (s Service) attempt(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	limit := s.Attempt + waits[awsmiddleware.GetOperationName(ctx)]
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, metadata, err := next.HandleFinalize(limited, in)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = &stalled{limit, err.Error()}
	}
	return out, metadata, err
}

// A stalled is the error of an attempt without an answer in time. It does not wrap the SDK's error, which would look like
// a cancellation by the caller and prevent another attempt.
type stalled struct {
	after time.Duration
	text  string
}

func (s *stalled) Error() string { return fmt.Sprintf("no answer within %v: %s", s.after, s.text) }

// RetryableError is for the SDK.
func (s *stalled) RetryableError() bool { return true }

// patient is a retryer that begins no attempt too late.
type patient struct{ *retry.Standard }

// GetRetryToken refuses another attempt that might begin too late. Pauses double, so the next one is at most the sum of
// all earlier ones plus the first. The SDK joins the returned error with that of the last attempt.
func (p patient) GetRetryToken(ctx context.Context, cause error) (func(error) error, error) {
	if s, ok := middleware.GetStackValue(ctx, spanKey{}).(span); ok {
		now := time.Now()
		if pause := min(now.Sub(s.begin)+2*firstPause, longestPause); now.Add(pause).After(s.end) {
			return nil, errors.New("no time is left for another attempt")
		}
	}
	return p.Standard.GetRetryToken(ctx, cause)
}

// isOutage reports whether an error means that a service is overloaded or unreachable.
func isOutage(err error) bool {
	return retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary || Unsent(err)
}

// missing are the codes of answers that the configured table, queue or key does not exist, or cannot be used.
var missing = []string{
	"ResourceNotFoundException",                                    // DynamoDB, EventBridge
	"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", // SQS
	"NotFoundException", "DisabledException", "KMSInvalidStateException", // KMS
}

func lacks(err error) bool {
	var answer smithy.APIError
	return errors.As(err, &answer) && slices.Contains(missing, answer.ErrorCode())
}

// Unsent reports whether the request of an attempt was never sent, because there was no connection.
func Unsent(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}

// Doubtful reports whether a failed attempt may have been carried out. It was not if it could not be sent, or if the
// service refused it: also for its load, which services of this kind answer with a status below 500.
func Doubtful(err error) bool {
	var answer interface{ HTTPStatusCode() int }
	refused := errors.As(err, &answer) && answer.HTTPStatusCode() >= 400 && answer.HTTPStatusCode() < 500
	return !refused && !Unsent(err)
}
