package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/storage/format"
	"tiltyard/shared/storage/objectstore"
)

const (
	// Folder is the folder of the log in the home root.
	Folder = "_events/"

	logFolder = Folder + "log/"
	startKey  = Folder + "start"
)

// MinRetention is the shortest retention of events.
const MinRetention = eventapi.MinRetention

// A Log is a sequence of events in an object store. It is safe for concurrent use.
type Log struct {
	objects objectstore.Store
	now     func() time.Time
	last    atomic.Uint64         // the last position known to be taken
	since   atomic.Pointer[start] // the start, as last read
}

// OpenLog returns the log in an object store. It sends no request.
func OpenLog(objects objectstore.Store, now func() time.Time) *Log {
	return &Log{objects: objects, now: now}
}

// An entry is the content of an object of the log.
type entry struct {
	Batch  string           `json:"batch"` // unique id
	Key    string           `json:"key"`   // key of the object's record
	Events []eventapi.Event `json:"events"`
}

// A start describes the begin of the log.
type start struct {
	Since   time.Time `json:"since"`   // when the log was created
	Expired uint64    `json:"expired"` // the last position that may be deleted
}

// keyAt returns the key of the entry at a position.
func keyAt(position uint64) string { return fmt.Sprintf("%s%016x", logFolder, math.MaxUint64-position) }

// positionOf is the inverse of keyAt.
func positionOf(key string) (uint64, error) {
	left, err := strconv.ParseUint(strings.TrimPrefix(key, logFolder), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("object %s is no entry of the log of events: %w", key, err)
	}
	return math.MaxUint64 - left, nil
}

// get returns the entry at a position, or nil if there is none.
func (l *Log) get(ctx context.Context, position uint64) (*entry, error) {
	e, _, err := l.read(ctx, position)
	return e, err
}

// read returns the entry at a position and the time at which it was written, or nil if there is
// none.
func (l *Log) read(ctx context.Context, position uint64) (e *entry, made time.Time, err error) {
	data, info, err := l.objects.Get(ctx, keyAt(position))
	if errors.Is(err, objectstore.ErrNotExist) {
		return nil, made, nil
	}
	if err != nil {
		return nil, made, fmt.Errorf("read event %d: %w", position, err)
	}
	if e, err = parseEntry(keyAt(position), data); err != nil {
		return nil, made, err
	}
	l.taken(position)
	return e, info.Modified, nil
}

// parseEntry decodes and checks an entry.
func parseEntry(key string, data []byte) (*entry, error) {
	e := new(entry)
	if err := format.Decode(key, data, e); err != nil {
		return nil, err
	}
	if e.Batch == "" || len(e.Events) == 0 {
		return nil, fmt.Errorf("decode %s: it holds no batch", key)
	}
	return e, nil
}

// put puts the entry at a position. The error is objectstore.ErrPrecondition if there is one
// already, and objectstore.ErrUnknownOutcome if the answer was lost.
func (l *Log) put(ctx context.Context, position uint64, e entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event %d: %w", position, err)
	}
	_, err = l.objects.Put(ctx, keyAt(position), data, objectstore.Condition{IfAbsent: true})
	if err == nil || errors.Is(err, objectstore.ErrPrecondition) {
		l.taken(position)
	}
	if err != nil {
		return fmt.Errorf("write event %d: %w", position, err)
	}
	return nil
}

// taken records that a position is taken.
func (l *Log) taken(position uint64) {
	for {
		last := l.last.Load()
		if position <= last || l.last.CompareAndSwap(last, position) {
			return
		}
	}
}

// next returns the first position after the known end of the log. If fresh is true, it lists the store first.
func (l *Log) next(ctx context.Context, fresh bool) (uint64, error) {
	if last := l.last.Load(); last > 0 && !fresh {
		return last + 1, nil
	}
	end, err := l.end(ctx)
	return end + 1, err
}

