package flightsql

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// runs are the statements that can be cancelled by the id in their ticket. The zero value has none.
type runs struct {
	mu        sync.Mutex
	running   map[string]context.CancelCauseFunc
	cancelled []string // before they began; the latest maxCancelled
}

// maxCancelled bounds the ids of statements that were cancelled before they began.
const maxCancelled = 1000

// errCancelled is the error of a statement that was cancelled by an action.
var errCancelled = status.Error(codes.Canceled, "the statement was cancelled")

// begin notes that a statement runs, until end. The context ends if it is cancelled.
func (r *runs) begin(parent context.Context, id string) (ctx context.Context, end func(), err error) {
	ctx, cancel := context.WithCancelCause(parent)
	if id == "" {
		return ctx, func() { cancel(nil) }, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, gone := range r.cancelled {
		if gone == id {
			cancel(nil)
			return nil, nil, errCancelled
		}
	}
	if r.running == nil {
		r.running = map[string]context.CancelCauseFunc{}
	}
	if _, taken := r.running[id]; taken { // the ticket is used twice at once: the first one can be cancelled
		return ctx, func() { cancel(nil) }, nil
	}
	r.running[id] = cancel
	return ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.running, id)
		cancel(nil)
	}, nil
}

// cancel ends a statement, or prevents that it begins.
func (r *runs) cancel(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel := r.running[id]; cancel != nil {
		cancel(errCancelled)
		return
	}
	r.cancelled = append(r.cancelled, id)
	if len(r.cancelled) > maxCancelled {
		r.cancelled = append(r.cancelled[:0], r.cancelled[len(r.cancelled)-maxCancelled:]...)
	}
}
