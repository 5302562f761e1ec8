package usage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"tiltyard/shared/storage/record"
)

const (
	// StoredKept is the time for which the size of a table counts after it was noted. Maintenance visits each table once a
	// day, so a size that is older belongs to a table that was dropped, and whose size nobody has forgotten ([ForgetStored]).
	StoredKept = 48 * time.Hour
	// storedAgain is the age from which an unchanged size is noted again.
	storedAgain = 12 * time.Hour
	// storedFolder has a record for each table.
	storedFolder = "stored"
)

// A size is the value of the record of a table.
type size struct {
	Namespace string `json:"namespace"` // the first one; "" for a table of the root
	Bytes     int64  `json:"bytes"`
}

// NoteStored stores the size of a table whose id has the given first namespace. The location identifies the table, which
// may be renamed. It reads one record, and writes it if the size has changed or will soon be forgotten.
func NoteStored(ctx context.Context, records record.Store, now time.Time, location, namespace string, bytes int64) error {
	key := storedKey(location)
	last, err := records.Get(ctx, key)
	switch {
	case err == nil:
		var known size
		if err := last.Decode(&known); err != nil {
			return err
		}
		if known == (size{namespace, bytes}) && last.Expires.Sub(now) > StoredKept-storedAgain {
			return nil
		}
	case !errors.Is(err, record.ErrNotExist):
		return err
	}
	value, err := json.Marshal(size{namespace, bytes})
	if err != nil {
		return err
	}
	_, err = records.Put(ctx, record.Record{Key: key, Value: value, Version: last.Version, Expires: now.Add(StoredKept).Truncate(time.Second)})
	if errors.Is(err, record.ErrConflict) {
		return nil // another worker has just noted it
	}
	return err
}

// storedKey returns the key of the record of a table.
func storedKey(location string) string {
	sum := sha256.Sum256([]byte(location))
	return storedFolder + "/" + hex.EncodeToString(sum[:16])
}

// ForgetStored removes the size of a table that was dropped.
func ForgetStored(ctx context.Context, records record.Store, location string) error {
	key := storedKey(location)
	last, err := records.Get(ctx, key)
	if err == nil {
		err = records.Delete(ctx, key, last.Version)
	}
	if errors.Is(err, record.ErrNotExist) || errors.Is(err, record.ErrConflict) {
		return nil // in the latter case a worker has just noted it, for another two days
	}
	return err
}

// ReadStored returns the bytes of all tables by their first namespace. It reads the record of each table.
func ReadStored(ctx context.Context, records record.Store) (map[string]int64, error) {
	sums := map[string]int64{}
	for after := ""; ; {
		found, err := records.List(ctx, storedFolder, after, page)
		if err != nil {
			return nil, err
		}
		for _, r := range found.Records {
			var one size
			if err := r.Decode(&one); err != nil {
				return nil, err
			}
			sums[one.Namespace] += one.Bytes
		}
		if after = found.Next; after == "" {
			return sums, nil
		}
	}
}
