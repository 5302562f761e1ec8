// Package memory keeps the one account of a process's memory.
//
// A Budget says how many bytes all requests and jobs may hold together. Each request (or
// part of a job) opens a Share of it and carries the share in its context. Code that is
// about to allocate by what a caller or a file says takes the bytes from the share first,
// and gives them back when it drops them; closing the share gives back the rest. Nothing
// here allocates for its callers: an account counts, it does not own.
//
//	hold, err := memory.Take(ctx, rows*width)
//	if err != nil {
//		return err // *memory.Error: the request is too large, or the process too busy
//	}
//	defer hold.Release()
//
// What can do with less asks by Try, and spills or works in smaller pieces when it gets
// nothing. A context without a share has no bound, so that the libraries below work without
// a server.
package memory

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long a request waits for memory that others hold.
const patience = 10 * time.Second

// A Budget is the memory that all shares of a process hold together. It is safe for
// concurrent use.
type Budget struct {
	limit    int64
	perShare int64

	mu      sync.Mutex
	held    int64
	waiting list.List // of *waiter, the first come first
}

// NewBudget returns a budget of limit bytes, of which one share takes at most perShare.
// Both must be positive; a perShare above the limit means the limit.
func NewBudget(limit, perShare int64) *Budget {
	if limit <= 0 || perShare <= 0 {
		panic("memory: a budget needs a positive limit")
	}
	return &Budget{limit: limit, perShare: min(limit, perShare)}
}

// Limit is the most that all shares hold together, in bytes.
func (b *Budget) Limit() int64 { return b.limit }

// Held is how many bytes the shares hold now.
func (b *Budget) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Open starts a share that holds nothing. Its owner closes it.
func (b *Budget) Open() *Share { return &Share{budget: b} }

// A waiter is a share that waits for bytes.
type waiter struct {
	bytes   int64
	granted chan struct{} // closed when the bytes are the waiter's
}

// try takes bytes if they are free and no other share waits for its turn.
func (b *Budget) try(bytes int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting.Len() > 0 || b.held+bytes > b.limit {
		return false
	}
	b.held += bytes
	return true
}

// wait takes bytes when it is the caller's turn and they are free. It reports false when
// that took too long.
func (b *Budget) wait(ctx context.Context, bytes int64) (bool, error) {
	b.mu.Lock()
	if b.waiting.Len() == 0 && b.held+bytes <= b.limit {
		b.held += bytes
		b.mu.Unlock()
		return true, nil
	}
	w := &waiter{bytes: bytes, granted: make(chan struct{})}
	place := b.waiting.PushBack(w)
	b.mu.Unlock()

	timer := time.NewTimer(patience)
	defer timer.Stop()
	var err error
	select {
	case <-w.granted:
		return true, nil
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.granted: // while the lock was free
		if err != nil {
			b.release(bytes)
		}
		return err == nil, err
	default:
	}
	b.waiting.Remove(place)
	b.grant() // those behind may need less
	return false, err
}

func (b *Budget) give(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release(bytes)
}

// release returns bytes and serves waiters with them. The caller holds the lock.
func (b *Budget) release(bytes int64) {
	b.held -= bytes
	b.grant()
}

// grant serves waiters in their order while there are bytes. The caller holds the lock.
func (b *Budget) grant() {
	for first := b.waiting.Front(); first != nil; first = b.waiting.Front() {
		w := first.Value.(*waiter)
		if b.held+w.bytes > b.limit {
			return
		}
		b.held += w.bytes
		b.waiting.Remove(first)
		close(w.granted)
	}
}

// A Share is what one request, or one part of a job, holds of the budget. Its methods are
// safe for concurrent use. A nil share has no bound and counts nothing.
type Share struct {
	budget *Budget
	held   atomic.Int64
	peak   atomic.Int64
	closed atomic.Bool
}

// Take adds bytes to the share, and waits for a while when others hold them. The error is
// an *Error, or that of the context.
func (s *Share) Take(ctx context.Context, bytes int64) error {
	if s == nil || bytes <= 0 {
		return nil
	}
	if err := s.reserve(bytes); err != nil {
		return err
	}
	granted, err := s.budget.wait(ctx, bytes)
	if !granted {
		s.held.Add(-bytes)
		if err == nil {
			err = &Error{Bytes: bytes, Limit: s.budget.limit, Busy: true}
		}
		return err
	}
	return nil
}

