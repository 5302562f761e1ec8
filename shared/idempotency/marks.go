package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"time"

	"tiltyard/shared/record"
)

// Window is how long it is remembered that an upload has had no answer, and what one of a
// certain id was answered. Clients that send again by themselves do so within seconds.
const Window = 2 * time.Minute

const (
	// maxMarks bounds how many uploads of one content may be without an answer at a time;
	// the oldest go first.
	maxMarks = 200
	// maxMarkTries bounds how often a mark is tried to be left or taken while others do so.
	maxMarkTries = 30
	// markPause bounds what is waited between two tries.
	markPause = 100 * time.Millisecond
)

// content is an upload with its body, known by its length and checksum.
type content struct {
	principal, operation, target string
	size                         int64
	sum                          checksum
}

// A checksum is 64 bits made of two checksums that processors compute: it is made of all that
// is uploaded, most of which is never asked for again. Who makes different rows of one
// checksum fools himself only, as they have to be his own.
type checksum [2]uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (c *checksum) add(p []byte) {
	c[0] = crc32.Update(c[0], castagnoli, p)
	c[1] = crc32.Update(c[1], crc32.IEEETable, p)
}

// marks are the uploads whose senders have no answer, where all processes find them: a record
// for each content.
type marks struct {
	records record.Store
	now     func() time.Time
}

// A mark stands for one upload: the attempt whose outcome its sender does not know. Who takes
// it away has the change for his own. It is harmless when the change was never made.
type mark struct {
	Attempt string    `json:"attempt"`
	Since   time.Time `json:"since"` // when it was begun
	Left    time.Time `json:"left"`
}

// key hashes what makes uploads the same.
func (c content) key() string {
	h := sha256.New()
	for _, part := range []string{c.principal, c.operation, c.target} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	fmt.Fprintf(h, "%d:%x", c.size, c.sum)
	sum := hex.EncodeToString(h.Sum(nil))
	return "upload/" + sum[:2] + "/" + sum[2:]
}

// leave adds a mark.
func (m marks) leave(ctx context.Context, c content, left mark) error {
	return m.change(ctx, c, func(all []mark) []mark {
		all = append(all, left)
		return all[max(0, len(all)-maxMarks):]
	})
}

// take takes the oldest mark away; nil when there is none.
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

// withdraw takes the mark of an attempt away, and says whether it was still there.
func (m marks) withdraw(ctx context.Context, c content, attempt string) (bool, error) {
	there := false
	err := m.change(ctx, c, func(all []mark) []mark {
		left := slices.DeleteFunc(slices.Clone(all), func(one mark) bool { return one.Attempt == attempt })
		there = len(left) < len(all)
		return left
	})
	return there, err
}

// change changes the marks of a content, which others may do at the same time.
func (m marks) change(ctx context.Context, c content, change func([]mark) []mark) error {
	key := c.key()
	for try := 1; ; try++ {
		err := m.tryChange(ctx, key, change)
		if !errors.Is(err, record.ErrConflict) || try == maxMarkTries {
			return err
		}
		if err := pause(ctx, rand.N(markPause)); err != nil {
			return err
		}
	}
}

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
		if err := json.Unmarshal(r.Value, &before); err != nil {
			return fmt.Errorf("decode record %s: %w", key, err)
		}
	}
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
