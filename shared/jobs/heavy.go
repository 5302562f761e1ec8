package jobs

import (
	"context"
	"errors"
	"time"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/process/memory"
)

// Heavy work has a queue of its own, so that light work does not wait behind it, and workers of its own with more
// time and memory. It is found in three ways:
//
//   - a stage estimates its effort ([Stage.Estimate]) before it begins, or before its parts do;
//   - a run has outgrown its worker: it needed more memory than a run may hold, or had no time left for the next
//     checkpoint;
//   - a run has ended together with its process, which memory is the usual reason for.
//
// The record of the unit then says so, and its next message goes to the other queue. This costs a light worker
// one write, and nothing when there is no such queue.

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

// errHeavy is the error of a run that a worker of heavy work continues.
var errHeavy = errors.New("the job continues with a worker of heavy work")

// passesOn reports whether the worker passes heavy work on to the queue for it.
func (w *Worker) passesOn() bool { return w.Light && w.Heavy != nil }

// isHeavy reports whether the unit needs a worker of heavy work. A job with heavy parts is not
// heavy itself.
func (r *Run) isHeavy() bool {
	if r.unit.Part != 0 {
		return r.taken.Work.Heavy || r.job.Work.Heavy
	}
	return r.taken.Work.Heavy && r.taken.Work.Parts == 0
}

// passOn returns errHeavy for a unit that is known to be heavy, or that has ended the process of a worker.
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

// weigh reports whether the estimate of a stage, or of its parts, is heavy. Without a queue for heavy work it is false.
func (r *Run) weigh(ctx context.Context, stage Stage) (heavy bool, err error) {
	if r.worker.Heavy == nil || stage.Estimate == nil {
		return false, nil
	}
	effort, err := stage.Estimate(ctx, r)
	return effort.isHeavy(), err
}

// keepLight returns errHeavy for a stage without parts that a light worker does not run.
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

// becomeHeavy records that the unit is heavy. The error is errHeavy when that is done.
func (r *Run) becomeHeavy(ctx context.Context) error {
	r.worker.Logger.InfoContext(ctx, "a job is heavy", "job", r.unit.Job, "stage", r.job.Work.Stage, "part", r.unit.Part, "kind", r.job.Kind, "object", r.job.Object)
	if err := r.keep(ctx, func(t *transaction.Transaction) { t.Work.Heavy = true }); err != nil {
		return err
	}
	return errHeavy
}

// outgrew reports whether a run failed because it lacked memory or time, of which workers of heavy
// work have more.
func outgrew(err error) bool {
	refused := (*memory.Error)(nil)
	return errors.As(err, &refused) && !refused.Busy || errors.Is(err, errNoCheckpoint)
}
