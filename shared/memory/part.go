package memory

import (
	"context"
	"sync"
)

// A part is what is peculiar to a share that is a part of another one.
type part struct {
	whole *Share

	mu     sync.Mutex
	held   int64 // by those who have taken
	paid   int64 // taken from the whole: at least what is held
	asked  int64 // of the whole, and not answered yet
	closed bool
}

// Part starts a share within s that may hold so many bytes without asking again: it pays
// for them at once, and waits for them as Take does. What it holds beyond that it takes
// from s. Its owner closes it, which returns all that it has paid for.
//
// A part belongs to a piece of work whose size is known about beforehand. The work takes
// what it really needs, and at its end Settle leaves what outlives it.
func (s *Share) Part(ctx context.Context, bytes int64) (*Share, error) {
	if s == nil {
		return nil, nil
	}
	if err := s.Take(ctx, bytes); err != nil {
		return nil, err
	}
	return &Share{budget: s.budget, part: &part{whole: s, paid: max(bytes, 0)}}, nil
}

// TryPart is Part that does not wait, and reports whether the bytes were free. It leaves
// half of what one request may hold to those parts that cannot wait.
func (s *Share) TryPart(bytes int64) (*Share, bool) {
	if s == nil {
		return nil, true
	}
	if s.inUse()+bytes > s.budget.perShare/2 || !s.Try(bytes) {
		return nil, false
	}
	return &Share{budget: s.budget, part: &part{whole: s, paid: max(bytes, 0)}}, true
}

// inUse is what the request of s holds, without what s has paid for and can take at once.
func (s *Share) inUse() int64 {
	spare := int64(0)
	for ; s.part != nil; s = s.part.whole {
		spare += s.part.spare()
	}
	return s.Held() - spare
}

// Within starts a part of the context's share for work whose size is not known, and
// returns a context that carries the part, which the caller closes.
func Within(ctx context.Context) (context.Context, *Share, error) {
	part, err := FromContext(ctx).Part(ctx, 0)
	if part == nil || err != nil {
		return ctx, nil, err
	}
	return WithShare(ctx, part), part, nil
}

// Settle makes a part hold so many bytes, no more than it does, and returns what else it
// has paid for. Of a share that is no part it does nothing.
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

// refusal is the error of a part that was closed, or for which nothing is free.
func (p *part) refusal(bytes int64) error {
	return &Error{Bytes: bytes, Limit: p.whole.budget.limit, Busy: true}
}

// reserve counts bytes as held, and returns how many are to be paid for.
func (p *part) reserve(bytes int64) (due int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch most := p.whole.budget.perShare; {
	case p.closed:
		return 0, p.refusal(bytes)
	case bytes > most-p.held:
		return 0, &Error{Bytes: bytes, Limit: most}
	}
	p.held += bytes
	due = max(0, p.held-p.paid-p.asked)
	p.asked += due
	return due, nil
}

// pay ends what reserve began: with an error the bytes are not held.
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

// give keeps the bytes for what is taken next.
func (p *part) give(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.held -= bytes
	}
}

// spare is what has been paid for and is not held.
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
