package dataset

import "context"

// A turn is a lock that is held while something is read from storage. Who waits for it
// can give up, as a request does whose time is over.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn. Unless it fails, give must follow.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }
