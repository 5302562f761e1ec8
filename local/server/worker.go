package main

import (
	"context"
	"sync"
	"time"

	"tiltyard/shared/boot"
	"tiltyard/shared/jobs/usage"
	"tiltyard/shared/service/all"
)

const (
	// jobsAtATime is the number of jobs that run in parallel to requests.
	jobsAtATime = 2
	// pollEvery is the interval at which all tables are checked for maintenance, including tables that
	// are not written.
	pollEvery = 24 * time.Hour
	// followEvery is the interval between polls of all views with automatic refresh. Writes through the
	// server cause polls of their own.
	followEvery = time.Hour
	// announceEvery is the interval at which changes are announced that no poll has announced, such as commits of other
	// programs.
	announceEvery = time.Hour
	// foldEvery is the interval at which the usage of the hours that have ended is added to its table.
	foldEvery = 10 * time.Minute
	// reviveEvery is the interval at which the server searches for jobs whose messages are lost,
	// because another server on the same root has died.
	reviveEvery = 5 * time.Minute
)

// startWorker runs jobs until the context ends. wait waits until it has stopped. As soon as an
// earlier process has ended, it resumes the jobs that the process left.
func startWorker(ctx context.Context, services all.Services, env *boot.Env, earlierEnded <-chan struct{}) (wait func()) {
	var group sync.WaitGroup
	group.Go(func() { services.Worker.Serve(ctx, jobsAtATime) })
	group.Go(func() {
		<-earlierEnded
		find := services.Worker.Recover // the first search is for the jobs of earlier runs of this program
		every(ctx, reviveEvery, func() {
			jobs, err := find(ctx)
			if err != nil && ctx.Err() == nil {
				env.Logger.Warn("could not look for unfinished jobs", "error", err)
				return
			}
			env.Logger.Debug("continuing unfinished jobs", "count", jobs)
			find = services.Worker.ReviveAll
		})
	})
	poll := services.Keeper.Sweep
	if env.Maintain {
		poll = services.Keeper.SuggestAll
	}
	group.Go(func() {
		every(ctx, pollEvery, func() {
			if err := poll(ctx); err != nil && ctx.Err() == nil {
				env.Logger.Warn("could not check all tables", "error", err)
			}
		})
	})
	group.Go(func() {
		every(ctx, followEvery, func() {
			if err := services.Follow(ctx); err != nil && ctx.Err() == nil {
				env.Logger.Warn("could not poll all views", "error", err)
			}
		})
	})
	if env.Meter != nil {
		group.Go(func() { every(ctx, usage.FlushEvery, env.FlushUsage) })
	}
	group.Go(func() {
		every(ctx, foldEvery, func() {
			if err := services.FoldUsage(ctx); err != nil && ctx.Err() == nil {
				env.Logger.Warn("could not have usage added to its table", "error", err)
			}
		})
	})
	if services.Announce != nil {
		group.Go(func() {
			every(ctx, announceEvery, func() {
				if err := services.Announce(ctx); err != nil && ctx.Err() == nil {
					env.Logger.Warn("could not have all changes announced", "error", err)
				}
			})
		})
	}
	return group.Wait
}

// every calls do at once, and then at intervals until the context ends.
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
