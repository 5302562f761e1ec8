package usage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/storage/record"
)

const (
	// sumsFolder has a record for each first namespace whose stored bytes somebody asked for ([Stored]).
	sumsFolder = "stored-sum"
	// sumsTime is the record of the time at which all of them were computed. The others have longer names.
	sumsTime = sumsFolder + "/computed"
	// sumEvery is the age from which sums are computed again. It is less than the hour in which metering runs at least once.
	sumEvery = 50 * time.Minute
	// sumAgain is the age from which an unchanged sum is written again, so that [Stored] sees that metering runs.
	sumAgain = 12 * time.Hour
	// asked is the time for which sums are computed after somebody asked. A process asks once a day.
	asked, askAgain = 32 * 24 * time.Hour, 31 * 24 * time.Hour
)

// A sum is the value of such a record.
type sum struct {
	Namespace string `json:"namespace"`
	Bytes     int64  `json:"bytes"`
	At        int64  `json:"at_seconds,omitempty"` // since 1970; 0: it was not computed yet
}

// computed returns the time at which the sum was computed.
func (s sum) computed() time.Time { return time.Unix(s.At, 0) }

// Stored returns the bytes that the tables of a first namespace store, as metering ([SumStored]) has added them up last. It
// reads one record. If there is none, it asks for the sum by making the record, and returns 0 until metering has run. It asks
// again once a day, because sums end a month after somebody asked last. The error is also for a sum that is too old, because
// metering no longer runs.
func Stored(ctx context.Context, records record.Store, now time.Time, namespace string) (bytes int64, err error) {
	digest := sha256.Sum256([]byte(namespace))
	key := sumsFolder + "/" + hex.EncodeToString(digest[:16])
	last, err := records.Get(ctx, key)
	known := sum{Namespace: namespace}
	switch {
	case err == nil:
		if err := last.Decode(&known); err != nil {
			return 0, err
		}
	case !errors.Is(err, record.ErrNotExist):
		return 0, err
	}
	if last.Expires.Sub(now) < askAgain {
		if err := known.put(ctx, records, record.Record{Key: key, Version: last.Version, Expires: now.Add(asked).Truncate(time.Second)}); err != nil {
			return 0, err
		}
	}
	if known.At != 0 && now.Sub(known.computed()) > StoredKept {
		return 0, fmt.Errorf("the stored bytes of a namespace were metered last at %s", known.computed().UTC().Format(time.RFC3339))
	}
	return known.Bytes, nil
}

// put writes the sum into a record. It ignores that somebody else has just changed it: both ask, or the next metering writes.
func (s sum) put(ctx context.Context, records record.Store, r record.Record) (err error) {
	if r.Value, err = json.Marshal(s); err != nil {
		return err
	}
	if _, err = records.Put(ctx, r); errors.Is(err, record.ErrConflict) {
		return nil
	}
	return err
}

// SumStored computes the sums that [Stored] returns, if one is old or new. Without any it makes one request to the records,
// and else it reads the record of each table.
func SumStored(ctx context.Context, records record.Store, now time.Time) error {
	var sums []record.Record
	last := record.Record{Key: sumsTime}
	fresh, due := true, false
	for after := ""; ; {
		found, err := records.List(ctx, sumsFolder, after, page)
		if err != nil {
			return err
		}
		for _, r := range found.Records {
			var known sum
			if err := r.Decode(&known); err != nil {
				return err
			}
			if r.Key == sumsTime {
				last, fresh = r, now.Sub(known.computed()) < sumEvery
				continue
			}
			due = due || known.At == 0
			sums = append(sums, r)
		}
		if after = found.Next; after == "" {
			break
		}
	}
	if len(sums) == 0 || fresh && !due {
		return nil
	}
	stored, err := ReadStored(ctx, records)
	if err != nil {
		return err
	}
	for _, r := range sums {
		var known sum
		if err := r.Decode(&known); err != nil {
			return err
		}
		if bytes := stored[known.Namespace]; known.Bytes != bytes || now.Sub(known.computed()) >= sumAgain {
			known.Bytes, known.At = bytes, now.Unix()
			if err := known.put(ctx, records, r); err != nil {
				return err
			}
		}
	}
	last.Expires = now.Add(asked).Truncate(time.Second)
	return sum{At: now.Unix()}.put(ctx, records, last)
}
