package main

import (
	"context"
	"log/slog"
	"time"

	"tiltyard/shared/record"
)

// sweepEvery is how often records that have expired are deleted, and how old they are
// then at least: so long the server remembers what it answered.
const sweepEvery = 24 * time.Hour

// startSweeps deletes expired records now and then, until the context ends, for which wait
// waits.
func startSweeps(ctx context.Context, records record.Store, logger *slog.Logger) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for {
			deleted, err := record.Sweep(ctx, records, sweepEvery)
			if err != nil && ctx.Err() == nil {
				logger.Warn("expired records were not deleted", "error", err)
			}
			logger.Debug("expired records are deleted", "count", deleted)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { <-done }
}
