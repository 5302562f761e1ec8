// Package forward sends the events of an outbox to a target: an SQS queue, an EventBridge event bus, or a webhook.
//
// A record contains the cursor after the last event sent. It is written after the target has accepted the events:
//
//	event-cursor/<hash of the target>    {"cursor": …, "failures": …, "retry_at": …}
//
// If a process dies in between, the record is unchanged, and the next process sends the same events again. So each event
// arrives at least once, and receivers recognize repetitions by its id.
package forward

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tiltyard/shared/events/outbox"
	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/storage/record"
)

// A Target receives events. It is safe for concurrent use.
type Target interface {
	// Send returns nil if the target has accepted all events. After an error it may have accepted some of them. The text of
	// the error contains no secrets.
	Send(ctx context.Context, events []eventapi.Event) error
}

// A Forwarder sends the events of a log to a target. It is safe for concurrent use, but concurrent calls may send events
// twice.
type Forwarder struct {
	Log     *outbox.Log
	Records record.Store
	Now     func() time.Time
	Logger  *slog.Logger
	Target  Target
	Address string // of the target; a new address starts with the oldest event
}

const (
	cursorFolder = "event-cursor"
	// pageSize is the number of events between two writes of the record.
	pageSize = 100
	// firstRetry is the pause after a failure. Each further one doubles it, up to maxRetry. maxRetry is below five minutes, so
	// that an alarm over failures in five minutes lasts until the target accepts events again.
	firstRetry = 5 * time.Second
	maxRetry   = 4 * time.Minute
	// early tolerates clock differences: a retry may come so long before the end of the pause.
	early = 2 * time.Second
)

// FailedMessage is the log message when a target does not accept events. An alarm filters for it.
const FailedMessage = "events could not be forwarded"

// A state is the value of the record.
type state struct {
	Cursor   string    `json:"cursor"`             // before the first event that the target may not have
	Failures int       `json:"failures,omitempty"` // since the last success
	RetryAt  time.Time `json:"retry_at,omitzero"`
}

// Forward sends one page of events that the target may not have. more reports whether there may be further ones. If the
// target fails, retry is the wait until the next attempt. During that wait Forward does nothing.
func (f *Forwarder) Forward(ctx context.Context) (more bool, retry time.Duration, err error) {
	kept, s, err := f.read(ctx)
	if err != nil {
		return false, 0, err
	}
	if f.Now().Before(s.RetryAt.Add(-early)) {
		return false, 0, nil // the process that met the failure has scheduled a retry
	}
	page, err := f.page(ctx, s)
	if err != nil {
		return false, 0, err
	}
	next := state{Cursor: page.Next.String()}
	more = page.More || len(page.Events) > 0 // new events may have been written meanwhile
	if len(page.Events) > 0 {
		if err := f.Target.Send(ctx, page.Events); err != nil {
			if ctx.Err() != nil {
				return false, 0, ctx.Err()
			}
			f.Logger.Error(FailedMessage, "failures", s.Failures+1, "error", err)
			retry = min(firstRetry<<min(s.Failures, 10), maxRetry)
			next = state{Cursor: s.Cursor, Failures: s.Failures + 1, RetryAt: f.Now().Add(retry).UTC()}
			more = false
		}
	}
	if next == s {
		return more, retry, nil
	}
	if kept.Value, err = json.Marshal(next); err != nil {
		return false, 0, fmt.Errorf("encode record %s: %w", kept.Key, err)
	}
	_, err = f.Records.Put(ctx, kept)
	if errors.Is(err, record.ErrConflict) {
		return true, retry, nil // another process forwards concurrently
	}
	return more, retry, err
}

// read returns the record and its state. Without a record the state is zero: before all events.
func (f *Forwarder) read(ctx context.Context) (record.Record, state, error) {
	sum := sha256.Sum256([]byte(f.Address))
	key := cursorFolder + "/" + hex.EncodeToString(sum[:12])
	kept, err := f.Records.Get(ctx, key)
	if errors.Is(err, record.ErrNotExist) {
		return record.Record{Key: key}, state{}, nil
	}
	var s state
	if err == nil {
		err = kept.Decode(&s)
	}
	return kept, s, err
}

// page returns the next page of events. If some of them were deleted, it logs an error and starts
// with the oldest remaining event.
func (f *Forwarder) page(ctx context.Context, s state) (outbox.Page, error) {
	var from outbox.Cursor
	var err error
	if s.Cursor == "" {
		from, err = f.Log.Oldest(ctx)
	} else {
		from, err = outbox.ParseCursor(s.Cursor)
	}
	if err != nil {
		return outbox.Page{}, err
	}
	page, err := f.pageAt(ctx, from)
	var expired *outbox.ExpiredError
	// Forwarding was down for longer than the retention. The lost events cannot be recovered.
	if errors.As(err, &expired) {
		f.Logger.Error("events were deleted before they could be forwarded", "after", s.Cursor, "oldest", expired.Oldest.String())
		return f.pageAt(ctx, expired.Oldest)
	}
	return page, err
}

// pageAt reads a page of all events from a cursor on.
func (f *Forwarder) pageAt(ctx context.Context, from outbox.Cursor) (outbox.Page, error) {
	return f.Log.Read(ctx, from, pageSize, func(*eventapi.Event) bool { return true })
}

// Batches encodes events in JSON and groups them, with at most most events and maxBytes bytes in
// each group.
func Batches(events []eventapi.Event, most, maxBytes int) ([][]json.RawMessage, error) {
	var all [][]json.RawMessage
	size := 0
	for i := range events {
		text, err := json.Marshal(events[i])
		if err != nil {
			return nil, fmt.Errorf("encode event %s: %w", events[i].ID, err)
		}
		if len(all) == 0 || len(all[len(all)-1]) == most || size+len(text) > maxBytes {
			all, size = append(all, nil), 0
		}
		last := len(all) - 1
		all[last] = append(all[last], text)
		size += len(text)
	}
	return all, nil
}
