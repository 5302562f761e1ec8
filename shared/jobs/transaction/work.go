package transaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/record"
)

// Work is the state of a job, or of one part of it, that workers keep between runs.
//
// A run begins with a write that sets its holder ([Store.Take]) and ends with one that clears it
// ([Store.Leave]). If a lease has run out and the holder is still set, the run ended together with
// its process. That counts as a death.
type Work struct {
	Input      json.RawMessage `json:"input,omitempty"`      // the input of the job
	By         *auth.Principal `json:"by,omitempty"`         // the principal whose request began the job; nil if no request did
	Tenant     string          `json:"tenant,omitempty"`     // for which it works: see [ForTenant]
	Revision   string          `json:"mark,omitempty"`       // set if a worker began the job after a poll: see [Store.SetAside]
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"` // state of the stage or part, written by its worker
	Holder     string          `json:"holder,omitempty"`     // unique name of the run with the lease; "" is none
	Until      time.Time       `json:"until,omitzero"`       // end of the lease; another run may then take over
	Due        time.Time       `json:"due,omitzero"`         // time from which on its message counts as lost
	Paused     bool            `json:"paused,omitempty"`     // no run may take it until a user resumes it
	Failures   int             `json:"failures,omitempty"`   // runs that failed since the last checkpoint
	Deaths     int             `json:"deaths,omitempty"`     // runs of the stage or part that ended with their process
	SetAside   bool            `json:"aside,omitempty"`      // set aside: it continues only when a user resumes it
	Trouble    string          `json:"trouble,omitempty"`    // reason why the last failed run failed
	Heavy      bool            `json:"heavy,omitempty"`      // needs heavy workers; in a job with parts: its parts do
	Events     []Event         `json:"events,omitempty"`     // changes of the state, in order; see [maxEvents]
	// EventsOmitted counts the events that were dropped to respect maxEvents.
	EventsOmitted int `json:"events_omitted,omitempty"`

	// The following fields are used for jobs only. Parts have records of their own.

	Poll       bool                       `json:"look,omitempty"`       // the job begins with a poll: see [Store.JobOfPoll]
	Stage      string                     `json:"stage,omitempty"`      // current stage; "" is the first
	Pass       int                        `json:"pass,omitempty"`       // number of times that some stages were repeated
	PassAfter  int                        `json:"pass_after,omitempty"` // number of the stage before the repeated ones
	StagesDone int                        `json:"stages_done,omitempty"`
	Stages     int                        `json:"stages,omitempty"`
	Results    map[string]json.RawMessage `json:"results,omitempty"`    // by stage: the result, or for a stage with parts their number
	Parts      int                        `json:"parts,omitempty"`      // number of parts of the stage; 0 before it is known
	Sent       time.Time                  `json:"sent,omitzero"`        // when messages for all parts were last sent; zero if never
	PartsDone  int                        `json:"parts_done,omitempty"` // approximate; see [Store.Arrive]
	Groups     uint32                     `json:"groups,omitempty"`     // one bit for each group of parts that PartsDone includes
}

// Held reports whether a run has a lease on the job.
func (w *Work) Held(now time.Time) bool { return w.Holder != "" && now.Before(w.Until) }

// Lost reports whether a message for the job is overdue.
func (w *Work) Lost(now time.Time) bool { return !w.Paused && !now.Before(w.Due) }

// free ends the lease of a run. The message for the next run is due after the given delay.
func (w *Work) free(now time.Time, after time.Duration) {
	w.Holder, w.Until = "", time.Time{}
	w.Due = now.Add(after + Slack).UTC()
}

var (
	// ErrHeld means that another worker has a lease on the unit.
	ErrHeld = errors.New("another worker holds the job")
	// ErrPaused means that a user has paused the job.
	ErrPaused = errors.New("the job is paused")
)

const (
	// MaxParts bounds the parts of a stage.
	MaxParts = 1000
	// MaxDeaths is the number of runs of a unit in one stage that may end together with their process before the unit is set
	// aside. When a process dies, any of its units may be the cause, or none. The first death makes all of them suspects, and
	// a process runs one suspect at a time (package jobs). Two further deaths are then hardly caused by another unit.
	MaxDeaths = 3
	// Slack is the time after which an overdue message counts as lost. Messages may wait in the queue
	// while all workers are busy; sending a second one for that reason does no harm.
	Slack = 15 * time.Minute
)

