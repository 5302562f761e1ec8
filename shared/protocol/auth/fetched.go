package auth

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	maxFetchedBytes = 1 << 20
	// fetchedAge is the age at which a value is fetched again. If that fails, the value stays in use
	// until fetchedLast.
	fetchedAge  = time.Minute
	fetchedLast = 15 * time.Minute
)

// fetched caches a value parsed from a remote text that may change. It fetches the text on first
// use, and again after a minute. It is safe for concurrent use.
type fetched[T any] struct {
	name  string // of the value, plural, for errors
	fetch func(context.Context) ([]byte, error)
	parse func([]byte) (*T, error)
	now   func() time.Time

	mu      sync.Mutex
	value   *T
	came    time.Time // time of the fetch of value
	asked   time.Time // time at which the last attempt began
	failure error     // of the last attempt
}

// current returns the value, or ServiceUnavailable if there is no valid one.
func (f *fetched[T]) current(ctx context.Context) (*T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if f.value != nil && now.Sub(f.came) < fetchedAge {
		return f.value, nil
	}
	if f.asked.IsZero() || now.Sub(f.asked).Abs() >= refreshPause {
		f.asked = now
		value, err := f.read(context.WithoutCancel(ctx)) // the value is for all requests
		if f.failure = err; err == nil {
			f.value, f.came = value, now
		}
	}
	if f.value == nil || now.Sub(f.came) >= fetchedLast {
		return nil, unavailable("the "+f.name+" cannot be had at present", f.failure)
	}
	return f.value, nil
}

// read fetches and parses the value now.
func (f *fetched[T]) read(ctx context.Context) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	text, err := f.fetch(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the %s: %w", f.name, err)
	}
	if len(text) > maxFetchedBytes {
		return nil, fmt.Errorf("the %s are larger than 1 MiB", f.name)
	}
	value, err := f.parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse the %s: %w", f.name, err)
	}
	return value, nil
}

// A Document is a value that an operator keeps in a remote text beside the policies. It is fetched, and stays in use, as
// they are.
type Document[T any] struct{ fetched[T] }

// OpenDocument returns the value that parse reads in the text. name, a plural, is for errors.
func OpenDocument[T any](name string, fetch func(context.Context) ([]byte, error), parse func([]byte) (*T, error), now func() time.Time) *Document[T] {
	return &Document[T]{fetched[T]{name: name, fetch: fetch, parse: parse, now: now}}
}

// Current returns the value. The error is ServiceUnavailable if it cannot be fetched.
func (d *Document[T]) Current(ctx context.Context) (*T, error) { return d.current(ctx) }

// Check fetches and parses the value now, and returns an error if it is malformed.
func (d *Document[T]) Check(ctx context.Context) error {
	_, err := d.read(ctx)
	return err
}
