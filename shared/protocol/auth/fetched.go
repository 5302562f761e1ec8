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
