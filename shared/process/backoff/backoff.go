// Package backoff waits: for a time, or between attempts at something that failed.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Sleep waits for a time. It returns the error of the context if the context ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Wait waits before the next attempt for a random time, so that writers that collide once do not
// do so again. The time is less than first, doubled with each earlier attempt, and less than
// longest. attempt counts from 0.
func Wait(ctx context.Context, first, longest time.Duration, attempt int) error {
	return Sleep(ctx, rand.N(min(first<<min(attempt, 20), longest)))
}
