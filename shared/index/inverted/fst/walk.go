package fst

import (
	"context"
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// maxTermBytes bounds the length of a term.
const maxTermBytes = 1 << 16

// contextSteps is the number of steps between checks of the context.
const contextSteps = 1 << 12

// Each calls yield with each term in the order of their bytes. term is good until yield returns.
func (a *Automaton) Each(ctx context.Context, yield func(term []byte) error) error {
	w := a.Walk(maxTermBytes)
	defer w.Close()
	for {
		more, err := w.Next(ctx)
		if err != nil || !more {
			return err
		}
		if err := yield(w.Term); err != nil {
			return err
		}
	}
}

// A Walk enumerates the terms of an automaton in order. The caller must close it at the end.
type Walk struct {
	Term   []byte // the current term
	Number uint64 // of the current term
	Found  int64  // terms so far

	automaton *Automaton
	longest   int
	path      []visit
	depth     int // visits of path in use: one more than the bytes of the term
	steps     int
	held      memory.Hold // for path
}

// A visit is a node on the way to the current term.
type visit struct {
	node
	number uint64 // that the path has collected up to the node
	next   int    // the step to go next
}

// visitBytes is the approximate memory of a visit without its steps, and stepBytes the memory of a step.
const (
	visitBytes = 96
	stepBytes  = 32
)

// Walk begins a walk. A term with more bytes than longest is lance.ErrUnsupported.
func (a *Automaton) Walk(longest int) *Walk { return &Walk{automaton: a, longest: longest} }

// Close releases the memory of the walk.
func (w *Walk) Close() { w.held.Release() }

// Next moves to the next term in byte order, and reports whether there is one.
func (w *Walk) Next(ctx context.Context) (bool, error) {
	if w.automaton.Terms == 0 {
		return false, nil
	}
	if w.Found == 0 && w.depth == 0 {
		if isTerm, err := w.enter(ctx, w.automaton.root, 0); err != nil || isTerm {
			return isTerm, err
		}
	}
	for w.depth > 0 {
		at := &w.path[w.depth-1]
		if at.next == len(at.steps) {
			if w.depth--; w.depth > 0 {
				w.Term = w.Term[:w.depth-1]
			}
			continue
		}
		s := at.steps[at.next]
		at.next++
		if len(w.Term) >= w.longest {
			return false, fmt.Errorf("%w: a term of more than %d bytes", lance.ErrUnsupported, w.longest)
		}
		w.Term = append(w.Term, s.on)
		if isTerm, err := w.enter(ctx, s.to, at.number+s.output); err != nil || isTerm {
			return isTerm, err
		}
	}
	return false, nil
}

// enter goes to a node, and reports whether a term ends there.
func (w *Walk) enter(ctx context.Context, address int, number uint64) (isTerm bool, err error) {
	if w.steps++; w.steps%contextSteps == 0 && ctx.Err() != nil {
		return false, ctx.Err()
	}
	if w.depth == len(w.path) {
		w.path = append(w.path, visit{})
	}
	at := &w.path[w.depth]
	before := cap(at.steps)
	if err := w.automaton.node(address, &at.node); err != nil {
		return false, err
	}
	at.number, at.next = number, 0
	if grown := int64(cap(at.steps)-before)*stepBytes + visitBytes; w.depth >= visitsFree && grown > visitBytes {
		if err := w.held.Resize(ctx, w.held.Bytes()+grown); err != nil {
			return false, err
		}
	}
	w.depth++
	if !at.final {
		if len(at.steps) == 0 {
			return false, fmt.Errorf("%w: a term of %d bytes does not end", lance.ErrCorrupt, len(w.Term))
		}
		return false, nil
	}
	if w.Found++; w.Found > w.automaton.Terms {
		return false, fmt.Errorf("%w: more terms than the %d that there are", lance.ErrCorrupt, w.automaton.Terms)
	}
	w.Number = number + at.finalOutput
	return true, nil
}

// visitsFree is the number of visits that a walk does not account for.
const visitsFree = 64
