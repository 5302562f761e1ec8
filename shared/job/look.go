package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tiltyard/shared/protocol"
	"tiltyard/shared/transaction"
)

// wanted asks whether there is something to do, nil when there is not or nobody knows. To look
// may end the process as well as the job itself, so it is on record while it lasts: after two
// deaths nobody looks again, until a user resumes the job that tells of it.
func (w *Worker) wanted(ctx context.Context, m Message) (*Want, error) {
	ask := w.Kinds[m.Kind].Wanted
	if ask == nil {
		return nil, fmt.Errorf("nobody here can tell whether there is a job %q to do", m.Kind)
	}
	r := &Run{worker: w, share: transaction.LookAt(m.Kind, m.Object), name: w.Name()}
	var err error
	r.taken, r.job, err = w.Transactions.Take(ctx, r.share, r.name, leaseTime)
	switch {
	case errors.Is(err, transaction.ErrHeld):
		return nil, nil // somebody looks
	case errors.Is(err, transaction.ErrEnded):
		return nil, w.lookAside(ctx, m)
	case err != nil:
		return nil, errors.Join(err, r.endLook(ctx)) // it may be ours nevertheless
	}
	var want *Want
	err = w.whileItLives(ctx, r, func(ctx context.Context) (err error) {
		want, err = ask(ctx, m.Object)
		return err
	})
	if err := r.endLook(ctx); err != nil {
		w.Logger.Warn("the end of a look is not on record", "kind", m.Kind, "object", m.Object, "error", err)
	}
	if err != nil {
		// It was an idea; there will be others.
		w.Logger.Warn("nobody knows whether there is a job to do", "kind", m.Kind, "object", m.Object, "error", err)
		return nil, ctx.Err()
	}
	return want, nil
}

// endLook says that a look has come to an end, also when that is the end of the process. A look
// that does not say so counts as one that ended its process.
func (r *Run) endLook(ctx context.Context) (err error) {
	free, done := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer done()
	const attempts = 3
	for range attempts {
		if err = r.worker.Transactions.EndLook(free, r.share, r.name); err == nil {
			break
		}
	}
	return err
}

// lookAside lets users see that nobody looks any more.
func (w *Worker) lookAside(ctx context.Context, m Message) error {
	job, err := w.Transactions.JobOfLook(ctx, m.Kind, m.Object)
	if err != nil || job == nil {
		return err
	}
	return w.noteAside(ctx, job)
}

// look is how a job begins that stands for a look which was given up. It says whether there is
// something to do, which the job goes on with then.
func (r *Run) look(ctx context.Context) (wanted bool, err error) {
	if r.kind.Wanted == nil {
		return false, protocol.Errorf(protocol.Unsupported, "nobody here can tell whether there is a job %q to do", r.job.Kind)
	}
	want, err := r.kind.Wanted(ctx, r.Object())
	if err == nil {
		err = r.worker.Transactions.ForgetLook(ctx, r.job.Kind, r.Object())
	}
	if err != nil || want == nil {
		return false, err
	}
	input, err := json.Marshal(want.Input)
	if err != nil {
		return false, fmt.Errorf("begin job %s: %w", r.job.Kind, err)
	}
	return true, r.keep(ctx, func(t *transaction.Transaction) {
		t.Work.Look, t.Work.Input, t.Work.Mark = false, input, want.Mark
	})
}
