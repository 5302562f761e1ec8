package maintain

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"tiltyard/shared/storage/record"
)

// A deletion records when a cleanup began to delete versions of a table. It is written before the
// first deletion, so that a later or concurrent cleanup keeps the files of these versions for the
// grace, even after a crash.
type deletion struct {
	At time.Time `json:"at"`
}

// recordDeletion records that versions of a table are deleted from now on. undo restores the former
// record if no version was deleted after all. It returns the time at which an earlier or concurrent
// cleanup deleted versions, or zero if there was none or its grace is over.
func (k *Keeper) recordDeletion(ctx context.Context, id []string) (undo func(context.Context) (time.Time, error), err error) {
	found, err := k.Tables.Names.Table(ctx, id)
	if err != nil {
		return nil, err
	}
	key := "expiring/" + strings.TrimPrefix(cleanedKey(found), "cleaned/")
	last, err := k.Records.Get(ctx, key)
	if err != nil && !errors.Is(err, record.ErrNotExist) {
		return nil, err
	}
	var before deletion
	if err == nil {
		if err := last.Decode(&before); err != nil {
			return nil, err
		}
	}
	now := k.Now().UTC()
	value, err := json.Marshal(deletion{At: now})
	if err != nil {
		return nil, err
	}
	version, err := k.Records.Put(ctx, record.Record{Key: key, Value: value, Version: last.Version, Expires: now.Add(k.Grace + time.Hour)})
	// A concurrent cleanup has just recorded its own deletion.
	if errors.Is(err, record.ErrConflict) {
		return func(context.Context) (time.Time, error) { return now, nil }, nil
	}
	return func(ctx context.Context) (time.Time, error) {
		var err error
		if last.Version == "" {
			err = k.Records.Delete(ctx, key, version)
		} else {
			_, err = k.Records.Put(ctx, record.Record{Key: key, Value: last.Value, Version: version, Expires: last.Expires})
		}
		// A concurrent cleanup has recorded a deletion since.
		if errors.Is(err, record.ErrConflict) {
			return now, nil
		}
		return before.At, err
	}, err
}
