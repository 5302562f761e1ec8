package transaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/record"
)

// Work is what workers keep of a job from one run to the next. A job may be split into
// parts, each of which has a record and a worker of its own.
type Work struct {
	Input      json.RawMessage `json:"input,omitempty"`      // what the job was begun with
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"` // how far it has come, as its worker says
	Holder     string          `json:"holder,omitempty"`     // who works on it; "" is nobody
	Until      time.Time       `json:"until,omitzero"`       // from then on somebody else may
	Paused     bool            `json:"paused,omitempty"`     // nobody may, until it is resumed
	Failures   int             `json:"failures,omitempty"`   // runs that failed since the last checkpoint
	Parts      []bool          `json:"parts,omitempty"`      // which parts have ended; nil: it is not split
}

// Joined says whether a job that was split has no part left to do.
func (w *Work) Joined() bool { return len(w.Parts) > 0 && !slices.Contains(w.Parts, false) }

// Held says whether somebody works on the job now.
func (w *Work) Held(now time.Time) bool { return w.Holder != "" && now.Before(w.Until) }

var (
	// ErrHeld says that another worker holds the job, or has taken it over.
	ErrHeld = errors.New("another worker holds the job")
	// ErrPaused says that nobody is to work on the job for now.
	ErrPaused = errors.New("the job is paused")
)

// MaxParts bounds the parts of a job.
const MaxParts = 1000

// BeginWork is Begin of a job that workers go on with. What it gets is JSON.
func (s *Store) BeginWork(ctx context.Context, kind string, object []string, input json.RawMessage) (*Transaction, error) {
	return s.begin(ctx, &Transaction{Kind: kind, Object: object, Work: &Work{Input: input}})
}

// A Share is what one worker works on: a job, or one of its parts, which count from 1.
type Share struct {
	Job  string
	Part int // 0 is the job itself
}

func (p Share) key() string {
	if p.Part == 0 {
		return jobFolder + p.Job
	}
	return fmt.Sprintf("%s%s/%d", partFolder, p.Job, p.Part)
}

// Take lets a worker of that name hold a share for a while. The error is ErrEnded, ErrPaused
// or ErrHeld when that is why it cannot. With ErrHeld the transaction is returned as well, which
// tells until when.
func (s *Store) Take(ctx context.Context, p Share, holder string, lease time.Duration) (*Transaction, error) {
	var as *Transaction
	taken, err := s.work(ctx, p, func(t *Transaction) error {
		as = t
		if t.Work.Held(s.now()) && t.Work.Holder != holder {
			return ErrHeld
		}
		t.Status = protocol.TransactionRunning
		t.Work.Holder, t.Work.Until = holder, s.now().Add(lease).UTC()
		return nil
	})
	if errors.Is(err, ErrHeld) {
		return as, err
	}
	return taken, err
}

// Keep lets the holder hold a share for longer, and change it. When the job was paused the
// change is made, the share is free, and the error is ErrPaused. When it has ended, or
// somebody else holds it, nothing is changed, and the error is ErrEnded or ErrHeld.
func (s *Store) Keep(ctx context.Context, p Share, holder string, lease time.Duration, change func(*Transaction)) (*Transaction, error) {
	kept, err := s.hold(ctx, p, holder, func(t *Transaction) {
		change(t)
		t.Work.Until = s.now().Add(lease).UTC()
		if t.Work.Paused {
			t.Work.Holder, t.Work.Until = "", time.Time{}
		}
	})
	if err == nil && kept.Work.Paused {
		err = ErrPaused
	}
	return kept, err
}

// Leave lets the holder change a share for the last time, and frees it.
func (s *Store) Leave(ctx context.Context, p Share, holder string, change func(*Transaction)) (*Transaction, error) {
	return s.hold(ctx, p, holder, func(t *Transaction) {
		t.Work.Holder, t.Work.Until = "", time.Time{}
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

// work changes a share that has not ended and is not paused. A part that nobody has worked
// on yet is made. While its job has ended, or is paused, so has it.
func (s *Store) work(ctx context.Context, p Share, change func(*Transaction) error) (*Transaction, error) {
	var fresh *Transaction
	if p.Part != 0 {
		job, err := s.Job(ctx, p.Job)
		if err != nil {
			return nil, err
		}
		if err := mayWork(job); err != nil {
			return nil, err
		}
		if p.Part > len(job.Work.Parts) {
			return nil, notFound(p.key(), errors.New("the job has no such part"))
		}
		fresh = &Transaction{Kind: job.Kind, Object: job.Object, Status: protocol.TransactionQueued, Work: &Work{Input: job.Work.Input}}
	}
	return s.change(ctx, p.key(), fresh, func(t *Transaction) error {
		if err := mayWork(t); err != nil {
			return err
		}
		return change(t)
	})
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

// Split divides the job that the holder holds into parts, and frees it until they have ended.
func (s *Store) Split(ctx context.Context, job, holder string, parts int) (*Transaction, error) {
	if parts < 1 || parts > MaxParts {
		return nil, fmt.Errorf("split job %s into %d parts: must be 1 to %d", job, parts, MaxParts)
	}
	return s.Leave(ctx, Share{Job: job}, holder, func(t *Transaction) {
		t.Work.Parts = make([]bool, parts)
		t.Done, t.Total = 0, int64(parts)
	})
}

// EndPart notes in a job that one of its parts has ended.
func (s *Store) EndPart(ctx context.Context, p Share) (*Transaction, error) {
	return s.Advance(ctx, p.Job, func(t *Transaction) {
		if t.Work == nil || p.Part > len(t.Work.Parts) || t.Work.Parts[p.Part-1] {
			return
		}
		t.Work.Parts[p.Part-1] = true
		t.Done++
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

// Resume lets workers go on with a job that was paused, and returns it as it was.
func (s *Store) Resume(ctx context.Context, job string) (was *Transaction, err error) {
	_, err = s.change(ctx, jobFolder+job, nil, func(t *Transaction) error {
		if t.Status.Ended() || t.Work == nil {
			return ErrEnded
		}
		was = t.clone()
		t.Work.Paused = false
		return nil
	})
	return was, err
}