// BeginWork creates the record of a job for workers, on behalf of the principal of the context.
// input is JSON. revision is set for a job that a poll began ([Store.SetAside]), and "" for a job that
// a user requested.
func (s *Store) BeginWork(ctx context.Context, kind string, object []string, input json.RawMessage, revision string) (*Transaction, error) {
	work := &Work{Input: input, By: auth.FromContext(ctx), Revision: revision, Due: s.now().Add(Slack).UTC()}
	if work.By != nil {
		work.Tenant = work.By.Tenant()
	} else {
		work.Tenant, _ = ctx.Value(tenantKey{}).(string)
	}
	return s.begin(ctx, &Transaction{Kind: kind, Object: object, Work: work})
}

type tenantKey struct{}

// ForTenant returns a context for the work of a job. Jobs that it begins work for the same tenant: that of the principal
// whose request began the first one ([auth.Principal.Tenant]), or "".
func ForTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// Take leases a unit to the named run. It returns the records of the unit and of its job, which are
// the same unless the unit is a part. The error is ErrEnded, ErrPaused or ErrHeld if the unit is in
// that state; with ErrHeld the record contains the end of the lease. A unit with [MaxDeaths] deaths
// is set aside instead, and the error is ErrEnded.
func (s *Store) Take(ctx context.Context, p Unit, holder string, lease time.Duration) (taken, job *Transaction, err error) {
	var fresh, as *Transaction
	switch {
	case p.poll != "":
		fresh = &Transaction{Status: transactionapi.Queued, Work: &Work{}}
	case p.Part != 0:
		if job, fresh, err = s.newPart(ctx, p); err != nil {
			return nil, job, err
		}
	}
	taken, err = s.change(ctx, Ref{Unit: p}, fresh, func(t *Transaction) error {
		as = t
		if err := mayWork(t); err != nil {
			return err
		}
		now := s.now()
		// A retried write of this same run finds its own name here.
		if t.Work.Holder != "" && t.Work.Holder != holder {
			if t.Work.Held(now) {
				return ErrHeld
			}
			// The lease has expired with the holder still set: the run died.
			t.Work.Deaths++
		}
		if t.Work.Deaths >= MaxDeaths {
			doing := p.String()
			if t.Work.Stage != "" {
				doing += " in stage " + t.Work.Stage
			}
			t.giveUp(fmt.Sprintf("%s ended the process of its worker %d times", doing, t.Work.Deaths))
			return nil
		}
		t.Status = transactionapi.Running
		t.Work.Holder, t.Work.Until = holder, now.Add(lease).UTC()
		t.Work.Due = t.Work.Until.Add(Slack)
		return nil
	})
	// The caller needs the end of the lease, which change does not return with an error.
	if errors.Is(err, ErrHeld) {
		taken = as
	}
	if err == nil && taken.Status.Ended() {
		err = ErrEnded
	}
	if p.Part == 0 {
		job = taken
	}
	return taken, job, err
}

// isSetAside reports whether a job or a part is set aside. A user may have ended it since then; it is
// not set aside any more.
func (t *Transaction) isSetAside() bool {
	return t.Status == transactionapi.Failed && t.Work != nil && t.Work.SetAside
}

// giveUp sets a job or a part aside.
func (t *Transaction) giveUp(reason string) {
	t.Status, t.Failure = transactionapi.Failed, reason+"; it is set aside until the job is resumed"
	t.Work.SetAside, t.Work.Holder, t.Work.Until = true, "", time.Time{}
}

// newPart returns the job of a part and the first record of the part. The error is ErrEnded or
// ErrPaused if the job does not run, or has left the stage.
func (s *Store) newPart(ctx context.Context, p Unit) (job, fresh *Transaction, err error) {
	if job, err = s.Job(ctx, p.Whole()); err != nil {
		return nil, nil, err
	}
	if err := mayWork(job); err != nil {
		return job, nil, err
	}
	if p.Stage != job.Work.Stage || p.Part > job.Work.Parts {
		return job, nil, ErrEnded
	}
	return job, &Transaction{Kind: job.Kind, Object: job.Object, Status: transactionapi.Queued, Work: &Work{}}, nil
}

