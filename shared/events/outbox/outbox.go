package outbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
)

// maxTries bounds the attempts of work that other processes interfere with.
const maxTries = 40

// MaxBatch bounds the events of a batch, which must fit into a record.
const MaxBatch = 100

// An Outbox writes events to a log, each exactly once. It is safe for concurrent use.
type Outbox struct {
	Log     *Log
	Records record.Store
	Now     func() time.Time
	Source  string // of the events, as CloudEvents defines it
}

// kept is the value of the record of an object; see the package comment.
type kept struct {
	Mark     json.RawMessage  `json:"mark"`
	Batch    string           `json:"batch,omitempty"` // "" if there is none, or the batch is known to be in the log
	Position uint64           `json:"position,omitempty"`
	Events   []eventapi.Event `json:"events,omitempty"`
}

// News are the unannounced changes of an object.
type News struct {
	Events []eventapi.Event // at most [MaxBatch]; Announce fills in common fields
	Mark   any              // the next mark; nil keeps the last one
	// Expires is the time at which the mark may be deleted, because the object cannot change any more;
	// zero means never.
	Expires time.Time
}

// Announce writes the events of an object to the log. key is the key of the object's record. news compares the last mark,
// which is nil if there is none, with the current state; it may be called several times. Announce returns the number of
// events that it wrote.
func (o *Outbox) Announce(ctx context.Context, key string, news func(mark json.RawMessage) (News, error)) (wrote int, err error) {
	for range maxTries {
		last, state, err := o.read(ctx, key)
		if err == nil {
			// The batch of the record must be in the log before the next one replaces it.
			err = o.settle(ctx, &last, &state, false)
		}
		if err == nil {
			var found News
			if found, err = news(state.Mark); err == nil {
				err = o.announce(ctx, last, state, found)
				wrote = len(found.Events)
			}
		}
		if !errors.Is(err, record.ErrConflict) {
			return wrote, err
		}
	}
	return 0, fmt.Errorf("announce %s: %w", key, record.ErrConflict)
}

// announce replaces a record, whose batch must be in the log, and writes the next batch to the log. The error is
// record.ErrConflict if another process has changed the record.
func (o *Outbox) announce(ctx context.Context, last record.Record, state kept, found News) (err error) {
	next := kept{Mark: state.Mark}
	switch {
	case found.Mark != nil:
		if next.Mark, err = json.Marshal(found.Mark); err != nil {
			return fmt.Errorf("mark of %s: %w", last.Key, err)
		}
		last.Expires = found.Expires
	// Nothing is new, and no old batch remains to be removed from the record.
	case state.Batch == "":
		return nil
	}
	if len(found.Events) > 0 {
		next.Batch, next.Events = rand.Text(), found.Events
		for i := range next.Events {
			o.complete(&next.Events[i])
		}
		// The position is a guess that settle corrects if it is taken.
		if next.Position, err = o.Log.next(ctx, false); err != nil {
			return err
		}
	}
	if err = o.replace(ctx, &last, next); err != nil {
		return err
	}
	return o.settle(ctx, &last, &next, true)
}

// complete fills in the fields that all events have in common.
func (o *Outbox) complete(e *eventapi.Event) {
	e.SpecVersion, e.Source, e.DataContentType = "1.0", o.Source, "application/json"
	if e.Time.IsZero() {
		e.Time = o.Now()
	}
	e.Time = e.Time.UTC().Truncate(time.Millisecond)
}

// read returns the record of an object. It has no version if it does not exist.
func (o *Outbox) read(ctx context.Context, key string) (record.Record, kept, error) {
	var state kept
	last, err := o.Records.Get(ctx, key)
	if errors.Is(err, record.ErrNotExist) {
		return record.Record{Key: key}, state, nil
	}
	if err != nil {
		return last, state, err
	}
	return last, state, last.Decode(&state)
}

// replace writes a record in place of the last one, and updates last.
func (o *Outbox) replace(ctx context.Context, last *record.Record, next kept) (err error) {
	if last.Value, err = json.Marshal(next); err != nil {
		return fmt.Errorf("encode record %s: %w", last.Key, err)
	}
	last.Version, err = o.Records.Put(ctx, *last)
	return err
}

