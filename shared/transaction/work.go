package transaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/record"
)

// Work is what workers keep of a job, or of one part of it, from one run to the next.
//
// A run begins with a write that names its holder ([Store.Take]) and ends with one that names
// none ([Store.Leave]). A holder whose lease has run out was never heard of again: that run
// ended with its process, and counts as a death.
type Work struct {
	Input      json.RawMessage `json:"input,omitempty"`      // what the job was begun with
	Mark       string          `json:"mark,omitempty"`       // of a job that a worker began by itself: see [Store.SetAside]
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"` // how far the stage or part has come, as its worker says
	Holder     string          `json:"holder,omitempty"`     // the run that works on it, which no other run is called; "" is none
	Until      time.Time       `json:"until,omitzero"`       // from then on another run may take it over
	Due        time.Time       `json:"due,omitzero"`         // from then on its message counts as lost
	Paused     bool            `json:"paused,omitempty"`     // no run may take it until it is resumed
	Failures   int             `json:"failures,omitempty"`   // runs that failed since the last checkpoint
	Deaths     int             `json:"deaths,omitempty"`     // runs that ended with their process
	Aside      bool            `json:"aside,omitempty"`      // it was given up, and goes on only when a user resumes it

	// The rest is a job's. Its parts have records of their own.

	Look       bool                       `json:"look,omitempty"`  // it begins with a look: see [Store.JobOfLook]
	Stage      string                     `json:"stage,omitempty"` // that it is in; "" is the first
	StagesDone int                        `json:"stages_done,omitempty"`
	Stages     int                        `json:"stages,omitempty"`
	Results    map[string]json.RawMessage `json:"results,omitempty"`    // of stages without parts, by name
	Parts      int                        `json:"parts,omitempty"`      // of the stage; 0 before it is planned
	Sent       time.Time                  `json:"sent,omitzero"`        // when messages for all parts were last sent; zero: they are yet to be
	PartsDone  int                        `json:"parts_done,omitempty"` // about; see [Store.Arrive]
	Groups     uint32                     `json:"groups,omitempty"`     // of parts that PartsDone counts, a bit each
}

// Held says whether a run works on the job now.
func (w *Work) Held(now time.Time) bool { return w.Holder != "" && now.Before(w.Until) }

// Lost says whether a message for the job should have reached a worker by now and has not.
func (w *Work) Lost(now time.Time) bool { return !w.Paused && !now.Before(w.Due) }

// free ends a run. The next one's message comes after some time.
func (w *Work) free(now time.Time, after time.Duration) {
	w.Holder, w.Until = "", time.Time{}
	w.Due = now.Add(after + Slack).UTC()
}

var (
	// ErrHeld says that another worker holds the job, or has taken it over.
	ErrHeld = errors.New("another worker holds the job")
	// ErrPaused says that nobody is to work on the job for now.
	ErrPaused = errors.New("the job is paused")
)

const (
	// MaxParts bounds the parts of a stage.
	MaxParts = 1000
	// MaxDeaths is how many runs of a job, or of a part, may end with their process.
	MaxDeaths = 2
	// Slack is how long a message may take before it counts as lost. Queues keep messages
	// waiting while all workers are busy; one that is sent again for that does no harm.
	Slack = 15 * time.Minute
)

// BeginWork is Begin of a job that workers go on with. Input is JSON. Mark is that of
// [Store.SetAside], "" for a job that a user asked for.
func (s *Store) BeginWork(ctx context.Context, kind string, object []string, input json.RawMessage, mark string) (*Transaction, error) {
	return s.begin(ctx, &Transaction{
		Kind: kind, Object: object, Work: &Work{Input: input, Mark: mark, Due: s.now().Add(Slack).UTC()},
	})
}

// A Share is what one worker works on: a job, a part of one of its stages, or a look. Parts
// count from 1.
type Share struct {
	Job   string
	Stage string // of a part; "" with Part 0
	Part  int    // 0 is the job itself
	look  string // of a look, which has nothing else: see [LookAt]
}

