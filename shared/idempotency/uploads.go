package idempotency

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"sync"
	"time"
)

const (
	// Window is how long it is remembered that an upload has had no answer, and what one of
	// a certain id was answered. Clients that send again by themselves do so within seconds.
	Window = 2 * time.Minute
	// maxRemembered bounds how much is remembered of uploads; the oldest goes first.
	maxRemembered = 20_000
)

// Uploads recognises uploads that are sent again, in the memory of this process: what costs
// nothing where nothing goes wrong. See the package comment for what it goes by. It is safe
// for concurrent use.
type Uploads struct {
	now  func() time.Time
	seed maphash.Seed

	mu       sync.Mutex
	requests map[requestKey]*uploaded // by id; in the making or answered
	lost     map[content][]lost       // oldest first
	aged     []aged                   // what there is to forget, oldest first
}

// OpenUploads returns a memory in which nothing is.
func OpenUploads(now func() time.Time) *Uploads {
	return &Uploads{now: now, seed: maphash.MakeSeed(), requests: map[requestKey]*uploaded{}, lost: map[content][]lost{}}
}

// An Upload is what may be sent twice.
type Upload struct {
	Principal string // who sends it
	Operation string
	Target    string // all else that the request says but the body: path and parameters
	// ID of the request, when it stands for this one upload; else "".
	ID string
}

// content is an upload with its body, known by its length and hash.
type content struct {
	principal, operation, target string
	size                         int64
	sum                          uint64
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

// lost is an upload whose sender knows of no answer: the answer, or, when there is none, the
// attempt whose outcome nobody knows.
type lost struct {
	at      time.Time
	answer  *Answer
	attempt string
	since   time.Time
}

// aged is something to forget.
type aged struct {
	at      time.Time
	content content
	id      string // "": one that was lost
}

// Repeated ends the reading of an upload that was made before.
type Repeated struct{ Answer Answer }

// Error says so.
func (*Repeated) Error() string { return "the upload was made before" }

// A Stream is the body of an upload. Once it is read it is known whether the upload is one
// that was made before: then the end of the stream is not io.EOF but a [*Repeated]. A
// stream that ended otherwise must be told what became of it, by one of Answered, Lost and Failed.
type Stream struct {
	uploads *Uploads
	ctx     context.Context //nolint:containedctx // an io.Reader of one request
	body    io.Reader
	upload  Upload
	attempt *Attempt
	began   time.Time

	hash    maphash.Hash
	size    int64
	end     error // what Read returns when it is not nil
	content content
	note    *uploaded // nil: not to be known by its id
	taken   bool      // it stands for one that was lost
}

// Open returns the body of an upload as a stream.
func (u *Uploads) Open(ctx context.Context, upload Upload, body io.Reader) *Stream {
	s := &Stream{uploads: u, ctx: ctx, body: body, upload: upload, attempt: newAttempt(), began: u.now()}
	s.hash.SetSeed(u.seed)
	return s
}

// Attempt returns what the upload's change is to be stored under.
func (s *Stream) Attempt() *Attempt { return s.attempt }

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	if s.end != nil {
		return 0, s.end
	}
	n, err := s.body.Read(p)
	_, _ = s.hash.Write(p[:n]) // never fails
	s.size += int64(n)
	if errors.Is(err, io.EOF) {
		err = s.recognise()
	}
	s.end = err
	return n, err
}

// recognise returns io.EOF when the upload is to be made, or why not.
func (s *Stream) recognise() error {
	s.content = content{s.upload.Principal, s.upload.Operation, s.upload.Target, s.size, s.hash.Sum64()}
	for {
		same := s.uploads.admit(s)
		if same == nil {
			return io.EOF
		}
		if err := s.await(same); err != nil {
			return err
		}
	}
}

// await waits for the answer to the same request, which is then a *Repeated. It is nil when
// that request was given up.
func (s *Stream) await(same *uploaded) error {
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case <-same.done:
		if same.answer != nil {
			return &Repeated{*same.answer}
		}
		return nil
	case <-timer.C:
		return ErrInFlight
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// admit lets an upload be made, and returns nil, unless it is the same as another, which
// it returns. One that was lost is replaced by it.
func (u *Uploads) admit(s *Stream) *uploaded {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forget()
	key := requestKey{s.content, s.upload.ID}
	if same := u.requests[key]; same != nil && key.id != "" {
		return same
	}
	if again := u.lost[s.content]; len(again) > 0 {
		u.setLost(s.content, again[1:])
		s.taken = true
		if answer := again[0].answer; answer != nil {
			answered := &uploaded{done: make(chan struct{}), answer: answer}
			close(answered.done)
			if key.id != "" {
				u.requests[key] = answered
				u.aged = append(u.aged, aged{u.now(), s.content, key.id})
			}
			return answered
		}
		s.attempt.resume(again[0].attempt, again[0].since)
	}
	if key.id != "" {
		s.note = &uploaded{done: make(chan struct{})}
		u.requests[key] = s.note
	}
	return nil
}

// Answered tells that the sender has the answer.
func (s *Stream) Answered(a Answer) { s.finish(&a) }

// Lost tells that the upload was made and answered, and that its sender does not have the
// answer: who sends the same again means this upload.
func (s *Stream) Lost(a Answer) {
	s.finish(&a)
	var before *Repeated
	if errors.As(s.end, &before) && !s.taken {
		return // the answer was that of another request, which knows what became of it
	}
	s.leave(lost{answer: &a})
}

// Failed tells that the upload was not made, or, when it is unsettled, that nobody knows.
func (s *Stream) Failed(unsettled bool) {
	s.finish(nil)
	switch id, since := s.attempt.current(); {
	case !since.IsZero():
		s.leave(lost{attempt: id, since: since})
	case unsettled && s.attempt.resumable():
		s.leave(lost{attempt: id, since: s.began})
	}
}

// Close ends a stream of which nothing was told, as when the program failed over it.
func (s *Stream) Close() { s.finish(nil) }

// finish ends the waiting of those who sent the same request.
func (s *Stream) finish(a *Answer) {
	if s.note == nil {
		return
	}
	u := s.uploads
	u.mu.Lock()
	defer u.mu.Unlock()
	s.note.answer = a
	close(s.note.done)
	if a == nil {
		delete(u.requests, requestKey{s.content, s.upload.ID})
	} else {
		u.aged = append(u.aged, aged{u.now(), s.content, s.upload.ID})
	}
	s.note = nil
}

// leave remembers that the sender has no answer.
func (s *Stream) leave(l lost) {
	if s.content == (content{}) {
		return // not read to its end: nothing was made
	}
	u := s.uploads
	u.mu.Lock()
	defer u.mu.Unlock()
	l.at = u.now()
	u.lost[s.content] = append(u.lost[s.content], l)
	u.aged = append(u.aged, aged{l.at, s.content, ""})
}

// forget forgets what is old.
func (u *Uploads) forget() {
	limit := u.now().Add(-Window)
	for len(u.aged) > 0 && (len(u.aged) > maxRemembered || u.aged[0].at.Before(limit)) {
		old := u.aged[0]
		u.aged = u.aged[1:]
		if old.id != "" {
			delete(u.requests, requestKey{old.content, old.id})
		} else if left := u.lost[old.content]; len(left) > 0 && !left[0].at.After(old.at) {
			u.setLost(old.content, left[1:])
		}
	}
}

func (u *Uploads) setLost(c content, left []lost) {
	if len(left) == 0 {
		delete(u.lost, c)
		return
	}
	u.lost[c] = left
}
