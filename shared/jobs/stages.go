package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
)

// errParts ends a run of a job that continues in its parts.
var errParts = errors.New("the job continues in parts")

// do runs a part, or a job from its current stage on. It returns the result of the unit.
func (r *Run) do(ctx context.Context) (result any, err error) {
	if err := r.passOn(ctx); err != nil {
		return nil, err
	}
	stage, number, ok := r.kind.find(r.job.Work.Stage)
	switch {
	case !ok:
		return nil, fmt.Errorf("job %s is in stage %q, which kind %s does not have in this release", r.unit.Job, r.job.Work.Stage, r.job.Kind)
	case r.unit.Part != 0:
		return stage.run(ctx, r)
	case r.job.Work.Poll:
		if wanted, err := r.poll(ctx); err != nil || !wanted {
			return nil, err
		}
	}
	for ; ; number++ {
		stage = r.kind.Stages[number]
		var kept any // later stages read it
		if stage.Parts == nil {
			if err := r.keepLight(ctx, stage); err != nil {
				return nil, err
			}
			result, err = stage.run(ctx, r)
			if end, ended := result.(End); ended {
				return end.Result, err
			}
			if again, passes := result.(Again); passes && err == nil {
				if number, err = r.again(ctx, again, number); err != nil {
					return nil, err
				}
				continue
			}
			kept = result
		} else {
			result, err = r.inParts(ctx, stage)
			kept = r.taken.Work.Parts
		}
		if err != nil || number == len(r.kind.Stages)-1 {
			return result, err
		}
		name := inPass(stage.Name, r.passOf(number))
		if err := r.begin(ctx, inPass(r.kind.Stages[number+1].Name, r.passOf(number+1)), name, kept); err != nil {
			return nil, err
		}
	}
}

// passOf returns the current pass of a stage, or 0 for a stage before the repeated ones.
func (r *Run) passOf(number int) int {
	if number <= r.job.Work.PassAfter {
		return 0
	}
	return r.job.Work.Pass
}

// keptPasses bounds the passes whose part records are kept, for the job's events.
const keptPasses = 20

// again begins another pass after stage number, and returns the number of the stage after which the
// pass begins.
func (r *Run) again(ctx context.Context, a Again, number int) (int, error) {
	_, after, ok := r.kind.find(a.After)
	if !ok || after >= number {
		return 0, fmt.Errorf("stage %s of job %s begins a pass after stage %q, which is not before it", r.Stage(), r.unit.Job, a.After)
	}
	w := r.job.Work
	pass := w.Pass + 1
	// The results that the next pass makes obsolete. Results of stages with parts are kept for some
	// passes, because events need the number of parts.
	gone := map[string]bool{}
	for _, stage := range r.kind.Stages[after+1 : number+1] {
		gone[inPass(stage.Name, w.Pass)] = stage.Parts == nil
		gone[inPass(stage.Name, max(pass-keptPasses, 0))] = stage.Parts == nil || pass >= keptPasses
	}
	return after, r.move(ctx, inPass(r.kind.Stages[after+1].Name, pass), a.After, a.Result, func(w *transaction.Work) {
		w.Pass, w.PassAfter = pass, after
		maps.DeleteFunc(w.Results, func(name string, _ json.RawMessage) bool { return gone[name] })
	})
}

// begin moves the job to its next stage.
func (r *Run) begin(ctx context.Context, next, before string, result any) error {
	return r.move(ctx, next, before, result, func(w *transaction.Work) { w.StagesDone++ })
}

// move moves the job to the stage next and records the result of an earlier one.
func (r *Run) move(ctx context.Context, next, before string, result any, change func(*transaction.Work)) error {
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
		w.Results[before], w.Stage = encoded, next
		change(w)
		// Counters apply to the current stage only.
		w.Checkpoint, w.Failures, w.Deaths, w.Heavy = nil, 0, 0, false
		w.Parts, w.PartsDone, w.Groups, w.Sent = 0, 0, 0, time.Time{}
	})
}

// inParts starts the parts of a stage. It returns their results when all of them have ended, else
// errParts.
func (r *Run) inParts(ctx context.Context, stage Stage) ([]json.RawMessage, error) {
	_, number, _ := r.kind.find(stage.Name)
	name := inPass(stage.Name, r.passOf(number))
	if r.taken.Work.Parts == 0 {
		parts, err := stage.Parts(ctx, r)
		if err != nil || parts == 0 {
			return []json.RawMessage{}, err
		}
		if parts < 0 || parts > transaction.MaxParts {
			return nil, protocol.Errorf(protocol.Unsupported, "stage %s has %d parts; the limit is %d", stage.Name, parts, transaction.MaxParts)
		}
		heavy, err := r.weigh(ctx, stage)
		if err != nil {
			return nil, err
		}
		if err := r.keep(ctx, func(t *transaction.Transaction) { t.Work.Parts, t.Work.Heavy, t.Rows = parts, heavy, 0 }); err != nil {
			return nil, err
		}
	}
	parts, err := r.worker.Transactions.Parts(ctx, r.unit.Whole(), name, r.taken.Work.Parts)
	if err != nil {
		return nil, err
	}
	var missing []Message
	left := false
	now := r.worker.Now()
	for i, part := range parts {
		unit := transaction.Unit{Job: r.unit.Job, Stage: name, Part: i + 1}
		switch {
		case part != nil && part.Status == transactionapi.Succeeded:
			continue
		case part != nil && part.Status.Ended():
			return nil, partFailed{unit, part}
		}
		left = true
		// A part without a record has been waiting since its message was sent, or the message was never
		// sent.
		if part == nil && !now.Before(r.taken.Work.Sent.Add(transaction.Slack)) || part != nil && part.Work.Lost(now) {
			heavy := r.taken.Work.Heavy || part != nil && part.Work.Heavy
			missing = append(missing, messageFor(unit, heavy))
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

// joined returns the results of all parts and records their number of rows.
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

// partFailed is the error of a job because one of its parts failed.
type partFailed struct {
	unit transaction.Unit
	part *transaction.Transaction
}

func (p partFailed) Error() string {
	if p.part.Work.SetAside {
		return p.part.Failure
	}
	return p.unit.String() + ": " + p.part.Failure
}
