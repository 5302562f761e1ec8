package main

import (
	"context"
	"sync"
	"time"

	"tiltyard/shared/boot"
	"tiltyard/shared/service/all"
)

const (
	// jobsAtATime is how many jobs run beside the requests.
	jobsAtATime = 2
	// lookEvery is the interval at which all tables are checked for maintenance, including those
	// that are not written to.
	lookEvery = 24 * time.Hour
	// followEvery is the interval at which all views that follow their sources are looked at. Writes
	// through the server cause looks of their own.
	followEvery = time.Hour
	// announceEvery is the interval at which changes are announced that no look has announced, such as commits of
	// other programs.
	announceEvery = time.Hour
	// reviveEvery is the interval at which the server looks for jobs whose messages are lost. They
	// belong to another server over the same root, which has died.
	reviveEvery = 5 * time.Minute
)

// startWorker runs jobs until the context ends. wait returns after that. It begins with jobs that
// an earlier run of the program has left, as soon as that has ended.
func startWorker(ctx context.Context, services all.Services, env *boot.Env, earlierEnded <-chan struct{}) (wait func()) {
	var group sync.WaitGroup
	group.Go(func() { services.Worker.Serve(ctx, jobsAtATime) })
	group.Go(func() {
		<-earlierEnded
		find := services.Worker.Recover // the first search is for the jobs that this program has left
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
	look := services.Keeper.Sweep
	if env.Maintain {
		look = services.Keeper.SuggestAll
	}
	group.Go(func() {
		every(ctx, lookEvery, func() {
			if err := look(ctx); err != nil && ctx.Err() == nil {
				env.Logger.Warn("could not check all tables", "error", err)
			}
		})
	})
	group.Go(func() {
		every(ctx, followEvery, func() {
			if err := services.Follow(ctx); err != nil && ctx.Err() == nil {
				env.Logger.Warn("could not look at all views", "error", err)
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
