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

// Work is the state that workers keep for a job, or for one part of it, between runs.
//
// A run begins with a write that sets its holder ([Store.Take]) and ends with one that clears it
// ([Store.Leave]). When a lease has run out and the holder is still set, the run ended together
// with its process. That counts as a death.
type Work struct {
	Input      json.RawMessage `json:"input,omitempty"`      // the input of the job
	By         *auth.Principal `json:"by,omitempty"`         // whose request began the job; nil when none did
	Mark       string          `json:"mark,omitempty"`       // set for a job that a worker began by itself: see [Store.SetAside]
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"` // state of the stage or part, written by its worker
	Holder     string          `json:"holder,omitempty"`     // unique name of the run that holds it; "" is none
	Until      time.Time       `json:"until,omitzero"`       // from then on another run may take it over
	Due        time.Time       `json:"due,omitzero"`         // from then on its message counts as lost
	Paused     bool            `json:"paused,omitempty"`     // no run may take it until a user resumes it
	Failures   int             `json:"failures,omitempty"`   // runs that failed since the last checkpoint
	Deaths     int             `json:"deaths,omitempty"`     // runs of the stage or part that ended with their process
	Aside      bool            `json:"aside,omitempty"`      // set aside: it continues only when a user resumes it
	Trouble    string          `json:"trouble,omitempty"`    // reason why the last run that failed did so
	Heavy      bool            `json:"heavy,omitempty"`      // workers of heavy work run it; in a job with parts: run these
	Events     []Event         `json:"events,omitempty"`     // the changes of the state, in order; see [maxEvents]
	// EventsOmitted is how many events were left out after the first ones.
	EventsOmitted int `json:"events_omitted,omitempty"`

	// The remaining fields are those of a job. Its parts have records of their own.

	Look       bool                       `json:"look,omitempty"`       // the job begins with a look: see [Store.JobOfLook]
	Stage      string                     `json:"stage,omitempty"`      // current stage; "" is the first
	Pass       int                        `json:"pass,omitempty"`       // how many times some stages have begun again
	PassAfter  int                        `json:"pass_after,omitempty"` // the number of the stage after which they begin
	StagesDone int                        `json:"stages_done,omitempty"`
	Stages     int                        `json:"stages,omitempty"`
	Results    map[string]json.RawMessage `json:"results,omitempty"`    // results of stages without parts, by name
	Parts      int                        `json:"parts,omitempty"`      // number of parts of the stage; 0 before it is known
	Sent       time.Time                  `json:"sent,omitzero"`        // when messages for all parts were last sent; zero: not yet
	PartsDone  int                        `json:"parts_done,omitempty"` // approximate; see [Store.Arrive]
	Groups     uint32                     `json:"groups,omitempty"`     // groups of parts that PartsDone includes, one bit each
}

// Held reports whether a run holds the job now.
func (w *Work) Held(now time.Time) bool { return w.Holder != "" && now.Before(w.Until) }

// Lost reports whether a message for the job should have reached a worker by now and has not.
func (w *Work) Lost(now time.Time) bool { return !w.Paused && !now.Before(w.Due) }

// free ends a run. The message for the next run is due after the given delay.
func (w *Work) free(now time.Time, after time.Duration) {
	w.Holder, w.Until = "", time.Time{}
	w.Due = now.Add(after + Slack).UTC()
}

var (
	// ErrHeld means that another worker holds the unit, or has taken it over.
	ErrHeld = errors.New("another worker holds the job")
	// ErrPaused means that a user has paused the job.
	ErrPaused = errors.New("the job is paused")
)

const (
	// MaxParts bounds the parts of a stage.
	MaxParts = 1000
	// MaxDeaths is how many runs of a unit end together with their process, in each stage of a job, before it is set
	// aside. All units that a process runs are there when it dies, and one of them, or none, is the reason. So the
	// first death makes suspects of them, of which a process runs one at a time (package job). Two further deaths
	// are then hardly another's fault.
	MaxDeaths = 3
	// Slack is how long after its due time a message counts as lost. Messages wait in the queue
	// while all workers are busy; a second message that is sent for that reason does no harm.
	Slack = 15 * time.Minute
)

// BeginWork is Begin for a job that workers run. input is JSON. mark is that of [Store.SetAside],
// "" for a job that a user asked for. The job is that of the principal of the context.
func (s *Store) BeginWork(ctx context.Context, kind string, object []string, input json.RawMessage, mark string) (*Transaction, error) {
	return s.begin(ctx, &Transaction{
		Kind: kind, Object: object, Work: &Work{Input: input, By: auth.FromContext(ctx), Mark: mark, Due: s.now().Add(Slack).UTC()},
	})
}

