// Package sweep schedules polls of all tables, or of all views; each poll then decides whether there is work. A catalog
// may have more tables than one worker can list within the time limit of a function, so this is itself a job. It reads the
// catalog page by page, sends the messages of a page together, and checkpoints its position after each page.
//
// In a deployment without a long-running process, scheduled events begin these jobs. A worker that dies after it has sent
// the messages of a page causes duplicate polls, which do no harm.
package sweep

import (
	"context"

	"tiltyard/shared/events/changefeed"
	"tiltyard/shared/jobs"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
	"tiltyard/shared/work/refresh"
)

// Kinds of jobs.
const (
	TablesKind = "look_at_tables" // schedules a maintenance check of each table
	ViewsKind  = "look_at_views"  // schedules a poll of each view with automatic refresh
)

// Names of stages.
const (
	sweepStage = "sweep"
	pollStage  = "look"
)

// Tables returns the kind of [TablesKind]. Its first stage sweeps the leftovers of crashed writers from the catalog.
func Tables(keeper *maintain.Keeper) jobs.Kind {
	sweep := func(ctx context.Context, _ *jobs.Run) (any, error) { return nil, keeper.Sweep(ctx) }
	return jobs.Kind{Poll: always, Stages: []jobs.Stage{
		{Name: sweepStage, Do: sweep},
		{Name: pollStage, Do: pages(keeper.SuggestPage)},
	}}
}

// Views returns the kind of [ViewsKind].
func Views(on tables.Tables) jobs.Kind {
	poll := func(ctx context.Context, object []string) (*jobs.Trigger, error) {
		if on.Announcer != nil && on.Jobs != nil {
			// The schedule that sends ViewsKind also serves announcements, and the metering of usage.
			if err := on.Jobs.Suggest(ctx, changefeed.AllKind, nil, 0); err != nil {
				return nil, err
			}
		}
		if err := on.FoldUsage(ctx); err != nil {
			return nil, err
		}
		return always(ctx, object)
	}
	return jobs.Kind{Poll: poll, Stages: []jobs.Stage{
		{Name: pollStage, Do: pages(func(ctx context.Context, after string) (int, string, error) {
			return refresh.SuggestPage(ctx, on, after)
		})},
	}}
}

// always begins a job for each message of the schedule. Its mark is empty, so a job that was set aside does not prevent
// the next one.
func always(_ context.Context, object []string) (*jobs.Trigger, error) {
	if len(object) > 0 {
		return nil, nil
	}
	return &jobs.Trigger{Input: struct{}{}}, nil
}

// A state is the position of a job in the catalog.
type state struct {
	After string `json:"after"` // the end of the last page
	result
}

// A result is the result of a job.
type result struct {
	Polls int64 `json:"looks"` // number of scheduled polls
}

// pages returns the function of a stage. suggest schedules the polls of the page after a position, and returns their
// number and the start of the next page, "" at the end.
func pages(suggest func(ctx context.Context, after string) (polls int, next string, err error)) func(context.Context, *jobs.Run) (any, error) {
	return func(ctx context.Context, r *jobs.Run) (any, error) {
		var at state
		if err := r.State(&at); err != nil {
			return nil, err
		}
		for {
			polls, next, err := suggest(ctx, at.After)
			if err != nil {
				return nil, err
			}
			at.After, at.Polls = next, at.Polls+int64(polls)
			r.Progress(jobs.Progress{Done: at.Polls})
			if next == "" {
				return at.result, nil
			}
			if err := r.Checkpoint(ctx, at); err != nil {
				return nil, err
			}
		}
	}
}
