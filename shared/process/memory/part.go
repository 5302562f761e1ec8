package memory

import (
	"context"
	"sync"
)

// part holds the extra fields of a share that is a part of another share.
type part struct {
	whole *Share
	most  int64 // bytes that work may take

	mu     sync.Mutex
	held   int64 // bytes that work has taken from the part
	paid   int64 // bytes taken from the whole: at least held
	asked  int64 // bytes that the part waits for from the whole
	closed bool
}

// Part opens a share within s and reserves the given bytes for it in s at once, waiting like Take. Bytes
// beyond them are reserved in s when they are needed. The owner must close the part, which releases all its
// bytes.
//
// A part belongs to a piece of work of roughly known size. The work reserves its actual memory in the part.
// At the end, Settle keeps only the bytes of its result.
func (s *Share) Part(ctx context.Context, bytes int64) (*Share, error) {
	if s == nil {
		return nil, nil
	}
	if err := s.Take(ctx, bytes); err != nil {
		return nil, err
	}
	return &Share{budget: s.budget, part: &part{whole: s, most: s.budget.perShare, paid: max(bytes, 0)}}, nil
}

// TryPart opens a part without waiting, and reports whether the bytes were free. It leaves half of a
// request's limit to parts whose work cannot be skipped.
func (s *Share) TryPart(bytes int64) (*Share, bool) {
	if s == nil {
		return nil, true
	}
	if s.inUse()+bytes > s.budget.perShare/2 || !s.Try(bytes) {
		return nil, false
	}
	return &Share{budget: s.budget, part: &part{whole: s, most: s.budget.perShare, paid: max(bytes, 0)}}, true
}

// inUse returns the bytes that the request of s holds, without the reserved but unused bytes of parts.
func (s *Share) inUse() int64 {
	spare := int64(0)
	for ; s.part != nil; s = s.part.whole {
		spare += s.part.spare()
	}
	return s.Held() - spare
}

// Within opens a part of the context's share for work of unknown size. It returns a context with the part,
// which the caller must close.
func Within(ctx context.Context) (context.Context, *Share, error) { return Bounded(ctx, 0) }

// Bounded opens a part with its own limit for one request: more than most bytes are refused like an excess
// of the limit. A most of 0 is no limit.
func Bounded(ctx context.Context, most int64) (context.Context, *Share, error) {
	part, err := FromContext(ctx).Part(ctx, 0)
	if part == nil || err != nil {
		return ctx, nil, err
	}
	if most > 0 {
		part.part.most = min(part.part.most, most)
	}
	return WithShare(ctx, part), part, nil
}

// Settle shrinks a part to the given bytes, at most the bytes it holds, and releases the rest. It does
// nothing for a share that is not a part.
func (s *Share) Settle(bytes int64) {
	if s == nil || s.part == nil {
		return
	}
	p := s.part
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.held = min(p.held, bytes)
	if spare := p.paid - p.held; spare > 0 {
		p.paid -= spare
		p.whole.Give(spare)
	}
}

func (p *part) take(ctx context.Context, bytes int64) error {
	due, err := p.reserve(bytes)
	if err != nil || due == 0 {
		return err
	}
	return p.pay(bytes, due, p.whole.Take(ctx, due))
}

// try reserves bytes in the part, and in the whole if the part has not enough, without waiting.
func (p *part) try(bytes int64) bool {
	due, err := p.reserve(bytes)
	if err != nil || due == 0 {
		return err == nil
	}
	if !p.whole.Try(due) {
		err = p.refusal(bytes)
	}
	return p.pay(bytes, due, err) == nil
}

// refusal returns the error for a part that was closed, or for which no memory is free.
func (p *part) refusal(bytes int64) error {
	return &Error{Bytes: bytes, Limit: p.whole.budget.limit, Busy: true}
}

// reserve counts bytes as held, and returns the number of bytes that the part must reserve in the whole.
func (p *part) reserve(bytes int64) (due int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return 0, p.refusal(bytes)
	case bytes > p.most-p.held:
		return 0, &Error{Bytes: bytes, Limit: p.most}
	}
	p.held += bytes
	due = max(0, p.held-p.paid-p.asked)
	p.asked += due
	return due, nil
}

// pay completes the reservation begun by reserve. With an error the bytes are not held.
func (p *part) pay(bytes, due int64, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked -= due
	switch {
	case p.closed && err == nil:
		p.whole.Give(due)
		return p.refusal(bytes)
	case p.closed:
	case err != nil:
		p.held -= bytes
	default:
		p.paid += due
	}
	return err
}

// give keeps returned bytes in the part for its next Take.
func (p *part) give(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.held -= bytes
	}
}

// spare returns the bytes that the part has taken and does not hold.
func (p *part) spare() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paid - p.held
}

func (p *part) holds() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// close releases all bytes that the part has reserved in the whole.
func (p *part) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		p.whole.Give(p.paid)
		p.held, p.paid = 0, 0
	}
}