// Take lets the named worker hold a unit for a while. It returns the records of the unit and of its
// job, which are the same unless the unit is a part. The error is ErrEnded, ErrPaused or ErrHeld
// when the unit is in that state; with ErrHeld the record contains the end of the lease. A unit
// whose runs have ended with their processes [MaxDeaths] times is set aside instead, and the error
// is ErrEnded.
func (s *Store) Take(ctx context.Context, p Unit, holder string, lease time.Duration) (taken, job *Transaction, err error) {
	var fresh, as *Transaction
	switch {
	case p.look != "":
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
		if t.Work.Holder != "" && t.Work.Holder != holder {
			if t.Work.Held(now) {
				return ErrHeld
			}
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

// isAside reports whether a job or a part is set aside. One that a user has ended since then is not.
func (t *Transaction) isAside() bool {
	return t.Status == transactionapi.Failed && t.Work != nil && t.Work.Aside
}

// giveUp ends a job or a part until a user resumes it.
func (t *Transaction) giveUp(reason string) {
	t.Status, t.Failure = transactionapi.Failed, reason+"; it is set aside until the job is resumed"
	t.Work.Aside, t.Work.Holder, t.Work.Until = true, "", time.Time{}
}

// newPart returns the job of a part, which must be running, and the first record of the part.
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

func mayWork(t *Transaction) error {
	switch {
	case t.Status.Ended() || t.Work == nil:
		return ErrEnded
	case t.Work.Paused:
		return ErrPaused
	}
	return nil
}

// Keep lets the holder change the record of a unit and extend its lease. If the job was paused,
// Keep makes the change, frees the unit and returns ErrPaused. If the job has ended, or another
// worker holds the unit, it changes nothing and returns ErrEnded or ErrHeld.
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

// Leave lets the holder change the record of a unit for the last time, and frees it. The message
// for the next run is due after the given delay.
func (s *Store) Leave(ctx context.Context, p Unit, holder string, after time.Duration, change func(*Transaction)) (*Transaction, error) {
	return s.hold(ctx, p, holder, func(t *Transaction) {
		t.Work.free(s.now(), after)
		change(t)
	})
}

// hold changes the record of a unit, as long as the holder still has it.
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

// Part returns the record of a part, nil before its first run.
func (s *Store) Part(ctx context.Context, p Unit) (*Transaction, error) {
	t, _, err := s.read(ctx, Ref{Unit: p})
	if errors.Is(err, record.ErrNotExist) {
		return nil, nil
	}
	return t, err
}

// Parts returns the records of the parts of a stage in order. A part before its first run is nil.
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

// Follow returns a job with the progress of its parts that are running. The job's own record has only
// that of parts that have ended. It costs a request while a job runs in parts, and none otherwise.
func (s *Store) Follow(ctx context.Context, t *Transaction) (*Transaction, error) {
	if t.Work == nil || t.Status.Ended() || t.Work.Parts == 0 {
		return t, nil
	}
	parts, err := s.Parts(ctx, Unit{Job: t.ID}, t.Work.Stage, t.Work.Parts)
	if err != nil {
		return nil, err
	}
	followed := t.clone()
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

// GiveUp sets aside a unit for a reason outside of it, until a user resumes its job. The failure that users
// see adds why the last run failed, if any has. The error is ErrHeld when a worker holds the unit, and
// ErrEnded when it has ended.
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

// Pause stops the work on a job at its next checkpoint. before reports whether the job was paused
// already. The error is ErrEnded when it has ended.
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
// ErrEnded when it has ended in another way, also when it was set aside before that.
func (s *Store) Resume(ctx context.Context, job Unit) (was *Transaction, err error) {
	if err := s.resumeParts(ctx, job); err != nil {
		return nil, err
	}
	_, err = s.change(ctx, Ref{Unit: job}, nil, func(t *Transaction) error {
		if t.Work == nil || t.Status.Ended() && !t.isAside() {
			return ErrEnded
		}
		was = t.clone()
		t.Work.Paused = false
		t.takeUp(s.now())
		return nil
	})
	return was, err
}

// resumeParts resumes the parts that were set aside. It runs before the job itself is resumed, so
// that no worker meets a part that is still set aside.
func (s *Store) resumeParts(ctx context.Context, of Unit) error {
	job, err := s.Job(ctx, of)
	if err != nil || job.Work == nil || !job.Work.Aside || job.Work.Parts == 0 {
		return err
	}
	parts, err := s.Parts(ctx, of, job.Work.Stage, job.Work.Parts)
	for i, part := range parts {
		if err == nil && part != nil && part.Work.Aside {
			_, err = s.change(ctx, Ref{Unit: Unit{Job: of.Job, Stage: job.Work.Stage, Part: i + 1}}, nil, func(t *Transaction) error {
				t.takeUp(s.now())
				return nil
			})
		}
	}
	return err
}

// takeUp turns a job or a part that was set aside into one that waits for a worker.
func (t *Transaction) takeUp(now time.Time) {
	if t.Work.Aside {
		t.Status, t.Failure = transactionapi.Queued, ""
		t.Work.Aside, t.Work.Deaths, t.Work.Failures = false, 0, 0
		t.Work.free(now, 0)
	}
}

// Renew reports whether the message of a job is lost, and records that another one is sent now. Of
// several callers at the same time only one gets true.
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