func (p Share) key() string {
	switch {
	case p.look != "":
		return lookFolder + p.look
	case p.Part == 0:
		return jobFolder + p.Job
	}
	return fmt.Sprintf("%s/%04d", partsFolder(p.Job, p.Stage), p.Part)
}

func partsFolder(job, stage string) string { return partFolder + job + "/" + stage }

// Take lets a worker of that name hold a share for a while. It returns the share and its job,
// which are one where the share is no part. The error is ErrEnded, ErrPaused or ErrHeld when
// that is why it cannot; with ErrHeld the share says until when. A share whose runs have ended
// with their processes [MaxDeaths] times is given up instead, which is ErrEnded, too.
func (s *Store) Take(ctx context.Context, p Share, holder string, lease time.Duration) (taken, job *Transaction, err error) {
	var fresh, as *Transaction
	switch {
	case p.look != "":
		fresh = &Transaction{Status: protocol.TransactionQueued, Work: &Work{}}
	case p.Part != 0:
		if job, fresh, err = s.newPart(ctx, p); err != nil {
			return nil, job, err
		}
	}
	taken, err = s.change(ctx, p.key(), fresh, func(t *Transaction) error {
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
		t.Status = protocol.TransactionRunning
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

// String names a share for users.
func (p Share) String() string {
	switch {
	case p.look != "":
		return "the decision whether there is something to do"
	case p.Part == 0:
		return "the job"
	}
	return fmt.Sprintf("part %d of stage %s", p.Part, p.Stage)
}

// giveUp ends a job or a part until a user resumes it.
func (t *Transaction) giveUp(reason string) {
	t.Status, t.Failure = protocol.TransactionFailed, reason+"; it is set aside until the job is resumed"
	t.Work.Aside, t.Work.Holder, t.Work.Until = true, "", time.Time{}
}

// newPart returns the job of a part that may be worked on, and the part as it begins.
func (s *Store) newPart(ctx context.Context, p Share) (job, fresh *Transaction, err error) {
	if job, err = s.Job(ctx, p.Job); err != nil {
		return nil, nil, err
	}
	if err := mayWork(job); err != nil {
		return job, nil, err
	}
	if p.Stage != job.Work.Stage || p.Part > job.Work.Parts {
		return job, nil, ErrEnded
	}
	return job, &Transaction{Kind: job.Kind, Object: job.Object, Status: protocol.TransactionQueued, Work: &Work{}}, nil
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

// Keep lets the holder hold a share for longer, and change it. When the job was paused the
// change is made, the share is free, and the error is ErrPaused. When it has ended, or
// somebody else holds it, nothing is changed, and the error is ErrEnded or ErrHeld.
func (s *Store) Keep(ctx context.Context, p Share, holder string, lease time.Duration, change func(*Transaction)) (*Transaction, error) {
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

// Leave lets the holder change a share for the last time, and frees it. What goes on with it
// comes after some time.
func (s *Store) Leave(ctx context.Context, p Share, holder string, after time.Duration, change func(*Transaction)) (*Transaction, error) {
	return s.hold(ctx, p, holder, func(t *Transaction) {
		t.Work.free(s.now(), after)
		change(t)
	})
}

// hold lets the holder change a share, as long as nobody has taken it over.
func (s *Store) hold(ctx context.Context, p Share, holder string, change func(*Transaction)) (*Transaction, error) {
	return s.change(ctx, p.key(), nil, func(t *Transaction) error {
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
func (s *Store) Job(ctx context.Context, id string) (*Transaction, error) {
	return s.Get(ctx, Ref{Record: jobFolder + id})
}

// Part returns the record of a part, or nil when nobody has worked on it yet.
func (s *Store) Part(ctx context.Context, p Share) (*Transaction, error) {
	t, _, err := s.read(ctx, p.key())
	if errors.Is(err, record.ErrNotExist) {
		return nil, nil
	}
	return t, err
}

// Parts returns the records of the parts of a stage, the first part first. Those that nobody has
// worked on yet are nil.
func (s *Store) Parts(ctx context.Context, job, stage string, parts int) ([]*Transaction, error) {
	found := make([]*Transaction, parts)
	for after := ""; ; {
		page, err := s.records.List(ctx, partsFolder(job, stage), after, MaxParts)
		if err != nil {
			return nil, fmt.Errorf("list parts of job %s: %w", job, err)
		}
		for _, r := range page.Records {
			var n int
			_, name := record.SplitKey(r.Key)
			if _, err := fmt.Sscanf(name, "%d", &n); err != nil || n < 1 || n > parts {
				continue
			}
			if found[n-1], err = decode(r); err != nil {
				return nil, err
			}
		}
		if after = page.Next; after == "" {
			return found, nil
		}
	}
}

// GiveUp ends a share that has not ended for a reason that does not lie in it, until a user
// resumes its job. ErrHeld says that a worker holds the share, and ErrEnded that it has ended.
func (s *Store) GiveUp(ctx context.Context, p Share, reason string) (*Transaction, error) {
	var fresh *Transaction
	if p.Part != 0 {
		var err error
		if _, fresh, err = s.newPart(ctx, p); err != nil && !errors.Is(err, ErrPaused) {
			return nil, err
		}
	}
	return s.change(ctx, p.key(), fresh, func(t *Transaction) error {
		switch err := mayWork(t); {
		case errors.Is(err, ErrEnded):
			return err
		case t.Work.Held(s.now()):
			return ErrHeld
		}
		t.giveUp(reason)
		return nil
	})
}

// Pause lets nobody work on a job from the next checkpoint on. It tells whether the job was
// paused before. ErrEnded says that it has ended.
func (s *Store) Pause(ctx context.Context, job string) (before bool, err error) {
	_, err = s.change(ctx, jobFolder+job, nil, func(t *Transaction) error {
		if t.Status.Ended() || t.Work == nil {
			return ErrEnded
		}
		before, t.Work.Paused = t.Work.Paused, true
		return nil
	})
	return before, err
}

// Resume lets workers go on with a job that was paused or given up, and returns it as it was.
// ErrEnded says that it has ended in another way.
func (s *Store) Resume(ctx context.Context, job string) (was *Transaction, err error) {
	if err := s.resumeParts(ctx, job); err != nil {
		return nil, err
	}
	_, err = s.change(ctx, jobFolder+job, nil, func(t *Transaction) error {
		if t.Work == nil || t.Status.Ended() && !t.Work.Aside {
			return ErrEnded
		}
		was = t.clone()
		t.Work.Paused = false
		t.takeUp(s.now())
		return nil
	})
	return was, err
}

// resumeParts lets workers go on with the parts of a job that were given up. It comes before
// the job itself, so that nobody takes one while it is still given up.
func (s *Store) resumeParts(ctx context.Context, id string) error {
	job, err := s.Job(ctx, id)
	if err != nil || job.Work == nil || !job.Work.Aside || job.Work.Parts == 0 {
		return err
	}
	parts, err := s.Parts(ctx, id, job.Work.Stage, job.Work.Parts)
	for i, part := range parts {
		if err == nil && part != nil && part.Work.Aside {
			_, err = s.change(ctx, Share{Job: id, Stage: job.Work.Stage, Part: i + 1}.key(), nil, func(t *Transaction) error {
				t.takeUp(s.now())
				return nil
			})
		}
	}
	return err
}

// takeUp makes a job or a part that was given up one that waits for a worker.
func (t *Transaction) takeUp(now time.Time) {
	if t.Work.Aside {
		t.Status, t.Failure = protocol.TransactionQueued, ""
		t.Work.Aside, t.Work.Deaths, t.Work.Failures = false, 0, 0
		t.Work.free(now, 0)
	}
}

// Renew says whether the message of a job is lost, and that another one is sent now. Of several
// that ask one is told so.
func (s *Store) Renew(ctx context.Context, job string) (lost bool, err error) {
	_, err = s.change(ctx, jobFolder+job, nil, func(t *Transaction) error {
		now := s.now()
		if lost = mayWork(t) == nil && t.Work.Lost(now); lost {
			t.Work.Due = now.Add(Slack).UTC()
		}
		return nil
	})
	return lost && err == nil, err
}
