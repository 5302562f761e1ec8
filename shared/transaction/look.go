package transaction

import (
	"context"
	"encoding/json"
	"errors"

	"tiltyard/shared/protocol"
	"tiltyard/shared/record"
)

// lookFolder is that of looks, by which workers decide whether there is a job to do. A look has
// a record while it goes on, with its holder and how many before it ended with their process. It
// is deleted when a look has come to an end, and stays when there were too many deaths: then
// nobody looks again until a user resumes the job that tells of it.
const lookFolder = "look/"

// LookAt is the share of who looks whether there is a job of a kind to do for an object.
func LookAt(kind string, object []string) Share { return Share{look: nameOf(kind, object)} }

// EndLook says that a look has come to an end. It does nothing when another worker has taken the
// look over.
func (s *Store) EndLook(ctx context.Context, look Share, holder string) error {
	return s.deleteLook(ctx, look, func(t *Transaction) bool { return t.Work.Holder == holder })
}

// ForgetLook lets workers look again after a look was given up.
func (s *Store) ForgetLook(ctx context.Context, kind string, object []string) error {
	return s.deleteLook(ctx, LookAt(kind, object), func(t *Transaction) bool { return t.Work.Aside })
}

// deleteLook deletes the record of a look that is as it should be.
func (s *Store) deleteLook(ctx context.Context, look Share, as func(*Transaction) bool) error {
	there, version, err := s.read(ctx, look.key())
	if err == nil && as(there) {
		err = s.records.Delete(ctx, look.key(), version)
	}
	if errors.Is(err, record.ErrNotExist) || errors.Is(err, record.ErrConflict) {
		return nil
	}
	return err
}

// JobOfLook makes a job of a look that was given up, and returns it, nil when it has been made
// before. Users see that it failed and is set aside; resumed, it begins with the look.
func (s *Store) JobOfLook(ctx context.Context, kind string, object []string) (*Transaction, error) {
	key := LookAt(kind, object).key()
	look, err := s.getIfAny(ctx, key)
	if err != nil || look == nil || !look.Work.Aside || look.Result != nil {
		return nil, err
	}
	job, err := s.begin(ctx, &Transaction{
		Kind: kind, Object: object, Status: protocol.TransactionFailed, Failure: look.Failure, Work: &Work{Look: true, Aside: true},
	})
	if err != nil {
		return nil, err
	}
	id, err := json.Marshal(job.ID)
	if err != nil {
		return nil, err
	}
	_, err = s.change(ctx, key, nil, func(t *Transaction) error {
		t.Result = id
		return nil
	})
	return job, err
}
