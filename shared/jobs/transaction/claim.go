package transaction

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"tiltyard/shared/storage/record"
)

// claimFolder holds the records of exclusive claims of jobs.
const claimFolder = "claim/"

// A claim is the value of such a record.
type claim struct {
	Job string `json:"job"`
}

// Claim reserves a thing for a job, such as the values of a column, and reports whether the job has
// it. When the job has ended or is paused, another job may take the thing. A repeated call costs
// one request.
func (s *Store) Claim(ctx context.Context, thing string, job Unit) (bool, error) {
	sum := sha256.Sum256([]byte(thing))
	key := claimFolder + hex.EncodeToString(sum[:16])
	there, err := s.records.Get(ctx, key)
	if err != nil && !errors.Is(err, record.ErrNotExist) {
		return false, err
	}
	if err == nil {
		var holder claim
		if err := there.Decode(&holder); err != nil {
			return false, err
		}
		if holder.Job == job.Job {
			return true, nil
		}
		if works, err := s.works(ctx, Unit{Job: holder.Job}); works || err != nil {
			return false, err
		}
	}
	// No working job has the thing. Of several jobs that try to take it, the conditional write admits one.
	value, err := json.Marshal(claim{job.Job})
	if err != nil {
		return false, err
	}
	_, err = s.records.Put(ctx, record.Record{Key: key, Value: value, Version: there.Version, Expires: s.now().Add(Retention)})
	if errors.Is(err, record.ErrConflict) {
		return false, nil
	}
	return err == nil, s.translate(Ref{Unit: job}, err)
}

// works reports whether a job exists, has not ended and is not paused.
func (s *Store) works(ctx context.Context, job Unit) (bool, error) {
	t, err := s.getIfAny(ctx, Ref{Unit: job})
	return err == nil && t != nil && mayWork(t) == nil, err
}
