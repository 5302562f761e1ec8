package dataset

import (
	"context"
	"errors"

	"tiltyard/shared/storage/objectstore"
)

// Begin opens a version for a read: version number, or the newest if number is nil. A cached
// version is returned at once. Meanwhile a request checks that it still exists and, without a
// number, that it is still the newest. An unchanged table therefore costs one storage round trip,
// not two. Local storage is checked before Begin returns.
//
// If confirm is not nil, the caller calls it after the read. A nil result confirms the version.
// Otherwise confirm returns the right version, and the caller discards its results and reads again.
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
	// The access check may fail for the cached version but succeed for the right one.
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

// remembered returns the cached version of a number (nil: the newest), or nil if none is cached.
// ask looks the right one up on storage.
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
