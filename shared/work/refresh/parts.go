package refresh

import (
	"context"
	"errors"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/view/materialize"
	"tiltyard/shared/jobs"
)

// enough is the remaining time that a run needs to begin another unit of a part.
const enough = 2 * time.Minute

// made is the result of a part.
type made struct {
	materialize.Computed
	Again bool `json:"again,omitempty"` // the view or its source has changed, so the refresh must be divided again
}

// parts returns the number of parts of the refresh.
func (b builder) parts(ctx context.Context, r *jobs.Run) (int, error) {
	found, err := jobs.ResultsOf[materialize.Division](ctx, r, wholeStage)
	if err != nil {
		return 0, err
	}
	r.Progress(jobs.Progress{Total: found[0].Rows})
	return found[0].Parts, nil
}

// rowTime estimates the time per row of an expression, at most.
const rowTime = 10 * time.Microsecond

// effort estimates a part. If the request limits the number of workers, parts may be heavy.
func (b builder) effort(ctx context.Context, r *jobs.Run) (jobs.Effort, error) {
	found, err := jobs.ResultsOf[materialize.Division](ctx, r, wholeStage)
	if err != nil {
		return jobs.Effort{}, err
	}
	rows := found[0].Rows / int64(max(found[0].Parts, 1))
	return jobs.Effort{Time: time.Duration(rows) * rowTime}, nil
}

// part computes some rows of the view.
func (b builder) part(ctx context.Context, r *jobs.Run) (any, error) {
	f, err := b.run(r)
	if err != nil {
		return nil, err
	}
	found, err := jobs.ResultsOf[materialize.Division](ctx, r, wholeStage)
	if err != nil {
		return nil, err
	}
	var done made
	if err := r.State(&done.Computed); err != nil {
		return nil, err
	}
	number, _ := r.Part()
	err = f.stage(ctx, func(ctx context.Context, t *engine.Table, o materialize.Order) (err error) {
		done.Computed, err = materialize.Compute(ctx, t, o, found[0], number-1, done.Computed, func(ctx context.Context, so materialize.Computed) error {
			return r.CheckpointBefore(ctx, so, enough)
		})
		return err
	})
	// The rows of the plan have changed. Let the commit divide again.
	if materialize.PlanAgain(err) {
		return made{Again: true}, nil
	}
	return done, err
}

// commit commits the rows of all parts, which ends the job, or divides the refresh again.
func (b builder) commit(ctx context.Context, r *jobs.Run) (any, error) {
	f, err := b.run(r)
	if err != nil {
		return nil, err
	}
	found, err := jobs.ResultsOf[materialize.Division](ctx, r, wholeStage)
	if err != nil {
		return nil, err
	}
	parts, err := jobs.ResultsOf[made](ctx, r, rowsStage)
	if err != nil {
		return nil, err
	}
	again := false
	all := make([]materialize.Computed, len(parts))
	for i, p := range parts {
		all[i], again = p.Computed, again || p.Again
	}
	done, err := f.change(ctx, func(ctx context.Context, t, as *engine.Table, o materialize.Order) (materialize.Result, error) {
		if again {
			return materialize.Refresh(ctx, t, as, o)
		}
		done, err := materialize.Publish(ctx, t, as, o, found[0], all)
		if materialize.PlanAgain(err) {
			return materialize.Refresh(ctx, t, as, o)
		}
		return done, err
	})
	if divided := (*materialize.Divided)(nil); errors.As(err, &divided) {
		return jobs.Again{After: wholeStage, Result: divided.Division}, nil
	}
	return jobs.End{Result: done}, err
}
