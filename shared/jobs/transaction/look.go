package transaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/record"
)

// LookAt returns the unit of a look for a kind and an object: a worker's check whether a job would have work. Its record
// exists while the look runs, and contains its holder and the number of earlier looks that crashed their process. The
// record is deleted when a look ends normally. After too many crashes it stays, and no worker looks again until a user
// resumes the job that represents the look.
func LookAt(kind string, object []string) Unit { return Unit{look: nameOf(kind, object)} }

// EndLook deletes the record of a look that has ended. It does nothing if another worker has taken
// the look over.
func (s *Store) EndLook(ctx context.Context, look Unit, holder string) error {
	return s.deleteLook(ctx, look, func(t *Transaction) bool { return t.Work.Holder == holder })
}

// ForgetLook deletes the record of a look that was set aside, so that workers look again.
func (s *Store) ForgetLook(ctx context.Context, kind string, object []string) error {
	return s.deleteLook(ctx, LookAt(kind, object), func(t *Transaction) bool { return t.Work.Aside })
}

// deleteLook deletes the record of a look if as returns true for it.
func (s *Store) deleteLook(ctx context.Context, look Unit, as func(*Transaction) bool) error {
	ref := Ref{Unit: look}
	there, version, err := s.read(ctx, ref)
	if err == nil && as(there) {
		err = s.records.Delete(ctx, ref.key(), version)
	}
	if errors.Is(err, record.ErrNotExist) || errors.Is(err, record.ErrConflict) {
		return nil
	}
	return err
}

// JobOfLook creates and returns the job that represents a look that was set aside, or nil if that
// job exists already. Users see the job as failed and set aside. When it is resumed, it begins with
// the look. If a user ends the job instead, it blocks the look until its record expires.
func (s *Store) JobOfLook(ctx context.Context, kind string, object []string) (*Transaction, error) {
	ref := Ref{Unit: LookAt(kind, object)}
	look, err := s.getIfAny(ctx, ref)
	if err != nil || look == nil || !look.Work.Aside {
		return nil, err
	}
	// An earlier call has created the job. It is missing if its record has expired.
	if look.Result != nil {
		var id string
		if err := json.Unmarshal(look.Result, &id); err != nil {
			return nil, fmt.Errorf("decode record %s: %w", ref.key(), err)
		}
		if job, err := s.getIfAny(ctx, Ref{Unit: Unit{Job: id}}); job != nil || err != nil {
			return nil, err
		}
	}
	job, err := s.begin(ctx, &Transaction{
		Kind: kind, Object: object, Status: transactionapi.Failed, Failure: look.Failure, Work: &Work{Look: true, Aside: true},
	})
	if err != nil {
		return nil, err
	}
	id, err := json.Marshal(job.ID)
	if err != nil {
		return nil, err
	}
	// If this fails, another call creates a second job, which is harmless.
	_, err = s.change(ctx, ref, nil, func(t *Transaction) error {
		t.Result = id
		return nil
	})
	return job, err
}
