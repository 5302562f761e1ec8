package main

import (
	"context"
	"sync"
	"time"

	"tiltyard/shared/boot"
	"tiltyard/shared/service/all"
)

const (
	// jobsAtATime is how many jobs are worked on beside the requests.
	jobsAtATime = 2
	// lookEvery is how often all tables are looked at, also those that nobody writes to.
	lookEvery = 24 * time.Hour
	// reviveEvery is how often jobs are looked for whose messages are lost: those of another
	// server over the same root, which has died.
	reviveEvery = 5 * time.Minute
)

// startWorker works on jobs until the context ends, for which wait waits. It begins with those
// that an earlier run of the program has left.
func startWorker(ctx context.Context, services all.Services, env *boot.Env) (wait func()) {
	var group sync.WaitGroup
	group.Go(func() { services.Worker.Serve(ctx, jobsAtATime) })
	group.Go(func() {
		find := services.Worker.Recover // at first those that this program has left
		every(ctx, reviveEvery, func() {
			jobs, err := find(ctx)
			if err != nil && ctx.Err() == nil {
				env.Logger.Warn("jobs were not looked for", "error", err)
				return
			}
			env.Logger.Debug("jobs go on", "count", jobs)
			find = services.Worker.ReviveAll
		})
	})
	if env.Maintain {
		group.Go(func() {
			every(ctx, lookEvery, func() {
				if err := services.Keeper.SuggestAll(ctx); err != nil && ctx.Err() == nil {
					env.Logger.Warn("not all tables were looked at", "error", err)
				}
			})
		})
	}
	return group.Wait
}

// every does something at once, and then now and then until the context ends.
func every(ctx context.Context, pause time.Duration, do func()) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for ctx.Err() == nil {
		do()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}
