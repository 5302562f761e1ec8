package refresh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables"
)

// A history is the record of the refreshes of a view.
type history struct {
	// Job is the last job that owned the view. Its ownership lasts while a run has the lease of the job
	// or of its parts, so the view becomes free some time after the process of a run has died.
	Job   string    `json:"job,omitempty"`
	Began time.Time `json:"began,omitzero"` // when a poll last began a refresh
	Poll  time.Time `json:"look,omitzero"`  // when the pending poll is due
	// Refused is set when a job has reported, since the last poll that began a job, that the source
	// cannot be read.
	Refused bool `json:"refused,omitempty"`
}

// keptFor is the time after which the unread history of a view expires.
const keptFor = 90 * 24 * time.Hour

func keyOf(uid string) string { return "refresh/" + uid }

// historyOf returns the history of a view and its record version. The history is zero if there is
// no record.
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

// note writes the history of a view if its record still has the version. The error is
// record.ErrConflict if another process was faster.
func note(ctx context.Context, on tables.Tables, uid, version string, h history) error {
	value, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = on.Records.Put(ctx, record.Record{Key: keyOf(uid), Value: value, Version: version, Expires: on.Now().Add(keptFor)})
	return err
}

// LastJob returns the id of the last job that worked on a view, or "" if there is none.
func LastJob(ctx context.Context, on tables.Tables, uid string) (string, error) {
	h, _, err := historyOf(ctx, on, uid)
	return h.Job, err
}

// tries bounds the attempts to write the history of a view despite concurrent writers.
const tries = 10

// hold makes this job the owner of a view. It returns 0 on success, or the time to wait while
// another job is the owner.
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
			// The longer a job has waited, the longer is the interval between checks.
			return min(max(f.on.Now().Sub(f.run.Began())/4, shortestWait), longestWait), nil
		}
		h.Job = f.run.ID()
		if err = note(ctx, f.on, f.order.UID, version, h); err == nil {
			return 0, nil
		}
		// After an unknown outcome the next read shows whether the job owns the view.
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

// works reports whether a job is active: a run has its lease, or one of its parts runs or waits with a message that is not
// lost.
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
	// The message of the job seems lost, but a part may still be at work.
	parts, err := f.on.Transactions.Parts(ctx, transaction.Unit{Job: id}, w.Stage, w.Parts)
	for _, part := range parts {
		if part == nil && now.Before(w.Sent.Add(transaction.Slack)) || part != nil && !part.Status.Ended() && !part.Work.Lost(now) {
			return true, err
		}
	}
	return false, err
}