// mayWork returns ErrEnded or ErrPaused if the job or part must not run.
func mayWork(t *Transaction) error {
	switch {
	case t.Status.Ended() || t.Work == nil:
		return ErrEnded
	case t.Work.Paused:
		return ErrPaused
	}
	return nil
}

// Keep changes the record of a unit on behalf of its holder and extends the lease. If the job was
// paused, Keep makes the change, ends the lease and returns ErrPaused. If the job has ended, or
// another run has the lease, it changes nothing and returns ErrEnded or ErrHeld.
func (s *Store) Keep(ctx context.Context, p Unit, holder string, lease time.Duration, change func(*Transaction)) (*Transaction, error) {
	kept, err := s.hold(ctx, p, holder, func(t *Transaction) {
		change(t)
		t.Work.Until = s.now().Add(lease).UTC()
		t.Work.Due = t.Work.Until.Add(Slack)
		if t.Work.Paused {
			t.Work.free(s.now(), 0)
		}
	})
	if err == nil && kept.Work.Paused {
		err = ErrPaused
	}
	return kept, err
}

// Leave changes the record of a unit for the last time on behalf of its holder, and ends the lease.
// The message for the next run is due after the given delay.
func (s *Store) Leave(ctx context.Context, p Unit, holder string, after time.Duration, change func(*Transaction)) (*Transaction, error) {
	return s.hold(ctx, p, holder, func(t *Transaction) {
		t.Work.free(s.now(), after)
		change(t)
	})
}

// hold changes the record of a unit if the holder still has the lease.
func (s *Store) hold(ctx context.Context, p Unit, holder string, change func(*Transaction)) (*Transaction, error) {
	return s.change(ctx, Ref{Unit: p}, nil, func(t *Transaction) error {
		switch {
		case t.Status.Ended():
			return ErrEnded
		case t.Work == nil || t.Work.Holder != holder:
			return ErrHeld
		}
		change(t)
		return nil
	})
}

// Job returns the record of a job.
func (s *Store) Job(ctx context.Context, job Unit) (*Transaction, error) {
	return s.Get(ctx, Ref{Unit: job})
}

// Part returns the record of a part, or nil before its first run.
func (s *Store) Part(ctx context.Context, p Unit) (*Transaction, error) {
	t, _, err := s.read(ctx, Ref{Unit: p})
	if errors.Is(err, record.ErrNotExist) {
		return nil, nil
	}
	return t, err
}

