// Package memory accounts for the memory of a process.
//
// The words of this package:
//
//   - A Budget is the number of bytes that all requests and jobs may hold together.
//   - A Share is the part of the budget that one request, or one part of a job, holds.
//   - A Hold is a number of bytes that were reserved in a share together.
//
// Each request, or part of a job, opens a share and carries it in its context. Before code allocates memory
// whose size a client or a file determines, it reserves the bytes in the share, and it releases them when
// it drops the memory. Closing the share releases the rest. This package counts bytes; it does not allocate
// them.
//
//	hold, err := memory.Take(ctx, rows*width)
//	if err != nil {
//		return err // *memory.Error: the request is too large, or the process too busy
//	}
//	defer hold.Release()
//
// Code that can work with less memory calls Try, and spills or works in smaller pieces when Try fails. A
// context without a share has no limit, so that the libraries work without a server.
package memory

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// patience is the maximal wait of a request for memory of other requests.
	patience = 10 * time.Second
	// stall is the time without progress after which, if all holders of memory wait for more, one of them
	// is refused.
	stall = time.Second
	// small is the fraction of the budget below which a share does not queue, so that tiny requests are
	// served while larger ones wait: 64 KiB of 256 MiB.
	small = 4096
)

// A Budget is the memory that all shares of a process hold together. It is safe for concurrent use.
//
// Waiting shares are served by age, the oldest first, so that advanced requests finish before others begin.
// If all holders wait, the youngest is refused.
type Budget struct {
	limit    int64
	perShare int64

	mu      sync.Mutex
	held    int64
	peak    int64
	refused int64     // counts refusals
	opened  uint64    // number of shares opened so far
	holders int       // number of shares that hold bytes
	moved   time.Time // when bytes were last taken or returned
	waiting list.List // of *waiter, by the age of their shares
}

// NewBudget returns a budget of limit bytes, of which one share may hold at most perShare. Both must be
// positive. A perShare above the limit is reduced to the limit.
func NewBudget(limit, perShare int64) *Budget {
	if limit <= 0 || perShare <= 0 {
		panic("memory: a budget needs a positive limit")
	}
	return &Budget{limit: limit, perShare: min(limit, perShare)}
}

// Limit returns the maximal number of bytes that all shares may hold together.
func (b *Budget) Limit() int64 { return b.limit }

// Usage describes the current and past reservations of a budget.
type Usage struct {
	Held    int64 // bytes held now
	Peak    int64 // most bytes held at once
	Refused int64 // refused waiters
}

// Usage returns the current and past reservations.
func (b *Budget) Usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Usage{Held: b.held, Peak: b.peak, Refused: b.refused}
}

// Open starts an empty share. Its owner must close it. The share of a nil budget is nil.
func (b *Budget) Open() *Share {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened++
	return &Share{budget: b, number: b.opened}
}

// A waiter is a share in the queue.
type waiter struct {
	share   *Share
	bytes   int64
	settled chan struct{} // closed when the waiter has got its bytes or was refused
	granted bool
}

// isTurn reports whether the share may get the bytes now. The caller holds the lock.
func (b *Budget) isTurn(s *Share, bytes int64) bool {
	if b.held+bytes > b.limit {
		return false
	}
	first := b.waiting.Front()
	return first == nil || bytes <= b.limit/small || s.number <= first.Value.(*waiter).share.number
}

// add adds bytes to the share; a negative number returns them. The caller holds the lock.
func (b *Budget) add(s *Share, bytes int64) {
	before := s.held
	s.held += bytes
	b.held += bytes
	s.peak, b.peak = max(s.peak, s.held), max(b.peak, b.held)
	switch {
	case before == 0 && s.held > 0:
		b.holders++
	case before > 0 && s.held == 0:
		b.holders--
	}
	b.moved = time.Now()
}

// enqueue adds the share to the queue. The caller holds the lock.
func (b *Budget) enqueue(s *Share, bytes int64) (*waiter, *list.Element) {
	w := &waiter{share: s, bytes: bytes, settled: make(chan struct{})}
	for place := b.waiting.Back(); place != nil; place = place.Prev() {
		if place.Value.(*waiter).share.number <= s.number {
			return w, b.waiting.InsertAfter(w, place)
		}
	}
	return w, b.waiting.PushFront(w)
}

// serve gives free bytes to waiting shares in their order. The caller holds the lock.
func (b *Budget) serve() {
	for first := b.waiting.Front(); first != nil; first = b.waiting.Front() {
		w := first.Value.(*waiter)
		if b.held+w.bytes > b.limit {
			return
		}
		b.waiting.Remove(first)
		b.add(w.share, w.bytes)
		w.granted = true
		close(w.settled)
	}
}

// breakStall refuses the youngest holder if all holders wait and no bytes have moved for a while.
// The caller holds the lock.
func (b *Budget) breakStall() {
	if time.Since(b.moved) < stall {
		return
	}
	var youngest *list.Element
	stuck := map[*Share]bool{}
	for place := b.waiting.Front(); place != nil; place = place.Next() {
		if s := place.Value.(*waiter).share; s.held > 0 {
			stuck[s], youngest = true, place
		}
	}
	if youngest == nil || len(stuck) < b.holders {
		return
	}
	b.moved = time.Now() // the next waiter gets the full time again
	close(b.waiting.Remove(youngest).(*waiter).settled)
	b.serve()
}

// A Share is the part of the budget that one request, or one part of a job, holds. Its methods are safe for
// concurrent use. A nil share has no limit and counts nothing.
type Share struct {
	budget *Budget
	number uint64 // lower for older shares

	// The lock of the budget guards these fields.
	held, asked, peak int64
	closed            bool

	part *part // set if the share is a part of another one
}

