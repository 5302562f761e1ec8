package transaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/record"
)

// LookAt returns the unit of a look for a kind and an object: the check of a worker whether a job would have something
// to do. Its record exists while it runs, and holds its holder and the number of earlier looks that crashed their
// process. The record is deleted when a look ends normally. After too many crashes it stays, and no worker looks again
// until a user resumes the job that stands for the look.
func LookAt(kind string, object []string) Unit { return Unit{look: nameOf(kind, object)} }

// EndLook records that a look has ended. It does nothing when another worker has taken the look
// over.
func (s *Store) EndLook(ctx context.Context, look Unit, holder string) error {
	return s.deleteLook(ctx, look, func(t *Transaction) bool { return t.Work.Holder == holder })
}

// ForgetLook lets workers look again after a look was set aside.
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

// JobOfLook makes and returns the job that stands for a look that was set aside, nil when it exists
// already. Users see that it failed and is set aside. When it is resumed, it begins with the look.
// A job that a user has ended instead stands for the look until its record expires.
func (s *Store) JobOfLook(ctx context.Context, kind string, object []string) (*Transaction, error) {
	ref := Ref{Unit: LookAt(kind, object)}
	look, err := s.getIfAny(ctx, ref)
	if err != nil || look == nil || !look.Work.Aside {
		return nil, err
	}
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
	_, err = s.change(ctx, ref, nil, func(t *Transaction) error {
		t.Result = id
		return nil
	})
	return job, err
}
