package quota

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"tiltyard/shared/process/backoff"
	"tiltyard/shared/storage/record"
)

// leases is the number of leases that a full bucket has. A process sends up to so many requests to the records to spend it.
const leases = 16

// A bucket is the part of a quota of one subject that this process has leased. It is safe for concurrent use.
type bucket struct {
	key string // of the record
	of  string // name of the subject

	mu     sync.Mutex
	quota  *Quota
	left   float64   // leased tokens; negative: debt that the shared bucket does not know
	leased time.Time // when the lease began
	empty  time.Time // until then the shared bucket has nothing to lease
	used   time.Time // when a request last asked
	inside int64     // running requests, for Concurrent
	stored int64     // for StoredBytes, as metered; 0 if that is unknown
	looked time.Time // when stored was read
	known  state     // the shared bucket as last seen
	number string    // version of its record
}

// A state is the value of the record of a bucket.
type state struct {
	Left float64 `json:"left"`       // tokens at the time At; negative: debt
	At   int64   `json:"at_seconds"` // since 1970, with a fraction in Nanos
	Nano int64   `json:"nanos"`
}

func (s state) time() time.Time { return time.Unix(s.At, s.Nano) }

// keyOf returns the key of the record of a quota's bucket for a subject. Names may be secret to readers of keys, and long.
func keyOf(q *Quota, of string) string {
	sum := sha256.Sum256([]byte(q.Name + "\x00" + string(q.Subject) + "\x00" + of))
	digits := hex.EncodeToString(sum[:])
	return "quota/" + digits[:2] + "/" + digits[2:]
}

// refilled returns the tokens of a shared bucket at a time.
func (b *bucket) refilled(s state, now time.Time) float64 {
	// Clocks of processes differ; a bucket does not lose tokens by that.
	passed := max(0, now.Sub(s.time()).Seconds())
	return min(float64(b.quota.Amount), s.Left+passed*b.rate())
}

// rate is the number of tokens that a bucket gets in a second.
func (b *bucket) rate() float64 { return float64(b.quota.Amount) / b.quota.Per.Seconds() }

// take takes a token for a request, or only checks that there is one if the quota is charged later. It returns the time
// after which it may have one if it has none now.
func (b *bucket) take(ctx context.Context, l *Limiter, q *Quota) (wait time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := l.now()
	b.quota, b.used = q, now
	if q.Measure == Concurrent {
		if b.inside >= q.Amount {
			return time.Second, nil
		}
		b.inside++
		return 0, nil
	}
	if q.Measure == StoredBytes {
		return b.measure(ctx, l, now)
	}
	if b.left > 0 && now.Sub(b.leased) > q.Per {
		b.left = 0
	}
	if b.left < 1 {
		if now.Before(b.empty) {
			return b.empty.Sub(now), nil
		}
		if err := b.lease(ctx, l, now); err != nil {
			return 0, err
		}
	}
	if b.left < 1 {
		return max(b.empty.Sub(now), time.Millisecond), nil
	}
	if q.Measure == Requests {
		b.left--
	}
	return 0, nil
}

// back returns what take took, for a request that another quota refused, and the place of a finished request.
func (b *bucket) back(ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.quota.Measure == Concurrent:
		b.inside--
	case b.quota.Measure == Requests && !ended:
		b.left++
	}
}

// charge takes tokens for work that was done.
func (b *bucket) charge(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left -= float64(n)
}

// attempts bounds how often a lease is tried while other processes lease, too.
const attempts = 8

// errContended means that other processes were faster too often.
var errContended = errors.New("other processes change the record of the quota")

// lease passes the debt of the process to the shared bucket, and leases tokens if it has some. Without any it sets b.empty.
// The caller holds the lock.
func (b *bucket) lease(ctx context.Context, l *Limiter, now time.Time) error {
	for attempt := range attempts {
		if attempt > 0 || b.number == "" {
			if err := b.read(ctx, l, now); err != nil {
				return err
			}
		}
		debt := max(0, -b.left)
		shared := b.refilled(b.known, now) - debt
		granted := max(0, min(math.Floor(shared), float64(max(1, b.quota.Amount/leases))))
		if granted < 1 {
			granted = 0
			b.empty = now.Add(time.Duration(math.Ceil((1 - shared) / b.rate() * float64(time.Second))))
		}
		if granted == 0 && debt == 0 {
			return nil
		}
		next := state{Left: shared - granted, At: now.Unix(), Nano: int64(now.Nanosecond())}
		err := b.write(ctx, l, next, now)
		if err == nil {
			b.left, b.leased = max(0, b.left)+granted, now
			return nil
		}
		if !errors.Is(err, record.ErrConflict) {
			b.number = ""
			return err
		}
		if attempt == 0 {
			continue // the process has not read the record since others changed it
		}
		if err := backoff.Wait(ctx, 5*time.Millisecond, 100*time.Millisecond, attempt); err != nil {
			return err
		}
	}
	return errContended
}

// read reads the shared bucket. Without a record it is full.
func (b *bucket) read(ctx context.Context, l *Limiter, now time.Time) error {
	found, err := l.records.Get(ctx, b.key)
	if errors.Is(err, record.ErrNotExist) {
		b.number, b.known = "", state{Left: float64(b.quota.Amount), At: now.Unix(), Nano: int64(now.Nanosecond())}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read a quota: %w", err)
	}
	b.number = found.Version
	return found.Decode(&b.known)
}

// write replaces the shared bucket. Its record expires when the bucket is full again.
func (b *bucket) write(ctx context.Context, l *Limiter, next state, now time.Time) error {
	value, err := json.Marshal(next)
	if err != nil {
		return err
	}
	full := time.Duration((float64(b.quota.Amount) - next.Left) / b.rate() * float64(time.Second))
	number, err := l.records.Put(ctx, record.Record{
		Key: b.key, Value: value, Version: b.number, Expires: now.Add(full + 2*time.Second).Truncate(time.Second),
	})
	if err != nil {
		return fmt.Errorf("lease of a quota: %w", err)
	}
	b.number, b.known = number, next
	return nil
}

// remaining returns the tokens that are left as far as the process knows, and the time until the bucket is full.
func (b *bucket) remaining(now time.Time) (left int64, full time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.quota.Measure {
	case Concurrent:
		return max(0, b.quota.Amount-b.inside), 0
	case StoredBytes:
		return max(0, b.quota.Amount-b.stored), 0
	}
	if b.number == "" {
		return b.quota.Amount, 0 // no lease succeeded yet
	}
	tokens := max(0, min(float64(b.quota.Amount), b.left+b.refilled(b.known, now)))
	return int64(tokens), time.Duration((float64(b.quota.Amount) - tokens) / b.rate() * float64(time.Second))
}

// idle reports whether the process can forget the bucket: no request runs, and a lease has ended.
func (b *bucket) idle(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inside == 0 && b.left >= 0 && now.Sub(b.used) > max(b.quota.Per, lookEvery)
}