// Take adds bytes to the share, and waits for a while if other shares hold them. The error is an *Error or
// the context's.
func (s *Share) Take(ctx context.Context, bytes int64) error {
	if s == nil || bytes <= 0 {
		return nil
	}
	if s.part != nil {
		return s.part.take(ctx, bytes)
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes > b.perShare-s.held-s.asked {
		return &Error{Bytes: bytes, Limit: b.perShare}
	}
	if s.closed {
		return &Error{Bytes: bytes, Limit: b.limit, Busy: true}
	}
	if b.isTurn(s, bytes) {
		b.add(s, bytes)
		return nil
	}
	w, place := b.enqueue(s, bytes)
	s.asked += bytes
	b.mu.Unlock()
	err := w.wait(ctx)
	b.mu.Lock()
	s.asked -= bytes
	select {
	case <-w.settled:
	default:
		b.waiting.Remove(place)
		b.serve() // shares after it in the queue may need less
	}
	if w.granted && (err != nil || s.closed) {
		b.add(s, -min(bytes, s.held)) // a concurrent Close has already released them
		b.serve()
		w.granted = false
	}
	if !w.granted && err == nil {
		b.refused++
		err = &Error{Bytes: bytes, Limit: b.limit, Busy: true}
	}
	return err
}

// wait returns when the waiter has got its bytes or was refused, when its patience has ended, or
// when the context has ended, with the context's error.
func (w *waiter) wait(ctx context.Context) error {
	look := time.NewTicker(stall)
	defer look.Stop()
	for since := time.Now(); time.Since(since) < patience; {
		select {
		case <-w.settled:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
			b := w.share.budget
			b.mu.Lock()
			b.breakStall()
			b.mu.Unlock()
		}
	}
	return nil
}

// Try adds bytes to the share if they are free now, and reports whether it did.
func (s *Share) Try(bytes int64) bool {
	if s == nil || bytes <= 0 {
		return true
	}
	if s.part != nil {
		return s.part.try(bytes)
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.closed || bytes > b.perShare-s.held-s.asked || !b.isTurn(s, bytes) {
		return false
	}
	b.add(s, bytes)
	return true
}

// Give returns bytes to the budget.
func (s *Share) Give(bytes int64) {
	if s == nil || bytes <= 0 {
		return
	}
	if s.part != nil {
		s.part.give(bytes)
		return
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.closed {
		return
	}
	b.add(s, -bytes)
	b.serve()
}

// Limit returns the maximal number of bytes that the share may hold. It is 0 for a nil share, which has no
// limit.
func (s *Share) Limit() int64 {
	if s == nil {
		return 0
	}
	return s.budget.perShare
}

// Held returns the number of bytes that the share holds now.
func (s *Share) Held() int64 {
	if s == nil {
		return 0
	}
	if s.part != nil {
		return s.part.holds()
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.held
}

// Peak returns the maximal number of bytes that the share has held at once. Parts do not record it.
func (s *Share) Peak() int64 {
	if s == nil {
		return 0
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.peak
}

// Close releases all bytes of the share. A later Take is refused as if other shares held the memory.
func (s *Share) Close() {
	if s == nil {
		return
	}
	if s.part != nil {
		s.part.close()
		return
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	b.add(s, -s.held)
	b.serve()
}

// A Hold is a number of bytes that were taken together. Only its owner may use it. The zero Hold
// holds nothing.
type Hold struct {
	share *Share
	bytes int64
}

// Take reserves bytes in the share of the context. The error is an *Error or the context's.
func Take(ctx context.Context, bytes int64) (Hold, error) {
	share := FromContext(ctx)
	if err := share.Take(ctx, bytes); err != nil {
		return Hold{}, err
	}
	return Hold{share: share, bytes: bytes}, nil
}

// Try reserves bytes in the share of the context if they are free now.
func Try(ctx context.Context, bytes int64) (Hold, bool) {
	share := FromContext(ctx)
	if !share.Try(bytes) {
		return Hold{}, false
	}
	return Hold{share: share, bytes: bytes}, true
}

// Resize changes the size of the hold. If it cannot grow, it stays unchanged.
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

// TryResize is Resize that does not wait. It reports whether the hold has the new size.
func (h *Hold) TryResize(ctx context.Context, bytes int64) bool {
	if h.share == nil {
		h.share = FromContext(ctx)
	}
	if more := bytes - h.bytes; more > 0 {
		if !h.share.Try(more) {
			return false
		}
	} else {
		h.share.Give(-more)
	}
	h.bytes = bytes
	return true
}

// Bytes returns the size of the hold.
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

// FromContext returns the share in the context, or nil.
func FromContext(ctx context.Context) *Share {
	s, _ := ctx.Value(shareKey{}).(*Share)
	return s
}

// An Error means that memory was refused: permanently, because it exceeds the limit of one request, or
// temporarily, because other requests hold it.
type Error struct {
	Bytes int64 // the requested bytes
	Limit int64 // the limit of the share, or of the process if it is busy
	Busy  bool  // the same request may succeed later
}

func (e *Error) Error() string {
	if e.Busy {
		return fmt.Sprintf("other requests hold the memory of this process (%d bytes more are needed, of %d in all): try again later", e.Bytes, e.Limit)
	}
	return fmt.Sprintf("the request needs more memory than one request may hold (%d bytes more, of at most %d): ask for fewer rows or columns, or for less per row", e.Bytes, e.Limit)
}

// TooMuch reports whether memory was refused because it exceeds the limit of one request. A smaller piece
// of the work may then succeed.
func TooMuch(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && !refused.Busy
}
