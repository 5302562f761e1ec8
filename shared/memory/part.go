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

// Part starts a share within s that may hold the given bytes without asking again. It takes them
// from s at once, and waits for them as Take does. Bytes beyond them it takes from s when they are
// needed. Its owner must close it, which returns all bytes that the part has taken.
//
// A part belongs to a piece of work of roughly known size. The work takes from the part what it
// really needs. At the end of the work, Settle keeps only the bytes of what outlives it.
func (s *Share) Part(ctx context.Context, bytes int64) (*Share, error) {
	if s == nil {
		return nil, nil
	}
	if err := s.Take(ctx, bytes); err != nil {
		return nil, err
	}
	return &Share{budget: s.budget, part: &part{whole: s, most: s.budget.perShare, paid: max(bytes, 0)}}, nil
}

// TryPart is Part that does not wait. It reports whether the bytes were free. It leaves half of
// what one request may hold to parts whose work cannot be skipped.
func (s *Share) TryPart(bytes int64) (*Share, bool) {
	if s == nil {
		return nil, true
	}
	if s.inUse()+bytes > s.budget.perShare/2 || !s.Try(bytes) {
		return nil, false
	}
	return &Share{budget: s.budget, part: &part{whole: s, most: s.budget.perShare, paid: max(bytes, 0)}}, true
}

// inUse returns what the request of s holds, without bytes that parts have taken and do not hold.
func (s *Share) inUse() int64 {
	spare := int64(0)
	for ; s.part != nil; s = s.part.whole {
		spare += s.part.spare()
	}
	return s.Held() - spare
}

// Within starts a part of the context's share for work of unknown size. It returns a context that
// carries the part, which the caller must close.
func Within(ctx context.Context) (context.Context, *Share, error) { return Bounded(ctx, 0) }

// Bounded is Within for work that is refused more than most bytes, as if one request might not hold more. 0
// is no bound.
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

// Settle shrinks a part to the given bytes, at most what it holds, and returns the rest. It does
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

// refusal is the error for a part that was closed, or for which no memory is free.
func (p *part) refusal(bytes int64) error {
	return &Error{Bytes: bytes, Limit: p.whole.budget.limit, Busy: true}
}

// reserve counts bytes as held, and returns how many the part must take from the whole.
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

// pay completes what reserve began. With an error the bytes are not held.
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

func (p *part) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		p.whole.Give(p.paid)
		p.held, p.paid = 0, 0
	}
}
