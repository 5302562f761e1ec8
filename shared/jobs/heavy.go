package jobs

import (
	"context"
	"errors"
	"time"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/process/memory"
)

// Heavy work has its own queue, so that light work does not wait behind it, and its own workers with more time and memory.
// A unit is heavy for one of three reasons:
//
//   - its stage estimates so ([Stage.Estimate]), before the stage or its parts begin;
//   - its run exceeded the memory limit of a light worker, or the time between two checkpoints;
//   - its run ended together with its process, usually because the memory was exhausted.
//
// The record of the unit then has Work.Heavy set, and its next message goes to the heavy queue. This costs a light worker
// one write. Without a heavy queue it costs nothing.

// An Effort bounds the resources of a run: of a stage, or of each of its parts.
type Effort struct {
	Time   time.Duration // on one core
	Memory int64         // bytes in use at a time
}

// light bounds a run of a light worker. A Lambda function ends after 15 minutes, so the bound leaves a margin for wrong
// estimates.
var light = Effort{Time: 10 * time.Minute, Memory: 3 << 30}

// isHeavy reports whether e is more than light in any respect.
func (e Effort) isHeavy() bool { return e.Time > light.Time || e.Memory > light.Memory }

// errHeavy ends a run that a heavy worker continues.
var errHeavy = errors.New("the job continues with a worker of heavy work")

// passesOn reports whether the worker hands heavy work over to the heavy queue.
func (w *Worker) passesOn() bool { return w.Light && w.Heavy != nil }

// isHeavy reports whether the unit needs a heavy worker. A job with heavy parts is not heavy
// itself.
func (r *Run) isHeavy() bool {
	if r.unit.Part != 0 {
		return r.taken.Work.Heavy || r.job.Work.Heavy
	}
	return r.taken.Work.Heavy && r.taken.Work.Parts == 0
}

// passOn returns errHeavy for a unit that is recorded as heavy or has crashed its process before.
func (r *Run) passOn(ctx context.Context) error {
	switch {
	case !r.worker.passesOn():
		return nil
	case r.isHeavy():
		return errHeavy
	case r.taken.Work.Deaths > 0 && (r.unit.Part != 0 || r.taken.Work.Parts == 0):
		return r.becomeHeavy(ctx)
	}
	return nil
}

// weigh reports whether the estimate of a stage, or of its parts, is heavy. It returns false without a heavy queue.
func (r *Run) weigh(ctx context.Context, stage Stage) (heavy bool, err error) {
	if r.worker.Heavy == nil || stage.Estimate == nil {
		return false, nil
	}
	effort, err := stage.Estimate(ctx, r)
	return effort.isHeavy(), err
}

// keepLight returns errHeavy if a light worker must not run the stage, which has no parts.
func (r *Run) keepLight(ctx context.Context, stage Stage) error {
	if !r.worker.passesOn() {
		return nil
	}
	heavy, err := r.weigh(ctx, stage)
	if err != nil || !heavy {
		return err
	}
	return r.becomeHeavy(ctx)
}

// becomeHeavy records that the unit is heavy and then returns errHeavy.
func (r *Run) becomeHeavy(ctx context.Context) error {
	r.worker.Logger.InfoContext(ctx, "a job is heavy", "job", r.unit.Job, "stage", r.job.Work.Stage, "part", r.unit.Part, "kind", r.job.Kind, "object", r.job.Object)
	if err := r.keep(ctx, func(t *transaction.Transaction) { t.Work.Heavy = true }); err != nil {
		return err
	}
	return errHeavy
}

// outgrew reports whether a run failed for lack of memory or time, so that a heavy worker may
// succeed. A Busy memory error does not count, because it depends on other requests in the process.
func outgrew(err error) bool {
	refused := (*memory.Error)(nil)
	return errors.As(err, &refused) && !refused.Busy || errors.Is(err, errNoCheckpoint)
}