// end returns the last taken position, or 0 if there is none.
func (l *Log) end(ctx context.Context) (uint64, error) {
	page, err := l.objects.List(ctx, objectstore.ListOptions{Prefix: logFolder, Limit: 1, KeysOnly: true})
	if err != nil {
		return 0, fmt.Errorf("find the end of the log of events: %w", err)
	}
	// The keys sort the newest entry first.
	if len(page.Objects) > 0 {
		last, err := positionOf(page.Objects[0].Key)
		if err != nil {
			return 0, err
		}
		l.taken(last)
		return last, nil
	}
	// No entry is left, so the log ends with its last expired position.
	at, _, err := l.start(ctx)
	if err != nil {
		return 0, err
	}
	return at.Expired, nil
}

// lacks reports whether the entry at a position was deleted: it is missing, although later entries
// exist.
func (l *Log) lacks(ctx context.Context, position uint64) (bool, error) {
	end, err := l.end(ctx)
	if err != nil || end <= position {
		return false, err
	}
	e, err := l.get(ctx, position) // it may have been written between the two requests, with others after it
	return e == nil, err
}

// Lost returns the first position whose entry was deleted too early, or 0 if there is none. Readers stop there: see
// [Outbox.Expire].
func (l *Log) Lost(ctx context.Context) (uint64, error) {
	var taken []uint64 // newest first
	for object, err := range objectstore.Objects(ctx, l.objects, objectstore.ListOptions{Prefix: logFolder, Limit: 1000, KeysOnly: true}) {
		if err != nil {
			return 0, fmt.Errorf("list the log of events: %w", err)
		}
		if position, err := positionOf(object.Key); err == nil {
			taken = append(taken, position)
		}
	}
	at, _, err := l.start(ctx) // read last, so that entries that expired meanwhile do not count as lost
	if err != nil {
		return 0, err
	}
	next := at.Expired + 1
	for _, position := range slices.Backward(taken) {
		if position > next {
			return next, nil
		}
		next = max(next, position+1)
	}
	return 0, nil
}

// start reads the start of the log. It returns the zero value and no ETag if there is no log yet.
func (l *Log) start(ctx context.Context) (at start, etag string, err error) {
	data, info, err := l.objects.Get(ctx, startKey)
	if errors.Is(err, objectstore.ErrNotExist) {
		return at, "", nil
	}
	if err != nil {
		return at, "", fmt.Errorf("read where the log of events begins: %w", err)
	}
	if err := format.Decode(startKey, data, &at); err != nil {
		return at, "", err
	}
	return at, info.ETag, nil
}

// begun returns the start of the log. The first call in a deployment creates it.
func (l *Log) begun(ctx context.Context) (at start, etag string, err error) {
	for range maxTries {
		if at, etag, err = l.start(ctx); err != nil || etag != "" {
			return at, etag, err
		}
		data, err := json.Marshal(start{Since: l.now().UTC()})
		if err != nil {
			return at, "", fmt.Errorf("encode %s: %w", startKey, err)
		}
		_, err = l.objects.Put(ctx, startKey, data, objectstore.Condition{IfAbsent: true})
		// Another process may have created the start, or the answer may be lost: read it again.
		if err != nil && !errors.Is(err, objectstore.ErrPrecondition) && !errors.Is(err, objectstore.ErrUnknownOutcome) {
			return at, "", fmt.Errorf("begin the log of events: %w", err)
		}
	}
	return at, "", fmt.Errorf("begin the log of events: %w", objectstore.ErrUnknownOutcome)
}

// begin replaces the start of the log if its ETag is unchanged.
func (l *Log) begin(ctx context.Context, at start, etag string) error {
	data, err := json.Marshal(at)
	if err != nil {
		return fmt.Errorf("encode %s: %w", startKey, err)
	}
	if _, err = l.objects.Put(ctx, startKey, data, objectstore.Condition{IfMatch: etag}); err != nil {
		return fmt.Errorf("expire events up to %d: %w", at.Expired, err)
	}
	return nil
}

