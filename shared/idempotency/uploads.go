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
	// maxRemembered bounds how much is remembered of uploads; the oldest goes first.
	maxRemembered = 20_000
	// markTime bounds what is done about marks at the end of an upload, when the time of
	// the request may have passed.
	markTime = 10 * time.Second
)

// ErrNotRecalled says that it could not be found out whether an upload was made before.
var ErrNotRecalled = errors.New("whether the upload was made before cannot be found out")

// Uploads recognises uploads that are sent again, without asking anything of the storage
// where nothing goes wrong. See the package comment for what it goes by. It is safe for
// concurrent use.
type Uploads struct {
	marks marks // with no records when there is no ledger
	now   func() time.Time

	mu       sync.Mutex
	requests map[requestKey]*uploaded // by id; in the making or answered
	leaving  map[content][]*departure // whose senders are known here to have no answer
	kept     map[content][]mark       // those that could not be stored
	aged     []aged                   // what there is to forget, oldest first
}

// OpenUploads returns what recognises uploads, by marks among the records of a ledger. Without
// one, which is nil, they are known to this process only.
func OpenUploads(ledger *Ledger, now func() time.Time) *Uploads {
	u := &Uploads{
		now: now, requests: map[requestKey]*uploaded{},
		leaving: map[content][]*departure{}, kept: map[content][]mark{},
	}
	if ledger != nil {
		u.marks = marks{records: ledger.records, now: now}
	}
	return u
}

// An Upload is what may be sent twice.
type Upload struct {
	Principal string // who sends it
	Operation string
	Target    string // all else that the request says but the body: path and parameters
	// ID of the request, when it stands for this one upload; else "".
	ID string
}

type requestKey struct {
	content
	id string
}

// uploaded is a request with an id of its own.
type uploaded struct {
	done   chan struct{} // closed when it is answered or given up
	answer *Answer       // set before done; nil when given up
}

// departure is a mark on its way into the records.
type departure struct {
	done chan struct{} // closed when it is there, or could not be stored
	err  error         // set before done
}

// aged is something to forget.
type aged struct {
	at      time.Time
	content content
	id      string // "": of a departure
}

// admit lets an upload be made, and returns nil, unless one of the same id is being made or
// was, which it returns.
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

// end ends the waiting of those who sent the same request.
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

// depart begins to leave a mark: who sends the same to this process waits for it.
func (u *Uploads) depart(c content) *departure {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forget()
	d := &departure{done: make(chan struct{})}
	u.leaving[c] = append(u.leaving[c], d)
	u.aged = append(u.aged, aged{u.now(), c, ""})
	return d
}

// leave leaves a mark that has begun to depart.
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

// take takes a mark of the content away, nil when there is none. It asks the records when this
// process knows of one, or when look says that others may.
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
	if taken != nil { // one may be in both places when its storing was not answered
		u.setKept(c, without(kept, taken.Attempt))
	}
	return taken, nil
}

// withdraw takes back the mark of an attempt, and says whether nobody has taken it.
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

func without(marks []mark, attempt string) []mark {
	return slices.DeleteFunc(slices.Clone(marks), func(m mark) bool { return m.Attempt == attempt })
}

func (u *Uploads) setKept(c content, left []mark) {
	if len(left) == 0 {
		delete(u.kept, c)
		return
	}
	u.kept[c] = left
}

// forget forgets what is old.
func (u *Uploads) forget() {
	limit := u.now().Add(-Window)
	for len(u.aged) > 0 && (len(u.aged) > maxRemembered || u.aged[0].at.Before(limit)) {
		old := u.aged[0]
		u.aged = u.aged[1:]
		if old.id != "" {
			delete(u.requests, requestKey{old.content, old.id})
			continue
		}
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

// Repeated ends the reading of an upload that was made before.
type Repeated struct{ Answer Answer }

// Error says so.
func (*Repeated) Error() string { return "the upload was made before" }

// Open returns the body of an upload as a stream. The context is that of the request, which
// ends when its sender goes or its time is up.
func (u *Uploads) Open(ctx context.Context, upload Upload, body io.Reader) *Stream {
	return newStream(ctx, u, upload, body)
}
