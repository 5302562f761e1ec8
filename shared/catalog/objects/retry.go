package objects

import (
	"context"
	"time"

	"tiltyard/shared/pause"
)

const (
	// Tries bounds how often work starts again because an object has changed.
	Tries = 5
	// ManyTries is Tries for objects that many writers change at the same time.
	ManyTries = 250

	// FirstPause is the first wait of [Pause].
	FirstPause = 5 * time.Millisecond

	// PageSize is how many keys one LIST request returns.
	PageSize = 1000
)

// Pause waits before work that another process holds up is tried again. attempt counts from 0, and
// each wait is twice as long as the one before, up to the sixth.
func Pause(ctx context.Context, attempt int) error {
	return pause.For(ctx, FirstPause<<min(attempt, 5))
}
