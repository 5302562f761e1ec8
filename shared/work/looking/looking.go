// Package looking has workers look at all tables, or at all views: each look then decides whether there is
// something to do. A catalog may hold more tables than one worker can list in the time of a function, so this is
// a job itself. It goes through the catalog page by page, sends the messages of a page together, and records
// after each page where it is.
//
// The clock of a deployment without a long-running process begins these jobs. A look that is suggested twice,
// because a worker has died after it sent the messages of a page, does no harm.
package looking

import (
	"context"

	"tiltyard/shared/announce"
	"tiltyard/shared/job"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
	"tiltyard/shared/work/refresh"
)

// Kinds of jobs.
const (
	TablesKind = "look_at_tables" // suggests a check of each table for maintenance
	ViewsKind  = "look_at_views"  // suggests a look at each view that is refreshed without requests
)

// Names of stages.
const (
	sweepStage = "sweep"
	lookStage  = "look"
)

// Tables returns the kind of job that [TablesKind] names. It begins with what crashed writers have left in the
// catalog.
func Tables(keeper *maintain.Keeper) job.Kind {
	sweep := func(ctx context.Context, _ *job.Run) (any, error) { return nil, keeper.Sweep(ctx) }
	return job.Kind{Wanted: always, Stages: []job.Stage{
		{Name: sweepStage, Do: sweep},
		{Name: lookStage, Do: pages(keeper.SuggestPage)},
	}}
}

// Views returns the kind of job that [ViewsKind] names.
func Views(on tables.Tables) job.Kind {
	wanted := func(ctx context.Context, object []string) (*job.Want, error) {
		if on.Announcer != nil && on.Jobs != nil {
			// The clock of deployments without a process of their own has changes announced as often.
			if err := on.Jobs.Suggest(ctx, announce.AllKind, nil, 0); err != nil {
				return nil, err
			}
		}
		return always(ctx, object)
	}
	return job.Kind{Wanted: wanted, Stages: []job.Stage{
		{Name: lookStage, Do: pages(func(ctx context.Context, after string) (int, string, error) {
			return refresh.SuggestPage(ctx, on, after)
		})},
	}}
}

// always has each message of the clock begin a job. It has no mark: after a job that was set aside the next one
// begins all the same.
func always(_ context.Context, object []string) (*job.Want, error) {
	if len(object) > 0 {
		return nil, nil
	}
	return &job.Want{Input: struct{}{}}, nil
}

// A state is where a job is in the catalog.
type state struct {
	After string `json:"after"` // the end of the last page
	result
}

// A result is what comes of a job.
type result struct {
	Looks int64 `json:"looks"` // that were suggested
}

// pages returns what runs a stage. suggest suggests the looks of the page after another one, and returns how many
// those are and where the next page begins, "" at the end.
func pages(suggest func(ctx context.Context, after string) (looks int, next string, err error)) func(context.Context, *job.Run) (any, error) {
	return func(ctx context.Context, r *job.Run) (any, error) {
		var at state
		if err := r.State(&at); err != nil {
			return nil, err
		}
		for {
			looks, next, err := suggest(ctx, at.After)
			if err != nil {
				return nil, err
			}
			at.After, at.Looks = next, at.Looks+int64(looks)
			r.Progress(job.Progress{Done: at.Looks})
			if next == "" {
				return at.result, nil
			}
			if err := r.Checkpoint(ctx, at); err != nil {
				return nil, err
			}
		}
	}
}
