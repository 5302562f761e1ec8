package idempotency

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

const (
	// maxRemembered bounds how many uploads a process remembers; it drops the oldest first.
	maxRemembered = 20_000
	// markTime bounds the work on marks at the end of an upload, whose context may have ended.
	markTime = 10 * time.Second
	// markGrace is the time for that work after the deadline of the request.
	markGrace = time.Second
)

// ErrNotRecalled means that the process could not check whether an upload was made before.
var ErrNotRecalled = errors.New("the server cannot check whether the upload was made before")

// Uploads recognizes repeated uploads, as the package comment describes. In the normal case it
// sends no request to the storage. Uploads is safe for concurrent use.
type Uploads struct {
	marks marks // without records when there is no ledger
	now   func() time.Time

	mu       sync.Mutex
	requests map[requestKey]*uploaded // by id: uploads that are running or answered
	leaving  map[content][]*departure // marks that this process stores or has stored
	kept     map[content][]mark       // marks that could not be stored
	aged     []aged                   // entries to forget, oldest first
}

// OpenUploads returns an Uploads that stores its marks among the records of a ledger. Without a
// ledger (nil) marks stay in the memory of this process.
func OpenUploads(ledger *Ledger, now func() time.Time) *Uploads {
	u := &Uploads{
		now: now, requests: map[requestKey]*uploaded{},
		leaving: map[content][]*departure{}, kept: map[content][]mark{},
	}
	if ledger != nil {
		u.marks = marks{records: ledger.records, now: now, turns: newTurns()}
	}
	return u
}

// An Upload is an upload that may be sent twice.
type Upload struct {
	Principal string // the sender
	Operation string
	Target    string // path and parameters: all contents except the body
	// ID is the id of the request if it identifies this one upload, else "".
	ID string
}

// requestKey identifies an upload within the process: equal bodies with the same request id.
type requestKey struct {
	content
	id string
}

// uploaded is the state of an upload that has an id of its own.
type uploaded struct {
	done   chan struct{} // closed when the upload is answered or given up
	answer *Answer       // set before done is closed; nil when given up
}

// departure is a mark that is being stored.
type departure struct {
	done chan struct{} // closed when the mark is stored or storing it has failed
	err  error         // set before done is closed
}

// aged is an entry to forget.
type aged struct {
	at      time.Time
	content content
	id      string // "" for a departure
}

// admit registers an upload. It returns nil, or the running or answered upload with the same id.
func (u *Uploads) admit(s *Stream) *uploaded {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forget()
	if s.upload.ID == "" {
		return nil
	}
	key := requestKey{s.content, s.upload.ID}
	if same := u.requests[key]; same != nil {
		return same
	}
	s.note = &uploaded{done: make(chan struct{})}
	u.requests[key] = s.note
	return nil
}

// end wakes the requests that wait for the answer to the same upload.
func (u *Uploads) end(s *Stream, a *Answer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s.note == nil {
		return
	}
	s.note.answer = a
	close(s.note.done)
	if a == nil {
		delete(u.requests, requestKey{s.content, s.upload.ID})
	} else {
		u.aged = append(u.aged, aged{u.now(), s.content, s.upload.ID})
	}
	s.note = nil
}

// depart registers a mark that is about to be stored. A repeated upload in this process waits for
// it.
func (u *Uploads) depart(c content) *departure {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forget()
	d := &departure{done: make(chan struct{})}
	u.leaving[c] = append(u.leaving[c], d)
	u.aged = append(u.aged, aged{u.now(), c, ""})
	return d
}

// leave stores a mark that depart has registered. If that fails, the mark stays in memory.
func (u *Uploads) leave(ctx context.Context, c content, left mark, d *departure) {
	defer close(d.done)
	if u.marks.records != nil {
		if d.err = u.marks.leave(ctx, c, left); d.err == nil {
			return
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept[c] = append(u.kept[c], left)
}

// take takes a mark of the content; nil means that there is none. It reads the records only if this
// process has left a mark for the content, or if look means that another process may have.
func (u *Uploads) take(ctx context.Context, c content, look bool) (*mark, error) {
	u.mu.Lock()
	leaving := slices.Clone(u.leaving[c])
	u.mu.Unlock()
	for _, d := range leaving {
		select {
		case <-d.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var taken *mark
	if u.marks.records != nil && (look || len(leaving) > 0) {
		var err error
		if taken, err = u.marks.take(ctx, c); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotRecalled, err)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	kept := u.kept[c]
	if taken == nil && len(kept) > 0 {
		taken = &kept[0]
	}
	if taken != nil { // if the answer to storing it was lost, the mark is also in memory
		u.setKept(c, without(kept, taken.Attempt))
	}
	return taken, nil
}

// withdraw removes the mark of an attempt and reports whether it was still there: no other request
// has taken it.
func (u *Uploads) withdraw(ctx context.Context, c content, attempt string) (bool, error) {
	stored, err := false, error(nil)
	if u.marks.records != nil {
		stored, err = u.marks.withdraw(ctx, c, attempt)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	kept := u.kept[c]
	left := without(kept, attempt)
	u.setKept(c, left)
	return err == nil && (stored || len(left) < len(kept)), err
}

// without returns the marks except the mark of an attempt.
func without(marks []mark, attempt string) []mark {
	return slices.DeleteFunc(slices.Clone(marks), func(m mark) bool { return m.Attempt == attempt })
}

// setKept replaces the marks in memory. The caller holds mu.
func (u *Uploads) setKept(c content, left []mark) {
	if len(left) == 0 {
		delete(u.kept, c)
		return
	}
	u.kept[c] = left
}

// forget drops entries older than Window, and the oldest ones beyond maxRemembered. The caller
// holds mu.
func (u *Uploads) forget() {
	limit := u.now().Add(-Window)
	for len(u.aged) > 0 && (len(u.aged) > maxRemembered || u.aged[0].at.Before(limit)) {
		old := u.aged[0]
		u.aged = u.aged[1:]
		if old.id != "" {
			delete(u.requests, requestKey{old.content, old.id})
			continue
		}
		// An entry without an id stands for the oldest departure of its content.
		if left := u.leaving[old.content]; len(left) > 1 {
			u.leaving[old.content] = left[1:]
		} else {
			delete(u.leaving, old.content)
		}
		if kept := u.kept[old.content]; len(kept) > 0 && !kept[0].Left.After(old.at) {
			u.setKept(old.content, kept[1:])
		}
	}
}

// Repeated is the error with which a stream ends when its upload was made before.
type Repeated struct{ Answer Answer }

// Error returns a fixed text.
func (*Repeated) Error() string { return "the upload was made before" }

// Open returns the body of an upload as a stream. The context is that of the request, which ends
// when the client disconnects or the deadline passes.
func (u *Uploads) Open(ctx context.Context, upload Upload, body io.Reader) *Stream {
	return newStream(ctx, u, upload, body)
}