// settle ensures that the batch of a record is in the log. fresh means that the position of the batch was free a moment
// ago. The error is record.ErrConflict if another process has changed the record.
func (o *Outbox) settle(ctx context.Context, last *record.Record, state *kept, fresh bool) error {
	if state.Batch == "" {
		return nil
	}
	mine := entry{Batch: state.Batch, Key: last.Key, Events: state.Events}
	for range maxTries {
		free := fresh
		if !fresh {
			there, err := o.Log.get(ctx, state.Position)
			if err != nil || there != nil && there.Batch == mine.Batch {
				return err
			}
			if there == nil {
				begin, _, err := o.Log.start(ctx)
				if err != nil {
					return err
				}
				free = state.Position > begin.Expired // an expired position had another batch: see Expire
			}
		}
		if free {
			err := o.Log.put(ctx, state.Position, mine)
			if errors.Is(err, objectstore.ErrPrecondition) || errors.Is(err, objectstore.ErrUnknownOutcome) {
				fresh = false // read the entry and decide again
				continue
			}
			return err
		}
		next := *state
		var err error
		if next.Position, err = o.Log.next(ctx, true); err != nil {
			return err
		}
		if err = o.replace(ctx, last, next); err != nil {
			return err
		}
		*state, fresh = next, true
	}
	return fmt.Errorf("write the events of %s: %w", last.Key, objectstore.ErrPrecondition)
}

// Expire deletes entries older than keep, at most most of them, and returns their number. It raises keep to [MinRetention]
// if it is shorter.
func (o *Outbox) Expire(ctx context.Context, keep time.Duration, most int) (deleted int, err error) {
	begin, etag, err := o.Log.begun(ctx)
	if err != nil {
		return 0, err
	}
	until, before := begin.Expired, o.Now().Add(-max(keep, MinRetention))
	// Positions have no gaps, so stop at the first entry that is young enough.
	for range most {
		old, err := o.expire(ctx, until+1, before)
		if err != nil {
			return 0, err
		}
		if !old {
			break
		}
		until++
	}
	// Declare the positions expired before any entry is deleted, so that readers learn of it.
	if until > begin.Expired {
		begin.Expired = until
		if err := o.Log.begin(ctx, begin, etag); err != nil {
			return 0, err
		}
	}
	return o.Log.delete(ctx, until)
}

// expire reports whether the entry at a position was written before a time, or is lost. It removes the batch of the entry
// from its record.
func (o *Outbox) expire(ctx context.Context, position uint64, before time.Time) (bool, error) {
	e, made, err := o.Log.read(ctx, position)
	switch {
	case err != nil:
		return false, err
	case e == nil:
		return o.Log.lacks(ctx, position)
	case made.After(before):
		return false, nil
	}
	return true, o.forget(ctx, e, position)
}

// forget removes the batch of an entry from its record.
func (o *Outbox) forget(ctx context.Context, e *entry, position uint64) error {
	for range maxTries {
		last, state, err := o.read(ctx, e.Key)
		if err != nil || state.Batch != e.Batch || state.Position != position {
			return err
		}
		err = o.replace(ctx, &last, kept{Mark: state.Mark})
		if !errors.Is(err, record.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("expire the events of %s: %w", e.Key, record.ErrConflict)
}

// Mark returns the mark of an object, or nil if there is none.
func (o *Outbox) Mark(ctx context.Context, key string) (json.RawMessage, error) {
	_, state, err := o.read(ctx, key)
	return state.Mark, err
}

// A Mark is the announced state of an object.
type Mark struct {
	Key string // key of the record
	// Text is the mark from [News]; Err is set if the record cannot be decoded.
	Text json.RawMessage
	Err  error
}

// Marks pages through the marks of a folder; see record.Store.
func (o *Outbox) Marks(ctx context.Context, folder, after string, limit int) (marks []Mark, next string, err error) {
	page, err := o.Records.List(ctx, folder, after, limit)
	if err != nil {
		return nil, "", err
	}
	for _, r := range page.Records {
		var state kept
		err := r.Decode(&state)
		marks = append(marks, Mark{Key: r.Key, Text: state.Mark, Err: err})
	}
	return marks, page.Next, nil
}