// Parts returns the records of a stage's parts in order. The record of a part is nil before its
// first run.
func (s *Store) Parts(ctx context.Context, job Unit, stage string, parts int) ([]*Transaction, error) {
	found := make([]*Transaction, parts)
	err := s.eachPart(ctx, job, stage, func(part Unit, r record.Record) (err error) {
		if part.Part <= parts {
			found[part.Part-1], err = decode(Ref{Unit: part}, r)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// eachPart calls f with the record of each part of a stage that has run.
func (s *Store) eachPart(ctx context.Context, job Unit, stage string, f func(part Unit, r record.Record) error) error {
	for after := ""; ; {
		page, err := s.records.List(ctx, partFolder+"/"+stageID(job.Job, stage), after, MaxParts)
		if err != nil {
			return fmt.Errorf("list parts of job %s: %w", job.Job, err)
		}
		for _, r := range page.Records {
			part := Unit{Job: job.Job, Stage: stage}
			_, name := record.SplitKey(r.Key)
			if _, err := fmt.Sscanf(name, "%d", &part.Part); err != nil || part.Part < 1 {
				continue
			}
			if err := f(part, r); err != nil {
				return err
			}
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

// Follow returns a job with the progress of its running parts added. The job's own record includes
// only parts that have ended. Follow costs a request while a job runs in parts, and none otherwise.
func (s *Store) Follow(ctx context.Context, t *Transaction) (*Transaction, error) {
	if t.Work == nil || t.Status.Ended() || t.Work.Parts == 0 {
		return t, nil
	}
	parts, err := s.Parts(ctx, Unit{Job: t.ID}, t.Work.Stage, t.Work.Parts)
	if err != nil {
		return nil, err
	}
	followed := t.clone()
	// Count again from the parts: the record includes only ended ones.
	followed.Done, followed.Rows, followed.Work.PartsDone = 0, 0, 0
	for _, part := range parts {
		if part == nil {
			continue
		}
		followed.Done += part.Done
		followed.Rows += part.Rows
		if part.Status == transactionapi.Succeeded {
			followed.Work.PartsDone++
		}
	}
	return followed, nil
}

// GiveUp sets a unit aside for a reason outside of it. The failure that users see also contains the
// failure of the last run, if there was one. The error is ErrHeld if a run has the lease, and
// ErrEnded if the unit has ended.
func (s *Store) GiveUp(ctx context.Context, p Unit, reason string) (*Transaction, error) {
	var fresh *Transaction
	if p.Part != 0 {
		var err error
		if _, fresh, err = s.newPart(ctx, p); err != nil && !errors.Is(err, ErrPaused) {
			return nil, err
		}
	}
	return s.change(ctx, Ref{Unit: p}, fresh, func(t *Transaction) error {
		switch err := mayWork(t); {
		case errors.Is(err, ErrEnded):
			return err
		// A run with a lease shows that another message got through.
		case t.Work.Held(s.now()):
			return ErrHeld
		}
		if t.Work.Trouble != "" {
			reason += "; the last run that failed did so because: " + t.Work.Trouble
		}
		t.giveUp(reason)
		return nil
	})
}

// Pause stops the job at its next checkpoint. before reports whether it was paused already. The
// error is ErrEnded if the job has ended.
func (s *Store) Pause(ctx context.Context, job Unit) (before bool, err error) {
	_, err = s.change(ctx, Ref{Unit: job}, nil, func(t *Transaction) error {
		if t.Status.Ended() || t.Work == nil {
			return ErrEnded
		}
		before, t.Work.Paused = t.Work.Paused, true
		return nil
	})
	return before, err
}

// Resume continues a job that was paused or set aside, and returns its earlier record. The error is
// ErrEnded if the job ended in any other way.
func (s *Store) Resume(ctx context.Context, job Unit) (was *Transaction, err error) {
	if err := s.resumeParts(ctx, job); err != nil {
		return nil, err
	}
	_, err = s.change(ctx, Ref{Unit: job}, nil, func(t *Transaction) error {
		if t.Work == nil || t.Status.Ended() && !t.isSetAside() {
			return ErrEnded
		}
		was = t.clone()
		t.Work.Paused = false
		t.takeUp(s.now())
		return nil
	})
	return was, err
}

// resumeParts resumes parts that were set aside. It runs before the job itself is resumed, so that
// no worker meets a part that is still set aside.
func (s *Store) resumeParts(ctx context.Context, of Unit) error {
	job, err := s.Job(ctx, of)
	if err != nil || job.Work == nil || !job.Work.SetAside || job.Work.Parts == 0 {
		return err
	}
	parts, err := s.Parts(ctx, of, job.Work.Stage, job.Work.Parts)
	for i, part := range parts {
		if err == nil && part != nil && part.Work.SetAside {
			_, err = s.change(ctx, Ref{Unit: Unit{Job: of.Job, Stage: job.Work.Stage, Part: i + 1}}, nil, func(t *Transaction) error {
				t.takeUp(s.now())
				return nil
			})
		}
	}
	return err
}

// takeUp queues a job or a part that was set aside, and resets its counts of failures and deaths.
func (t *Transaction) takeUp(now time.Time) {
	if t.Work.SetAside {
		t.Status, t.Failure = transactionapi.Queued, ""
		t.Work.SetAside, t.Work.Deaths, t.Work.Failures = false, 0, 0
		t.Work.free(now, 0)
	}
}

// Renew reports whether the message of a job is lost, and records that another one is sent now. Of
// several concurrent callers only one gets true.
func (s *Store) Renew(ctx context.Context, job Unit) (lost bool, err error) {
	_, err = s.change(ctx, Ref{Unit: job}, nil, func(t *Transaction) error {
		now := s.now()
		if lost = mayWork(t) == nil && t.Work.Lost(now); lost {
			t.Work.Due = now.Add(Slack).UTC()
		}
		return nil
	})
	return lost && err == nil, err
}
