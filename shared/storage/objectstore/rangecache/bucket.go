package rangecache

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/storage/objectstore"
)

const (
	// usualWait bounds the time for the first byte of an entry, once the bucket has answered. A read takes about
	// this long longer if the bucket is slow.
	usualWait = 50 * time.Millisecond
	// firstWait is the bound before that, which includes opening a connection and a session.
	firstWait = 250 * time.Millisecond
	// bytesPerSecond is the least rate of the further bytes.
	bytesPerSecond = 64 << 20
	// putWait bounds the time of a write.
	putWait = 5 * time.Second
	// maxFailures is the number of failed calls in a row after which the bucket is left alone for a pause. One
	// is enough if it has never answered, or has just been left alone.
	maxFailures = 3
	pause       = 30 * time.Second
	// maxLookups bounds the concurrent requests of one call.
	maxLookups = 32
)

// A bucket holds entries under their names. It is left alone for a while if it fails or is slow, so that it does
// not delay each read.
type bucket struct {
	store  objectstore.Store
	reads  breaker
	writes breaker
}

func newBucket(s objectstore.Store, now func() time.Time, logger *slog.Logger) *bucket {
	return &bucket{
		store:  s,
		reads:  breaker{what: "reads", now: now, logger: logger},
		writes: breaker{what: "writes", now: now, logger: logger},
	}
}

// A want is a range that is looked up.
type want struct {
	index int // among the ranges of the call
	name  digest
	of    objectstore.Range
}

// get returns the blobs under names, in the order of wanted. A blob is nil if it was not found in time.
func (b *bucket) get(ctx context.Context, wanted []want) [][]byte {
	blobs := make([][]byte, len(wanted))
	wait, ok := b.reads.allow()
	if !ok {
		return blobs
	}
	failed := make([]error, len(wanted))
	var group errgroup.Group
	group.SetLimit(maxLookups)
	begun := 0
	for i, w := range wanted {
		if ctx.Err() != nil {
			break
		}
		begun++
		group.Go(func() error {
			blobs[i], failed[i] = b.getOne(ctx, w, wait)
			return nil
		})
	}
	_ = group.Wait() // no lookup returns an error
	if ctx.Err() == nil && begun > 0 {
		b.reads.note(errors.Join(failed...))
	}
	return blobs
}

// getOne requests one blob. The range bounds its size, whatever is stored under the name: it is counted from the
// end, and so gives all of an entry that is no longer.
func (b *bucket) getOne(ctx context.Context, w want, wait time.Duration) ([]byte, error) {
	most := mostBytes(w.of)
	ctx, done := context.WithTimeout(ctx, wait+time.Duration(most)*time.Second/bytesPerSecond)
	defer done()
	got, _, err := b.store.GetRanges(ctx, w.name.String(), objectstore.Range{Offset: -(headerBytes + most)})
	switch {
	case errors.Is(err, objectstore.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return got[0], nil
}

// put writes a blob. It belongs to no request, which may have been answered by now.
func (b *bucket) put(name digest, blob []byte) bool {
	if _, ok := b.writes.allow(); !ok {
		return false
	}
	ctx, done := context.WithTimeout(context.Background(), putWait)
	defer done()
	_, err := b.store.Put(ctx, name.String(), blob, objectstore.Condition{})
	b.writes.note(err)
	return err == nil
}

// A breaker stops calls for a pause after failures in a row.
type breaker struct {
	what   string // for the log
	now    func() time.Time
	logger *slog.Logger

	mu       sync.Mutex
	answered bool // at least once
	failures int  // in a row
	until    time.Time
}

// allow reports whether a call may begin now, and how long it may wait.
func (b *breaker) allow() (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now().Before(b.until) {
		return 0, false
	}
	if !b.answered {
		return firstWait, true
	}
	return usualWait, true
}

// note records the outcome of a call.
func (b *breaker) note(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.answered, b.failures = true, 0
		return
	}
	b.failures++
	if b.answered && b.failures < maxFailures || b.now().Before(b.until) {
		return
	}
	b.failures = maxFailures - 1 // the next failure is enough
	b.until = b.now().Add(pause)
	b.logger.Warn("the bucket of the range cache fails and is left alone for a while", "for", pause.String(), "calls", b.what, "error", err)
}
