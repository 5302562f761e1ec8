package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"tiltyard/shared/process/backoff"
	"tiltyard/shared/storage/record"
)

// Window is how long a mark of an upload counts, and how long the answer to an upload with an id is
// kept. Clients that repeat requests by themselves do so within seconds.
const Window = 2 * time.Minute

const (
	// maxMarks bounds the marks of uploads with equal contents; the oldest are dropped first.
	maxMarks = 200
	// maxMarkTries bounds the attempts to write a record that other processes write as well.
	maxMarkTries = 30
	// markPause bounds the wait between two tries.
	markPause = 100 * time.Millisecond
)

// content identifies uploads with equal parameters and bodies. It represents the body by its length
// and checksum.
type content struct {
	principal, operation, target string
	size                         int64
	sum                          checksum
}

// A checksum combines two 32-bit checksums, CRC-32C and CRC-32, that processors compute quickly,
// because every upload is summed and few sums are ever used. A client that constructs two bodies
// with one checksum harms only itself, because marks are separate for each principal.
type checksum [2]uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// add includes the bytes of p.
func (c *checksum) add(p []byte) {
	c[0] = crc32.Update(c[0], castagnoli, p)
	c[1] = crc32.Update(c[1], crc32.IEEETable, p)
}

// marks stores the uploads whose clients have no answer, for all processes: one record per content.
type marks struct {
	records record.Store
	now     func() time.Time
	// turns serialize the uploads of this process that change the record of one content, because each
	// conflict costs a pause. A content has the turn of its hash, so several contents may use the same
	// one.
	turns *[256]turn
}

// A turn is a lock that one upload holds at a time. It is a channel, so that waiting ends with the
// context.
type turn chan struct{}

func newTurns() *[256]turn {
	turns := new([256]turn)
	for i := range turns {
		turns[i] = make(turn, 1)
	}
	return turns
}

// A mark names the attempt of an upload whose client does not know the outcome. The process that
// takes the mark away takes over the change. A mark of a change that was never made is harmless.
type mark struct {
	Attempt string    `json:"attempt"`
	Since   time.Time `json:"since"` // when the attempt began
	Left    time.Time `json:"left"`
}

// key hashes the fields that identify a content.
func (c content) key() string {
	h := sha256.New()
	for _, part := range []string{c.principal, c.operation, c.target} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	fmt.Fprintf(h, "%d:%x", c.size, c.sum)
	sum := hex.EncodeToString(h.Sum(nil))
	return "upload/" + sum[:2] + "/" + sum[2:]
}

// leave adds a mark to the record of a content.
func (m marks) leave(ctx context.Context, c content, left mark) error {
	return m.change(ctx, c, func(all []mark) []mark {
		all = append(all, left)
		return all[max(0, len(all)-maxMarks):]
	})
}

// take removes and returns the oldest mark, or nil if there is none.
func (m marks) take(ctx context.Context, c content) (*mark, error) {
	var taken *mark
	err := m.change(ctx, c, func(all []mark) []mark {
		taken = nil
		if len(all) == 0 {
			return all
		}
		taken = &all[0]
		return all[1:]
	})
	return taken, err
}

// withdraw removes the mark of an attempt and reports whether it was still there.
func (m marks) withdraw(ctx context.Context, c content, attempt string) (bool, error) {
	there := false
	err := m.change(ctx, c, func(all []mark) []mark {
		left := slices.DeleteFunc(slices.Clone(all), func(one mark) bool { return one.Attempt == attempt })
		there = len(left) < len(all)
		return left
	})
	return there, err
}

// change applies change to the marks of a content and retries on conflicts with other processes.
func (m marks) change(ctx context.Context, c content, change func([]mark) []mark) error {
	key := c.key()
	// Contents with equal hashes wait for each other, which costs little.
	mine := m.turns[crc32.Checksum([]byte(key), castagnoli)%uint32(len(m.turns))]
	select {
	case mine <- struct{}{}:
		defer func() { <-mine }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for try := 1; ; try++ {
		err := m.tryChange(ctx, key, change)
		if !errors.Is(err, record.ErrConflict) || try == maxMarkTries {
			return err
		}
		if err := backoff.Wait(ctx, markPause, markPause, 0); err != nil {
			return err
		}
	}
}

// tryChange makes one attempt. It drops expired marks, and deletes a record without marks.
func (m marks) tryChange(ctx context.Context, key string, change func([]mark) []mark) error {
	r, err := m.records.Get(ctx, key)
	if errors.Is(err, record.ErrNotExist) {
		r, err = record.Record{Key: key}, nil
	}
	if err != nil {
		return fmt.Errorf("look for marks: %w", err)
	}
	var before []mark
	if r.Version != "" {
		if err := r.Decode(&before); err != nil {
			return err
		}
	}
	// Expired marks count as absent, so that they vanish with the next change.
	before = slices.DeleteFunc(before, func(one mark) bool { return m.now().Sub(one.Left) > Window })
	after := change(slices.Clone(before))
	switch {
	case slices.Equal(after, before):
		return nil
	case len(after) == 0:
		err = m.records.Delete(ctx, key, r.Version)
	default:
		r.Expires = m.now().Add(Window + time.Second)
		if r.Value, err = json.Marshal(after); err != nil {
			return err
		}
		_, err = m.records.Put(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("change marks: %w", err)
	}
	return nil
}