// delete deletes the entries up to a position that start already declares as expired. It deletes the newest one last,
// because the end of the log is found by its newest entry: so no process announces anything at an expired position.
func (l *Log) delete(ctx context.Context, until uint64) (deleted int, err error) {
	const pageSize = 1000
	var keys []string
	opts := objectstore.ListOptions{Prefix: logFolder, StartAfter: keyAt(until + 1), Limit: pageSize, KeysOnly: true}
	for object, err := range objectstore.Objects(ctx, l.objects, opts) {
		if err != nil {
			return 0, fmt.Errorf("list expired events: %w", err)
		}
		keys = append(keys, object.Key)
	}
	for _, key := range slices.Backward(keys) {
		if err := l.objects.Delete(ctx, key, objectstore.Condition{}); err != nil {
			return deleted, fmt.Errorf("delete expired events: %w", err)
		}
		deleted++
	}
	return deleted, nil
}

// Since returns the creation time of the log; the first call creates it. Earlier changes have no events. A process sends
// the request once.
func (l *Log) Since(ctx context.Context) (time.Time, error) {
	if at := l.since.Load(); at != nil {
		return at.Since, nil
	}
	at, _, err := l.begun(ctx)
	if err == nil {
		l.since.Store(&at)
	}
	return at.Since, err
}

// maxAhead bounds the entries that a reader requests in parallel, and maxEntries the entries that one call of Read reads.
const (
	maxAhead   = 16
	maxEntries = 256
)

// A Page is a page of events.
type Page struct {
	Events []eventapi.Event
	Next   Cursor // start of the next page
	More   bool   // there may be more events
}

// Read returns at most limit events after a cursor for which wanted returns true. It may return
// fewer although there are more. The error is [*ExpiredError] if events after the cursor were
// deleted.
func (l *Log) Read(ctx context.Context, from Cursor, limit int, wanted func(*eventapi.Event) bool) (Page, error) {
	page := Page{Next: from, More: true}
	ahead := 1
	for looked := 0; looked < maxEntries; looked += ahead {
		// Most readers are near the end, where each request for a missing entry is wasted.
		ahead = min(2*ahead, maxAhead)
		entries, err := l.after(ctx, page.Next.Position, ahead)
		if err != nil {
			return page, err
		}
		for _, e := range entries {
			if e == nil {
				page.More = false
				at, _, err := l.start(ctx)
				if err == nil && page.Next.Position < at.Expired {
					err = &ExpiredError{Oldest: Cursor{Position: at.Expired}}
				}
				return page, err
			}
			if err := page.take(ctx, e, limit, wanted); err != nil || len(page.Events) == limit {
				return page, err
			}
		}
	}
	return page, nil
}

// take adds the wanted events of an entry, and reserves memory for them.
func (p *Page) take(ctx context.Context, e *entry, limit int, wanted func(*eventapi.Event) bool) error {
	for i := p.Next.Skip; i < len(e.Events); i++ {
		// The page is full within this entry.
		if len(p.Events) == limit {
			p.Next.Skip = i
			return nil
		}
		if !wanted(&e.Events[i]) {
			continue
		}
		if _, err := memory.Take(ctx, eventBytes); err != nil {
			return err
		}
		p.Events = append(p.Events, e.Events[i])
	}
	p.Next = Cursor{Position: p.Next.Position + 1}
	return nil
}

// eventBytes is the average memory of an event.
const eventBytes = 2 << 10

// after returns the entries after a position, at most most of them. The first missing one is nil
// and ends the result.
func (l *Log) after(ctx context.Context, position uint64, most int) ([]*entry, error) {
	// A single request suffices for readers at the end of the log.
	first, err := l.get(ctx, position+1)
	if first == nil || err != nil {
		return []*entry{nil}, err
	}
	found := make([]*entry, most)
	found[0] = first
	group, ctx := errgroup.WithContext(ctx)
	for i := 1; i < most; i++ {
		group.Go(func() (err error) {
			found[i], err = l.get(ctx, position+1+uint64(i))
			return err
		})
	}
	return found, group.Wait()
}

// Oldest returns the cursor before the oldest remaining event.
func (l *Log) Oldest(ctx context.Context) (Cursor, error) {
	at, _, err := l.start(ctx)
	return Cursor{Position: at.Expired}, err
}

// Newest returns the cursor after the newest event.
func (l *Log) Newest(ctx context.Context) (Cursor, error) {
	end, err := l.end(ctx)
	return Cursor{Position: end}, err
}
