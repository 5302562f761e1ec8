package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"tiltyard/shared/jobs"
	"tiltyard/shared/storage/record"
)

// A deletion records when a cleanup began to delete versions of a table. It is written before the
// first deletion, so that a later cleanup keeps the files of these versions for the grace, even
// after a crash.
type deletion struct {
	At  time.Time `json:"at"`
	Job string    `json:"job,omitempty"` // the cleanup that may still be deleting; "" once it has ended
}

const (
	// deleting is the time for which other cleanups wait for one that has not ended. After it they count
	// what it may have deleted as deleted.
	deleting = time.Minute
	// deletingWait is the pause between two checks for its end.
	deletingWait = time.Second
)

// A recorded is a deletion that a cleanup has recorded.
type recorded struct {
	records record.Store
	now     record.Record // what this cleanup has written
	before  deletion      // by an earlier cleanup; zero if there was none or its grace is over
	expires time.Time     // of the record of before
}

// recordDeletion records that the cleanup of a job deletes versions of a table from now on. If
// another cleanup of the table is doing so, the error makes the job wait for it.
func (k *Keeper) recordDeletion(ctx context.Context, id []string, job string) (*recorded, error) {
	found, err := k.Tables.Names.Table(ctx, id)
	if err != nil {
		return nil, err
	}
	r := &recorded{records: k.Records}
	key := "expiring/" + strings.TrimPrefix(cleanedKey(found), "cleaned/")
	last, err := k.Records.Get(ctx, key)
	if err != nil && !errors.Is(err, record.ErrNotExist) {
		return nil, err
	}
	now := k.Now().UTC()
	if err == nil {
		if err := last.Decode(&r.before); err != nil {
			return nil, err
		}
		if other := r.before.Job; other != "" && other != job && now.Sub(r.before.At) < deleting {
			return nil, jobs.Later(deletingWait)
		}
		r.before.Job, r.expires = "", last.Expires
	}
	r.now = record.Record{Key: key, Version: last.Version}
	err = r.put(ctx, deletion{now, job}, now.Add(k.Grace+time.Hour))
	if errors.Is(err, record.ErrConflict) { // another cleanup has just recorded its own
		return nil, jobs.Later(deletingWait)
	}
	return r, err
}

// put replaces the record.
func (r *recorded) put(ctx context.Context, d deletion, expires time.Time) error {
	value, err := json.Marshal(d)
	if err != nil {
		return err
	}
	r.now.Value, r.now.Expires = value, expires
	version, err := r.records.Put(ctx, r.now)
	if err == nil {
		r.now.Version = version
	}
	return err
}

// end records that the cleanup has deleted some versions, or else restores the record of an earlier
// one. It returns when versions were last deleted whose files may still be read, or zero.
func (r *recorded) end(ctx context.Context, deleted bool, now time.Time) (time.Time, error) {
	var err error
	last := r.before.At
	switch {
	case deleted:
		last = now
		err = r.put(ctx, deletion{At: now}, r.now.Expires)
	case last.IsZero():
		err = r.records.Delete(ctx, r.now.Key, r.now.Version)
	default:
		err = r.put(ctx, r.before, r.expires)
	}
	if errors.Is(err, record.ErrConflict) { // another cleanup did not wait any longer
		return now, nil
	}
	return last, err
}
