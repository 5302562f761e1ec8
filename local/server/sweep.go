package main

import (
	"context"
	"log/slog"
	"time"

	"tiltyard/shared/storage/record"
)

// sweepEvery is the interval between deletions of expired records, and the minimum time since their
// expiry. The server keeps the answers to requests for that long.
const sweepEvery = 24 * time.Hour

// startSweeps deletes expired records at intervals until the context ends. wait waits until it has
// stopped.
func startSweeps(ctx context.Context, records record.Store, logger *slog.Logger) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for {
			deleted, err := record.Sweep(ctx, records, sweepEvery)
			if err != nil && ctx.Err() == nil {
				logger.Warn("could not delete expired records", "error", err)
			}
			logger.Debug("deleted expired records", "count", deleted)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { <-done }
}
