package idempotency

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// A Stream is the body of an upload. Once it is read it is known whether the upload is one
// that was made before: then the end of the stream is not io.EOF but a [*Repeated], or its
// [Attempt] is an earlier one. A stream that ended otherwise must be told what became of it:
// Settle before it is answered, and then one of Answered, Lost and Failed.
type Stream struct {
	uploads *Uploads
	ctx     context.Context //nolint:containedctx // an io.Reader of one request
	body    io.Reader
	upload  Upload
	attempt *Attempt
	began   time.Time
	sum     checksum
	size    int64
	end     error     // what Read returns when it is not nil
	note    *uploaded // nil: not to be known by its id

	mu       sync.Mutex
	content  content // known at the end
	whole    bool    // it has been read to its end, and is to be made
	look     bool    // others may have left marks
	recalled bool    // marks have been looked for, as look says

	unwatch func() bool   // ends the watch over ctx; nil: it was not begun
	marked  chan struct{} // closed when the watch has left a mark
	failure error         // to leave it; set before marked
}

func newStream(ctx context.Context, u *Uploads, upload Upload, body io.Reader) *Stream {
	s := &Stream{
		uploads: u, ctx: ctx, body: body, upload: upload, attempt: newAttempt(), began: u.now(),
		marked: make(chan struct{}),
	}
	s.attempt.recall = s.recall
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
	s.sum.add(p[:n])
	s.size += int64(n)
	if errors.Is(err, io.EOF) {
		err = s.recognise()
	}
	s.end = err
	return n, err
}

// recognise returns io.EOF when the upload is to be made, or why not.
func (s *Stream) recognise() error {
	s.content = content{s.upload.Principal, s.upload.Operation, s.upload.Target, s.size, s.sum}
	for {
		same := s.uploads.admit(s)
		if same == nil {
			break
		}
		if err := s.await(same); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.whole = true
	if err := s.takeMark(s.ctx); err != nil {
		return err
	}
	s.unwatch = context.AfterFunc(s.ctx, func() {
		defer close(s.marked)
		s.failure = s.leave()
	})
	return io.EOF
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

// recall is that of its attempt.
func (s *Stream) recall(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.look {
		return nil
	}
	s.look = true
	if !s.whole {
		return nil
	}
	return s.takeMark(ctx)
}

// takeMark makes the upload one more attempt at one that has left a mark, if there is one.
func (s *Stream) takeMark(ctx context.Context) error {
	if s.recalled || s.attempt.again() {
		return nil
	}
	taken, err := s.uploads.take(ctx, s.content, s.look)
	if err != nil {
		return err
	}
	s.recalled = s.look
	if taken != nil {
		s.attempt.resume(taken.Attempt, taken.Since)
	}
	return nil
}

// leave leaves a mark, if the upload may have been made.
func (s *Stream) leave() error {
	if !s.whole || !s.attempt.resumable() {
		return nil
	}
	id, since := s.attempt.current()
	if since.IsZero() {
		since = s.began
	}
	left := mark{Attempt: id, Since: since, Left: s.uploads.now()}
	departure := s.uploads.depart(s.content)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), markTime)
	defer cancel()
	s.uploads.leave(ctx, s.content, left, departure)
	return errors.Join(departure.err, s.attempt.leaveSign(ctx))
}

// left ends the watch and says whether it has left a mark, and what went wrong with that.
func (s *Stream) left() (bool, error) {
	if s.unwatch == nil || s.unwatch() {
		s.unwatch = nil
		return false, nil
	}
	<-s.marked
	return true, s.failure
}

// Settle says whether the upload may be answered. Its time was up, or its sender seemed to
// have gone, when it was still being made; another upload may have been taken for it since, and
// then the change is that one's. Whether the sender is still there only the caller knows.
func (s *Stream) Settle(there bool) (bool, error) {
	left, err := s.left()
	if !left || !there {
		return true, err
	}
	s.unwatch = nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), markTime)
	defer cancel()
	mine, err := s.uploads.withdraw(ctx, s.content, s.id())
	return mine, err
}

func (s *Stream) id() string {
	id, _ := s.attempt.current()
	return id
}

// Answered tells that the sender has the answer.
func (s *Stream) Answered(a Answer) { s.uploads.end(s, &a) }

// Lost tells that the upload was made and answered, and that its sender does not have the
// answer: who sends the same again means this upload.
func (s *Stream) Lost(a Answer) error {
	s.uploads.end(s, &a)
	return s.leaveOnce()
}

// Failed tells that the upload was not made, or, when it is unsettled, that nobody knows.
func (s *Stream) Failed(unsettled bool) error {
	defer s.uploads.end(s, nil)
	if unsettled || s.attempt.again() {
		return s.leaveOnce()
	}
	_, err := s.left() // of an upload that was not made: harmless
	return err
}

// leaveOnce leaves a mark unless the watch has.
func (s *Stream) leaveOnce() error {
	if left, err := s.left(); left {
		return err
	}
	return s.leave()
}

// Close ends a stream of which nothing was told, as when the program failed over it.
func (s *Stream) Close() {
	_, _ = s.left()
	s.uploads.end(s, nil)
}
