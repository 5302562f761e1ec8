package s3store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"tiltyard/shared/process/backoff"
	"tiltyard/shared/storage/cloud"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/outage"
)

// A pace holds the time limits and retries of requests. An attempt in this package is one HTTP request to
// S3, or two concurrent ones.
type pace struct {
	attempts  int           // attempts that may fail
	conflicts int           // additional attempts after conflicts with other requests
	first     time.Duration // upper bound of the first pause, which doubles each time
	longest   time.Duration
	brief     time.Duration // time limit of the first attempt at a small request, which doubles each time
	patience  time.Duration // time limit of any other request without bytes, and the maximum for small requests
	perByte   time.Duration // additional time per byte
}

var usualPace = pace{
	attempts: 40, conflicts: 20,
	first: 50 * time.Millisecond, longest: 2 * time.Second,
	brief: 2 * time.Second, patience: 10 * time.Second,
	perByte: 2 * time.Microsecond, // half a megabyte a second
}

// smallBytes is the size up to which a request is small. Small requests usually take a fraction of a
// second, so a longer one indicates a stalled connection rather than a slow store.
const smallBytes = 512 << 10

// limit is the time limit of the nth attempt at a request.
func (p pace) limit(r request, n int) time.Duration {
	if !r.small() {
		return p.forBytes(r.bytes)
	}
	return min(p.brief<<min(n-1, 10), p.patience) + time.Duration(r.bytes)*p.perByte
}

// forBytes is the time limit of a transfer of bytes.
func (p pace) forBytes(bytes int64) time.Duration {
	return p.patience + time.Duration(bytes)*p.perByte
}

// longName and longNameAttempts are for servers that keep names as files: some answer 500 to a name that is too long.
const longName, longNameAttempts = 255, 3

// attempts returns the number of failed attempts after which a request fails.
func (s *Store) attempts(r request) int {
	isLong := func(name string) bool { return len(name) > longName }
	if !s.server.isS3 && slices.ContainsFunc(strings.Split(r.key, "/"), isLong) {
		return min(s.pace.attempts, longNameAttempts)
	}
	return s.pace.attempts
}

// A request describes a request that may be attempted several times.
type request struct {
	name  string // name in the log
	key   string
	bytes int64 // transferred bytes, as far as known in advance
	kind  kind
}

// A kind is the kind of a request.
type kind int

const (
	reads  kind = iota // it changes nothing
	writes             // changes one object, in a time proportional to its bytes
	works              // changes something else, or may take the server long: never sent twice concurrently
)

// small reports whether an answer usually comes within a second.
func (r request) small() bool { return r.kind != works && r.bytes < smallBytes }

// An attempt is an HTTP request in progress.
type attempt struct {
	pace  pace
	limit *time.Timer // ends the attempt
	large func()      // is called when the answer turns out to be large
}

// expect extends the time limit of an attempt to the time for a response of the given size.
func (a *attempt) expect(bytes int64) {
	a.limit.Reset(a.pace.forBytes(bytes))
	if bytes >= smallBytes {
		a.large()
	}
}

// A sender sends one HTTP request. It may be called twice concurrently.
type sender[T any] func(ctx context.Context, a *attempt) (T, error)

// do makes attempts until one succeeds or another one is useless. doubt is true if the server may have
// executed a failed attempt. The error is the last attempt's.
func do[T any](ctx context.Context, s *Store, r request, send sender[T]) (result T, doubt bool, err error) {
	if err := ctx.Err(); err != nil {
		return result, false, err
	}
	if r.kind != reads {
		if err := cloud.Begins(ctx); err != nil {
			return result, false, err
		}
	}
	conflicts, attempts, last := 0, s.attempts(r), cloud.LastAttempt(ctx)
	for n := 1; ; n++ {
		var unsure bool
		result, unsure, err = beside(ctx, s, r, n-conflicts, send)
		if err == nil {
			return result, doubt, nil
		}
		outcome := outcomeOf(err)
		doubt = doubt || unsure
		if outcome == conflict && conflicts < s.pace.conflicts {
			conflicts++
		}
		if ctx.Err() != nil {
			return result, doubt, fmt.Errorf("%w, in attempt %d: %w", ctx.Err(), n, err)
		}
		wait := rand.N(min(s.pace.first<<min(n-1, 20), s.pace.longest))
		if outcome == settled || n-conflicts >= attempts || time.Now().Add(wait).After(last) {
			return result, doubt, s.final(outcome, n, err)
		}
		s.log.WarnContext(ctx, "storage request failed and is sent again", "request", r.name, "key", r.key, "attempt", n, "error", err)
		if pauseErr := backoff.Sleep(ctx, wait); pauseErr != nil {
			return result, doubt, fmt.Errorf("%w, after attempt %d: %w", pauseErr, n, err)
		}
	}
}

