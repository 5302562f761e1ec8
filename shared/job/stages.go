package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/transaction"
)

// errParts means that the job continues in its parts.
var errParts = errors.New("the job continues in parts")

// do runs a part, or a job from its current stage on.
func (r *Run) do(ctx context.Context) (result any, err error) {
	stage, number, ok := r.kind.find(r.job.Work.Stage)
	switch {
	case !ok:
		return nil, fmt.Errorf("job %s is in stage %q, which kind %s does not have in this release", r.unit.Job, r.job.Work.Stage, r.job.Kind)
	case r.unit.Part != 0:
		return stage.Do(ctx, r)
	case r.job.Work.Look:
		if wanted, err := r.look(ctx); err != nil || !wanted {
			return nil, err
		}
	}
	for ; ; number++ {
		stage = r.kind.Stages[number]
		var kept any // later stages read it
		if stage.Parts == nil {
			result, err = stage.Do(ctx, r)
			if end, ended := result.(End); ended {
				return end.Result, err
			}
			kept = result
		} else {
			result, err = r.inParts(ctx, stage)
			kept = r.taken.Work.Parts
		}
		if err != nil || number == len(r.kind.Stages)-1 {
			return result, err
		}
		if err := r.begin(ctx, r.kind.Stages[number+1], stage.Name, kept); err != nil {
			return nil, err
		}
	}
}

// begin moves the job to its next stage.
func (r *Run) begin(ctx context.Context, next Stage, before string, result any) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("result of stage %s of job %s: %w", before, r.unit.Job, err)
	}
	r.Progress(Progress{})
	return r.keep(ctx, func(t *transaction.Transaction) {
		w := t.Work
		if w.Results == nil {
			w.Results = map[string]json.RawMessage{}
		}
		w.Results[before], w.Stage = encoded, next.Name
		w.StagesDone++
		w.Checkpoint, w.Failures = nil, 0
		w.Parts, w.PartsDone, w.Groups, w.Sent = 0, 0, 0, time.Time{}
	})
}

// inParts starts the parts of a stage, or returns their results when all of them have ended.
func (r *Run) inParts(ctx context.Context, stage Stage) ([]json.RawMessage, error) {
	if r.taken.Work.Parts == 0 {
		parts, err := stage.Parts(ctx, r)
		if err != nil || parts == 0 {
			return []json.RawMessage{}, err
		}
		if parts < 0 || parts > transaction.MaxParts {
			return nil, protocol.Errorf(protocol.Unsupported, "stage %s has %d parts; the limit is %d", stage.Name, parts, transaction.MaxParts)
		}
		if err := r.keep(ctx, func(t *transaction.Transaction) { t.Work.Parts, t.Rows = parts, 0 }); err != nil {
			return nil, err
		}
	}
	parts, err := r.worker.Transactions.Parts(ctx, r.unit.Job, stage.Name, r.taken.Work.Parts)
	if err != nil {
		return nil, err
	}
	var missing []Message
	left := false
	now := r.worker.Now()
	for i, part := range parts {
		unit := transaction.Unit{Job: r.unit.Job, Stage: stage.Name, Part: i + 1}
		switch {
		case part != nil && part.Status == protocol.TransactionSucceeded:
			continue
		case part != nil && part.Status.Ended():
			return nil, partFailed{unit, part}
		}
		left = true
		// A part without a record has been waiting since its message was sent, if it was.
		if part == nil && !now.Before(r.taken.Work.Sent.Add(transaction.Slack)) || part != nil && part.Work.Lost(now) {
			missing = append(missing, Message{Job: unit.Job, Stage: unit.Stage, Part: unit.Part})
		}
	}
	if !left {
		return r.joined(ctx, parts)
	}
	if err := r.worker.send(ctx, 0, missing...); err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		if err := r.keep(ctx, func(t *transaction.Transaction) { t.Work.Sent = now.UTC() }); err != nil {
			return nil, err
		}
	}
	return nil, errParts
}

// joined adds up all parts and returns their results.
func (r *Run) joined(ctx context.Context, parts []*transaction.Transaction) ([]json.RawMessage, error) {
	var results []json.RawMessage
	var rows int64
	for _, part := range parts {
		results = append(results, part.Result)
		rows += part.Rows
	}
	if r.taken.Work.PartsDone == len(parts) {
		return results, nil
	}
	return results, r.keep(ctx, func(t *transaction.Transaction) { t.Work.PartsDone, t.Rows = len(parts), rows })
}

// partFailed is the error of a job with a part that has failed.
type partFailed struct {
	unit transaction.Unit
	part *transaction.Transaction
}

func (p partFailed) Error() string {
	if p.part.Work.Aside {
		return p.part.Failure
	}
	return p.unit.String() + ": " + p.part.Failure
}
