package backfill

import (
	"context"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/jobs"
	"tiltyard/shared/protocol"
)

// A round is a set of fragments that parts fill, of the table at Place.
type round struct {
	Place string `json:"place"`
	fill.Round
}

// errReplaced ends a job whose table was dropped and replaced by another of that name.
var errReplaced = protocol.Errorf(protocol.TableNotFound, "the table was replaced while its column was filled")

// A roundTask is the work of one stage in a round.
type roundTask func(ctx context.Context, t *engine.Table, w fill.Order, this *round) (fill.Result, error)

// inRound returns a task that passes the current round to do. It fails if the table was replaced.
func inRound(ctx context.Context, r *jobs.Run, do roundTask) (task, error) {
	found, err := jobs.ResultsOf[round](ctx, r, wholeStage)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, t *engine.Table, place string, w fill.Order) (fill.Result, error) {
		if place != found[0].Place {
			return fill.Result{}, errReplaced
		}
		return do(ctx, t, w, &found[0])
	}, nil
}

// stageRound runs a task of the current round that writes files but commits nothing. If a cleanup
// has deleted the version of the round, the task ends without an error, and the commit schedules
// the fragments of the round again.
func (b filler) stageRound(ctx context.Context, r *jobs.Run, do func(ctx context.Context, t *engine.Table, w fill.Order, this *round) error) error {
	staged, err := inRound(ctx, r, func(ctx context.Context, t *engine.Table, w fill.Order, this *round) (none fill.Result, err error) {
		if err = do(ctx, t, w, this); protocol.HasCode(err, protocol.TableVersionNotFound) {
			err = nil
		}
		return none, err
	})
	if err != nil {
		return err
	}
	return b.stage(ctx, r, staged)
}

// pieces are the results of a part.
type pieces []fill.Piece

// parts returns the number of parts of a round.
func (b filler) parts(ctx context.Context, r *jobs.Run) (parts int, err error) {
	err = b.stageRound(ctx, r, func(ctx context.Context, t *engine.Table, _ fill.Order, this *round) error {
		parts = this.Parts
		rows, err := fill.Rows(ctx, t, &this.Round)
		r.Progress(jobs.Progress{Total: rows})
		return err
	})
	return parts, err
}

// effort estimates a part. Functions may be slow to start, so they get few parts, which are heavy in a large table.
func (b filler) effort(ctx context.Context, r *jobs.Run) (effort jobs.Effort, err error) {
	var order Order
	if err := r.Input(&order); err != nil {
		return effort, err
	}
	each := rowTime
	if order.Function != nil {
		each = callTime
	}
	err = b.stageRound(ctx, r, func(ctx context.Context, t *engine.Table, _ fill.Order, this *round) error {
		rows, err := fill.Rows(ctx, t, &this.Round)
		// An even division is assumed.
		effort.Time = time.Duration(rows/int64(max(this.Parts, 1))) * each
		return err
	})
	return effort, err
}

// part computes the rows of a part.
func (b filler) part(ctx context.Context, r *jobs.Run) (any, error) {
	var made pieces
	if err := r.State(&made); err != nil {
		return nil, err
	}
	number, _ := r.Part()
	err := b.stageRound(ctx, r, func(ctx context.Context, t *engine.Table, w fill.Order, this *round) (err error) {
		made, err = fill.Part(ctx, t, w, &this.Round, number-1, made, func(ctx context.Context, all []fill.Piece) error {
			return r.CheckpointBefore(ctx, all, enough)
		})
		return err
	})
	return made, err
}

// byFragment returns the pieces of all parts, in order and grouped by fragment.
func byFragment(ctx context.Context, r *jobs.Run) ([]pieces, error) {
	parts, err := jobs.ResultsOf[pieces](ctx, r, fillStage)
	if err != nil {
		return nil, err
	}
	var all []pieces
	for _, part := range parts {
		for _, p := range part {
			last := len(all) - 1
			// Parts are in the order of the rows, so pieces of one fragment are adjacent.
			if last >= 0 && all[last][0].Fragment == p.Fragment {
				all[last] = append(all[last], p)
				continue
			}
			all = append(all, pieces{p})
		}
	}
	return all, nil
}

// divided returns the fragments that consist of several pieces.
func divided(all []pieces) []pieces {
	var several []pieces
	for _, p := range all {
		if len(p) > 1 {
			several = append(several, p)
		}
	}
	return several
}

// joins returns the number of parts of the join stage.
func (b filler) joins(ctx context.Context, r *jobs.Run) (int, error) {
	all, err := byFragment(ctx, r)
	if err != nil {
		return 0, err
	}
	found, err := jobs.ResultsOf[round](ctx, r, wholeStage)
	if err != nil {
		return 0, err
	}
	several := divided(all)
	rows := int64(0)
	for _, p := range several {
		rows += p[len(p)-1].To
	}
	r.Progress(jobs.Progress{Total: rows})
	return min(len(several), found[0].Parts), nil
}

// join joins the pieces of every fragment assigned to this part.
func (b filler) join(ctx context.Context, r *jobs.Run) (any, error) {
	var made pieces
	if err := r.State(&made); err != nil {
		return nil, err
	}
	all, err := byFragment(ctx, r)
	if err != nil {
		return nil, err
	}
	number, of := r.Part()
	var mine []pieces
	total := int64(0)
	// Distribute the fragments round-robin, so that each part gets about as many.
	for i, p := range divided(all) {
		if i%of == number-1 {
			mine = append(mine, p)
			total += p[len(p)-1].To
		}
	}
	err = b.stageRound(ctx, r, func(ctx context.Context, t *engine.Table, w fill.Order, this *round) error {
		done := int64(0)
		for _, p := range made {
			done += p.To
		}
		// Continue after the pieces in the checkpoint.
		for _, p := range mine[len(made):] {
			joined, err := fill.Join(ctx, t, w, &this.Round, p)
			if err != nil {
				return err
			}
			made = append(made, joined)
			done += joined.To
			r.Progress(jobs.Progress{Done: done, Total: total})
			if err := r.CheckpointBefore(ctx, made, enough); err != nil {
				return err
			}
		}
		return nil
	})
	return made, err
}

// commit commits a round. It ends the job, or begins the next round.
func (b filler) commit(ctx context.Context, r *jobs.Run) (any, error) {
	all, err := byFragment(ctx, r)
	if err != nil {
		return nil, err
	}
	joined, err := jobs.ResultsOf[pieces](ctx, r, joinStage)
	if err != nil {
		return nil, err
	}
	var whole pieces
	// A fragment with one piece needed no join.
	for _, p := range all {
		if len(p) == 1 {
			whole = append(whole, p[0])
		}
	}
	for _, part := range joined {
		whole = append(whole, part...)
	}
	var next *round
	publish, err := inRound(ctx, r, func(ctx context.Context, t *engine.Table, w fill.Order, this *round) (fill.Result, error) {
		next = nil
		following, done, err := fill.Commit(ctx, t, w, this.Round, whole)
		if following != nil {
			next = &round{this.Place, *following}
		}
		return done, err
	})
	if err != nil {
		return nil, err
	}
	done, err := b.change(ctx, r, publish)
	switch {
	case err != nil:
		return nil, err
	case next != nil:
		return jobs.Again{After: wholeStage, Result: next}, nil
	}
	r.Progress(jobs.Progress{Rows: done.Assigned})
	return jobs.End{Result: done}, nil
}