// Try adds bytes to the share if they are free now, and reports whether they were.
func (s *Share) Try(bytes int64) bool {
	if s == nil || bytes <= 0 {
		return true
	}
	if s.reserve(bytes) != nil {
		return false
	}
	if !s.budget.try(bytes) {
		s.held.Add(-bytes)
		return false
	}
	return true
}

// reserve counts bytes against what one share may hold.
func (s *Share) reserve(bytes int64) error {
	for {
		held := s.held.Load()
		if bytes > s.budget.perShare-held {
			return &Error{Bytes: bytes, Limit: s.budget.perShare}
		}
		if s.held.CompareAndSwap(held, held+bytes) {
			for peak := s.peak.Load(); held+bytes > peak && !s.peak.CompareAndSwap(peak, held+bytes); peak = s.peak.Load() {
			}
			return nil
		}
	}
}

// Give returns bytes that were taken.
func (s *Share) Give(bytes int64) {
	if s == nil || bytes <= 0 || s.closed.Load() {
		return
	}
	s.held.Add(-bytes)
	s.budget.give(bytes)
}

// Held is how many bytes the share holds now.
func (s *Share) Held() int64 {
	if s == nil {
		return 0
	}
	return s.held.Load()
}

// Peak is the most bytes that the share has held at once.
func (s *Share) Peak() int64 {
	if s == nil {
		return 0
	}
	return s.peak.Load()
}

// Close returns all that the share still holds. No code may take from it afterwards.
func (s *Share) Close() {
	if s != nil && !s.closed.Swap(true) {
		s.budget.give(s.held.Swap(0))
	}
}

// A Hold is a number of bytes that were taken together. Only its owner may use it. The
// zero Hold holds nothing.
type Hold struct {
	share *Share
	bytes int64
}

// Take takes bytes from the share of the context. The error is an *Error, or that of the
// context.
func Take(ctx context.Context, bytes int64) (Hold, error) {
	share := FromContext(ctx)
	if err := share.Take(ctx, bytes); err != nil {
		return Hold{}, err
	}
	return Hold{share: share, bytes: bytes}, nil
}

// Try takes bytes from the share of the context if they are free now.
func Try(ctx context.Context, bytes int64) (Hold, bool) {
	share := FromContext(ctx)
	if !share.Try(bytes) {
		return Hold{}, false
	}
	return Hold{share: share, bytes: bytes}, true
}

// Resize makes the hold one of so many bytes. When it cannot grow it stays as it is.
func (h *Hold) Resize(ctx context.Context, bytes int64) error {
	if h.share == nil {
		h.share = FromContext(ctx)
	}
	if more := bytes - h.bytes; more > 0 {
		if err := h.share.Take(ctx, more); err != nil {
			return err
		}
	} else {
		h.share.Give(-more)
	}
	h.bytes = bytes
	return nil
}

// Bytes is how many bytes the hold is of.
func (h *Hold) Bytes() int64 { return h.bytes }

// Release returns the bytes. A second call does nothing.
func (h *Hold) Release() {
	h.share.Give(h.bytes)
	h.bytes = 0
}

type shareKey struct{}

// WithShare returns a context that carries the share.
func WithShare(ctx context.Context, s *Share) context.Context {
	return context.WithValue(ctx, shareKey{}, s)
}

// FromContext returns the share that the context carries, or nil.
func FromContext(ctx context.Context) *Share {
	s, _ := ctx.Value(shareKey{}).(*Share)
	return s
}

// An Error says that memory was refused: for good, because one request may not hold so
// much, or for now, because others hold what there is.
type Error struct {
	Bytes int64 // that were asked for
	Limit int64 // of the share, or of the process when it is busy
	Busy  bool  // the same request may succeed later
}

func (e *Error) Error() string {
	if e.Busy {
		return fmt.Sprintf("other requests hold the memory of this process (%d bytes more are needed, of %d in all): try again later", e.Bytes, e.Limit)
	}
	return fmt.Sprintf("the request needs more memory than one request may hold (%d bytes more, of at most %d): ask for fewer rows or columns, or for less per row", e.Bytes, e.Limit)
}
