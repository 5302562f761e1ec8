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

// errParts says that the job goes on by its parts.
var errParts = errors.New("the job goes on in parts")

// do does a part, or a job from its stage on.
func (r *Run) do(ctx context.Context) (result any, err error) {
	stage, number, ok := r.kind.find(r.job.Work.Stage)
	switch {
	case !ok:
		return nil, fmt.Errorf("job %s is in stage %q, which jobs of kind %s have not here", r.share.Job, r.job.Work.Stage, r.job.Kind)
	case r.share.Part != 0:
		return stage.Do(ctx, r)
	case r.job.Work.Look:
		if wanted, err := r.look(ctx); err != nil || !wanted {
			return nil, err
		}
	}
	for ; ; number++ {
		stage = r.kind.Stages[number]
		var kept any // for later stages
		if stage.Parts == nil {
			result, err = stage.Do(ctx, r)
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

// begin lets the job be in its next stage.
func (r *Run) begin(ctx context.Context, next Stage, before string, result any) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("result of stage %s of job %s: %w", before, r.share.Job, err)
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

// inParts lets a stage be done in parts, and returns their results when all have ended.
func (r *Run) inParts(ctx context.Context, stage Stage) ([]json.RawMessage, error) {
	if r.taken.Work.Parts == 0 {
		parts, err := stage.Parts(ctx, r)
		if err != nil || parts == 0 {
			return []json.RawMessage{}, err
		}
		if parts < 0 || parts > transaction.MaxParts {
			return nil, protocol.Errorf(protocol.Unsupported, "stage %s has %d parts; a stage may have %d", stage.Name, parts, transaction.MaxParts)
		}
		if err := r.keep(ctx, func(t *transaction.Transaction) { t.Work.Parts, t.Rows = parts, 0 }); err != nil {
			return nil, err
		}
	}
	parts, err := r.worker.Transactions.Parts(ctx, r.share.Job, stage.Name, r.taken.Work.Parts)
	if err != nil {
		return nil, err
	}
	var missing []Message
	left := false
	now := r.worker.Now()
	for i, part := range parts {
		share := transaction.Share{Job: r.share.Job, Stage: stage.Name, Part: i + 1}
		switch {
		case part != nil && part.Status == protocol.TransactionSucceeded:
			continue
		case part != nil && part.Status.Ended():
			return nil, partFailed{share, part}
		}
		left = true
		// A part without a record waits as its message was sent, if it was.
		if part == nil && !now.Before(r.taken.Work.Sent.Add(transaction.Slack)) || part != nil && part.Work.Lost(now) {
			missing = append(missing, Message{Job: share.Job, Stage: share.Stage, Part: share.Part})
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

// joined counts all parts, and returns their results.
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

// partFailed is the error of a job of which a part has failed.
type partFailed struct {
	share transaction.Share
	part  *transaction.Transaction
}

func (p partFailed) Error() string {
	if p.part.Work.Aside {
		return p.part.Failure
	}
	return p.share.String() + ": " + p.part.Failure
}
