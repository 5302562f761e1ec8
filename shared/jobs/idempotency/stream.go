package idempotency

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// A Stream is the body of an upload. At its end it checks whether the upload was made before. If
// so, it ends with a [*Repeated] instead of io.EOF, or its [Attempt] becomes the earlier one. If
// the stream ended otherwise, the caller must report the outcome: Settle before the answer, and
// then one of Answered, Lost and Failed.
type Stream struct {
	uploads *Uploads
	ctx     context.Context // of the request; kept because the methods of io.Reader take none
	body    io.Reader
	upload  Upload
	attempt *Attempt
	began   time.Time
	sum     checksum
	size    int64
	end     error     // the result of Read when it is not nil
	note    *uploaded // nil when the id does not identify the upload

	mu       sync.Mutex
	content  content // known at the end of the body
	whole    bool    // the body was read to its end, and the change may begin
	look     bool    // other processes may have left marks
	recalled bool    // marks have been looked for, as look requires

	unwatch func() bool   // ends the watch over ctx; nil before the watch begins
	marked  chan struct{} // closed when the watch has left a mark
	failure error         // why the watch could not leave a mark; set before marked is closed
}

func newStream(ctx context.Context, u *Uploads, upload Upload, body io.Reader) *Stream {
	s := &Stream{
		uploads: u, ctx: ctx, body: body, upload: upload, attempt: newAttempt(), began: u.now(),
		marked: make(chan struct{}),
	}
	s.attempt.recall = s.recall
	return s
}

// Attempt returns the attempt under which the upload's change is stored.
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

// recognise returns io.EOF if the upload must be made, else a [*Repeated] or another error.
func (s *Stream) recognise() error {
	s.content = content{s.upload.Principal, s.upload.Operation, s.upload.Target, s.size, s.sum}
	// Several copies of the request may wait here. If the first one fails, one of the others becomes the
	// first.
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
	// From now on the end of the request leaves a mark, even if the caller never gets to report.
	s.unwatch = context.AfterFunc(s.ctx, func() {
		defer close(s.marked)
		s.failure = s.leave()
	})
	return io.EOF
}

// await waits for the answer to the same request and returns it as a *Repeated. It returns nil if
// that request ended without an answer.
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

// recall implements [Attempt.Recall]. Before the end of the body it only records that marks must be
// looked for.
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

// takeMark takes a mark for this content, if there is one, and makes the upload a further attempt
// at the marked one.
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

// leave leaves a mark if the change may have been made.
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
	ctx, cancel := s.afterwards()
	defer cancel()
	s.uploads.leave(ctx, s.content, left, departure)
	return errors.Join(departure.err, s.attempt.leaveSign(ctx))
}

// afterwards returns a context for work on marks after the request has ended. It allows markTime,
// and at most markGrace past the deadline of the request.
func (s *Stream) afterwards() (context.Context, context.CancelFunc) {
	left := markTime
	if deadline, ok := s.ctx.Deadline(); ok {
		left = min(left, max(time.Until(deadline), 0)+markGrace)
	}
	return context.WithTimeout(context.WithoutCancel(s.ctx), left)
}

// left ends the watch. It reports whether the watch has left a mark, and the watch's error.
func (s *Stream) left() (bool, error) {
	if s.unwatch == nil || s.unwatch() {
		s.unwatch = nil
		return false, nil
	}
	<-s.marked
	return true, s.failure
}

// Settle reports whether the caller may answer the upload. If the deadline passed or the client
// seemed to disconnect during the upload, the stream left a mark, and another upload may have taken
// the change over since. there means that the client is still connected.
func (s *Stream) Settle(there bool) (bool, error) {
	left, err := s.left()
	if !left || !there {
		return true, err
	}
	s.unwatch = nil
	ctx, cancel := s.afterwards()
	defer cancel()
	mine, err := s.uploads.withdraw(ctx, s.content, s.id())
	return mine, err
}

// id returns the id of the change.
func (s *Stream) id() string {
	id, _ := s.attempt.current()
	return id
}

// Answered records that the client has received the answer.
func (s *Stream) Answered(a Answer) { s.uploads.end(s, &a) }

// Lost records that the upload was made and answered, but that the client did not receive the
// answer. The same upload, if it arrives again, counts as a repetition of this one.
func (s *Stream) Lost(a Answer) error {
	s.uploads.end(s, &a)
	return s.leaveOnce()
}

// Failed records that the upload was not made or, if unsettled is true, that its outcome is
// unknown.
func (s *Stream) Failed(unsettled bool) error {
	defer s.uploads.end(s, nil)
	if unsettled || s.attempt.again() {
		return s.leaveOnce()
	}
	_, err := s.left() // the mark of an upload that was not made is harmless
	return err
}

// leaveOnce leaves a mark unless the watch has left one.
func (s *Stream) leaveOnce() error {
	if left, err := s.left(); left {
		return err
	}
	return s.leave()
}

// Close ends a stream without a reported outcome, as after a panic.
func (s *Stream) Close() {
	_, _ = s.left()
	s.uploads.end(s, nil)
}
