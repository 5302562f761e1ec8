package idempotency

import (
	"context"
	"errors"
	"testing"
	"time"

	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/objectrecord"
)

// A mute store answers the next write with an unknown outcome.
type mute struct {
	record.Store
	writes bool // the write takes place
	next   bool
}

func (m *mute) Put(ctx context.Context, r record.Record) (string, error) {
	if !m.next {
		return m.Store.Put(ctx, r)
	}
	m.next = false
	if m.writes {
		if _, err := m.Store.Put(ctx, r); err != nil {
			return "", err
		}
	}
	return "", record.ErrUnknownOutcome
}

// A note whose answer was lost is read, which decides what has become of it.
func TestNotesOfUnknownOutcome(t *testing.T) {
	records := &mute{Store: objectrecord.Open(memstore.New(), time.Now)}
	l := Open(records, time.Now)
	if err := begin(t, l, request).Finish(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	records.next = true
	if answer, note, err := l.Begin(t.Context(), request); err != nil || note != nil || answer == nil || answer.Status != done.Status {
		t.Errorf("another has the answer: got %v, %v, %v", answer, note, err)
	}

	fresh := request
	fresh.Key = "fresh"
	records.next = true
	if answer, note, err := l.Begin(t.Context(), fresh); !errors.Is(err, record.ErrUnknownOutcome) || answer != nil || note != nil {
		t.Errorf("there is no note: got %v, %v, %v, want ErrUnknownOutcome", answer, note, err)
	}

	records.next, records.writes = true, true
	if err := begin(t, l, fresh).Finish(t.Context(), done); err != nil {
		t.Errorf("the note is there: %v", err)
	}
	if answer, note, err := l.Begin(t.Context(), fresh); err != nil || note != nil || answer == nil {
		t.Errorf("after the answer: got %v, %v, %v", answer, note, err)
	}
}
