package dataset

import (
	"context"
	"errors"

	"tiltyard/shared/objectstore"
)

// Begin opens a version for work that changes nothing: the one with a number, or the newest if number
// is nil. A version that this process knows is returned at once, while the storage is asked whether it
// is still there and, without a number, whether there is a newer one. So a read of a table that did
// not change waits for the storage once, not twice. Storage that is near is asked before.
//
// If confirm is not nil, it is called after the work. It returns nil if the version is the right one.
// Otherwise it returns the right one: the result of the work is discarded, and the work done again.
func (t *Table) Begin(ctx context.Context, number *uint64) (d *Dataset, confirm func() (*Dataset, error), err error) {
	guess, ask := t.remembered(number)
	if guess == nil || objectstore.Near(t.at.Store) {
		if number != nil {
			d, err = t.Version(ctx, *number)
		} else {
			d, err = t.Latest(ctx)
		}
		return d, nil, err
	}
	type answer struct {
		right *Dataset
		err   error
	}
	asked := make(chan answer, 1)
	go func() {
		right, err := ask(ctx)
		asked <- answer{right, err}
	}()
	confirm = func() (*Dataset, error) {
		now := <-asked
		if now.err != nil || now.right == guess {
			return nil, now.err
		}
		return t.opened(ctx, now.right)
	}
	if d, err = t.opened(ctx, guess); err == nil {
		return d, confirm, nil
	}
	switch right, wrong := confirm(); {
	case wrong != nil:
		return nil, nil, wrong
	case right != nil:
		return right, nil, nil
	}
	return nil, nil, err
}

// remembered returns the version of a number, or the newest, as this process knows it, nil if it knows none. ask
// finds the right one on the storage.
func (t *Table) remembered(number *uint64) (d *Dataset, ask func(context.Context) (*Dataset, error)) {
	if number == nil {
		k, _ := t.known()
		return k.dataset, func(ctx context.Context) (*Dataset, error) { return t.probe(ctx, k) }
	}
	d = t.heldVersion(*number)
	return d, func(ctx context.Context) (*Dataset, error) {
		same, err := t.isThere(ctx, d)
		if same || err != nil && !errors.Is(err, ErrNoVersion) {
			return d, err
		}
		return t.version(ctx, *number)
	}
}
