package fragment

import "context"

// A turn is a lock that may be held during storage reads. A waiting goroutine gives up when its
// context ends.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn. The caller must call give unless take fails.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }
