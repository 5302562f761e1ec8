package transaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/record"
)

// PollOf returns the unit of a poll for a kind and an object: a worker's check whether a job would have work. Its record
// exists while the poll runs, and contains its holder and the number of earlier polls that crashed their process. The
// record is deleted when a poll ends normally. After too many crashes it stays, and no worker polls again until a user
// resumes the job that represents the poll.
func PollOf(kind string, object []string) Unit { return Unit{poll: nameOf(kind, object)} }

// EndPoll deletes the record of a poll that has ended. It does nothing if another worker has taken
// the poll over.
func (s *Store) EndPoll(ctx context.Context, poll Unit, holder string) error {
	return s.deletePoll(ctx, poll, func(t *Transaction) bool { return t.Work.Holder == holder })
}

// ForgetPoll deletes the record of a poll that was set aside, so that workers poll again.
func (s *Store) ForgetPoll(ctx context.Context, kind string, object []string) error {
	return s.deletePoll(ctx, PollOf(kind, object), func(t *Transaction) bool { return t.Work.SetAside })
}

// deletePoll deletes the record of a poll if as returns true for it.
func (s *Store) deletePoll(ctx context.Context, poll Unit, as func(*Transaction) bool) error {
	ref := Ref{Unit: poll}
	there, version, err := s.read(ctx, ref)
	if err == nil && as(there) {
		err = s.records.Delete(ctx, ref.key(), version)
	}
	if errors.Is(err, record.ErrNotExist) || errors.Is(err, record.ErrConflict) {
		return nil
	}
	return err
}

// JobOfPoll creates and returns the job that represents a poll that was set aside, or nil if that
// job exists already. Users see the job as failed and set aside. When it is resumed, it begins with
// the poll. If a user ends the job instead, it blocks the poll until its record expires.
func (s *Store) JobOfPoll(ctx context.Context, kind string, object []string) (*Transaction, error) {
	ref := Ref{Unit: PollOf(kind, object)}
	poll, err := s.getIfAny(ctx, ref)
	if err != nil || poll == nil || !poll.Work.SetAside {
		return nil, err
	}
	// An earlier call has created the job. It is missing if its record has expired.
	if poll.Result != nil {
		var id string
		if err := json.Unmarshal(poll.Result, &id); err != nil {
			return nil, fmt.Errorf("decode record %s: %w", ref.key(), err)
		}
		if job, err := s.getIfAny(ctx, Ref{Unit: Unit{Job: id}}); job != nil || err != nil {
			return nil, err
		}
	}
	job, err := s.begin(ctx, &Transaction{
		Kind: kind, Object: object, Status: transactionapi.Failed, Failure: poll.Failure, Work: &Work{Poll: true, SetAside: true},
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