// beside makes the n-th attempt. If a small request has no answer after half of its time limit, beside
// sends it again over another connection, because the first one may be stalled. The first success counts.
// If one of two writes fails, beside waits for the other, because the one may have been refused only
// because the other succeeded. unsure is true if the server may have executed a failed one.
func beside[T any](ctx context.Context, s *Store, r request, n int, send sender[T]) (result T, unsure bool, err error) {
	type answer struct {
		result T
		err    error
	}
	answers, large := make(chan answer, 2), make(chan struct{}, 2)
	ctx, stop := context.WithCancel(ctx)
	running := 0
	start := func(within time.Duration) {
		running++
		go func() {
			result, err := try(ctx, s, within, func() { large <- struct{}{} }, send)
			answers <- answer{result, err}
		}()
	}
	defer func() {
		stop()
		for ; running > 0; running-- {
			<-answers
		}
	}()
	limit, slow := s.pace.limit(r, n), make(<-chan time.Time)
	if r.small() {
		timer := time.NewTimer(limit / 2)
		defer timer.Stop()
		slow = timer.C
	}
	start(limit)
	for {
		select {
		case <-slow:
			s.log.WarnContext(ctx, "storage request is slow and is sent once more", "request", r.name, "key", r.key, "attempt", n)
			start(limit / 2)
		case <-large:
			slow = nil
		case a := <-answers:
			running--
			if a.err == nil {
				return a.result, unsure, nil
			}
			outcome := outcomeOf(a.err)
			unsure = unsure || outcome == unclear
			if err == nil || outcome == settled {
				err = a.err
			}
			if running == 0 || outcome == settled && r.kind == reads {
				return result, unsure, err
			}
		}
	}
}

// try makes one attempt with a time limit.
func try[T any](ctx context.Context, s *Store, within time.Duration, large func(), send sender[T]) (T, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(within, func() { cancel(errStalled) })
	defer limit.Stop()
	result, err := send(ctx, &attempt{s.pace, limit, large})
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return result, fmt.Errorf("%w: %w: %s", errBroken, errStalled, err) //nolint:errorlint // it is not the caller who has cancelled it
	}
	return result, err
}

// final is the error of a request that was sent n times.
func (s *Store) final(o outcome, n int, err error) error {
	if n > 1 {
		err = fmt.Errorf("after %d attempts: %w", n, err)
	}
	switch {
	case codeOf(err) == "NoSuchBucket":
		return outage.Missing("S3 bucket "+s.bucket, err)
	case o != settled:
		return outage.Busy("S3", err)
	}
	return err
}

// read makes the attempts of a request that changes nothing. The error is ErrNotExist when the
// object does not exist.
func read[T any](ctx context.Context, s *Store, name, key string, bytes int64, send sender[T]) (T, error) {
	result, _, err := do(ctx, s, request{name, key, bytes, reads}, send)
	if isMissing(err) {
		return result, objectstore.ErrNotExist
	}
	return result, err
}

// write makes the attempts of a request that changes an object under cond.
func write[T any](ctx context.Context, s *Store, r request, cond objectstore.Condition, send func(context.Context) (T, error)) (T, error) {
	result, doubt, err := do(ctx, s, r, func(ctx context.Context, _ *attempt) (T, error) { return send(ctx) })
	switch {
	case err == nil:
		return result, nil
	case doubt:
		return result, fmt.Errorf("%w: %w", objectstore.ErrUnknownOutcome, err)
	case isStatus(err, http.StatusPreconditionFailed), cond.IfMatch != "" && isMissing(err):
		return result, objectstore.ErrPrecondition
	}
	return result, err
}
