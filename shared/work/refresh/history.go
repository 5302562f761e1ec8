package refresh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/record"
	"tiltyard/shared/tables"
	"tiltyard/shared/transaction"
)

// A history is the record of the refreshes of a view.
type history struct {
	// Job is the last job that held the view. It holds the view as long as a run holds the job, so the
	// view is free some time after the process of a run has died. While its parts work it holds it, too.
	Job   string    `json:"job,omitempty"`
	Began time.Time `json:"began,omitzero"` // when a look last found that the view has to be refreshed
	Look  time.Time `json:"look,omitzero"`  // when the next look comes, if its message is not lost
	// Refused means that a job has told since the last look that began one that the source cannot be read.
	Refused bool `json:"refused,omitempty"`
}

// Nothing reads the history of a view that was not refreshed for so long.
const keptFor = 90 * 24 * time.Hour

func keyOf(uid string) string { return "refresh/" + uid }

// historyOf returns the history of a view, and the version of its record.
func historyOf(ctx context.Context, on tables.Tables, uid string) (h history, version string, err error) {
	found, err := on.Records.Get(ctx, keyOf(uid))
	if errors.Is(err, record.ErrNotExist) {
		return h, "", nil
	}
	if err == nil {
		err = found.Decode(&h)
	}
	if err != nil {
		return h, "", fmt.Errorf("history of the refreshes of view %s: %w", uid, err)
	}
	return h, found.Version, nil
}

// note replaces a version of the history of a view. The error is record.ErrConflict when another
// process was faster.
func note(ctx context.Context, on tables.Tables, uid, version string, h history) error {
	value, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = on.Records.Put(ctx, record.Record{Key: keyOf(uid), Value: value, Version: version, Expires: on.Now().Add(keptFor)})
	return err
}

// LastJob returns the id of the last job that worked on a view, "" when there is none.
func LastJob(ctx context.Context, on tables.Tables, uid string) (string, error) {
	h, _, err := historyOf(ctx, on, uid)
	return h.Job, err
}

// tries bounds how often the history of a view is written while others write it.
const tries = 10

// hold makes a job the one that works on a view. It returns the time to wait while another job does, 0
// when the view is held.
func (f *refresher) hold(ctx context.Context) (time.Duration, error) {
	for range tries {
		h, version, err := historyOf(ctx, f.on, f.order.UID)
		if err != nil || h.Job == f.run.ID() {
			return 0, err
		}
		works, err := f.works(ctx, h.Job)
		if err != nil {
			return 0, err
		}
		if works {
			// A refresh that takes long is asked less often.
			return min(max(f.on.Now().Sub(f.run.Began())/4, shortestWait), longestWait), nil
		}
		h.Job = f.run.ID()
		if err = note(ctx, f.on, f.order.UID, version, h); err == nil {
			return 0, nil
		}
		// After an unknown outcome the next reading shows whether the job holds the view.
		if !errors.Is(err, record.ErrConflict) && !errors.Is(err, record.ErrUnknownOutcome) {
			return 0, err
		}
	}
	return shortestWait, nil
}

const (
	shortestWait = time.Second
	longestWait  = 30 * time.Second
)

// works reports whether a run holds a job, or goes on with its parts: one of them runs, or waits for a worker
// with a message that is not lost.
func (f *refresher) works(ctx context.Context, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	job, err := f.on.Transactions.Job(ctx, transaction.Unit{Job: id})
	if protocol.HasCode(err, protocol.TransactionNotFound) {
		return false, nil
	}
	if err != nil || job.Status.Ended() || job.Work == nil {
		return false, err
	}
	now, w := f.on.Now(), job.Work
	if w.Held(now) || w.Parts == 0 || w.Paused {
		return w.Held(now), nil
	}
	if !w.Lost(now) {
		return true, nil
	}
	parts, err := f.on.Transactions.Parts(ctx, transaction.Unit{Job: id}, w.Stage, w.Parts)
	for _, part := range parts {
		if part == nil && now.Before(w.Sent.Add(transaction.Slack)) || part != nil && !part.Status.Ended() && !part.Work.Lost(now) {
			return true, err
		}
	}
	return false, err
}
