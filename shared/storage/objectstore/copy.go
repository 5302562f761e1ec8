package objectstore

import (
	"context"
	"errors"
	"fmt"
)

// A Copier is a Store that can copy an object by a request to its server, which reads and writes the
// bytes itself.
type Copier interface {
	// CopyFrom copies the object that was describes from another store to a key, and replaces an existing
	// object. The copy is complete and durable when it returns nil. It returns [errors.ErrUnsupported],
	// before any request, if it cannot copy from that store, and ErrPrecondition if the source object has
	// changed.
	CopyFrom(ctx context.Context, from Store, was Info, key string) error
}

// CopyWithin copies an object between stores on one server, without reading it. was is the object's Info in
// the source store. It returns [errors.ErrUnsupported], without any change, if the stores have no common
// server. The caller then reads and writes the bytes.
func CopyWithin(ctx context.Context, from Store, was Info, to Store, key string) error {
	c, ok := to.(Copier)
	if !ok {
		return fmt.Errorf("copy %q to %q: %w", was.Key, key, errors.ErrUnsupported)
	}
	return c.CopyFrom(ctx, from, was, key)
}

// A Wrapper is a Store that delegates to another Store.
type Wrapper interface {
	// Unwrap returns the wrapped store.
	Unwrap() Store
}

// Innermost returns the store that wrappers pass their calls to in the end.
func Innermost(s Store) Store {
	for {
		w, ok := s.(Wrapper)
		if !ok {
			return s
		}
		s = w.Unwrap()
	}
}

// Unwrap implements [Wrapper].
func (w *watched) Unwrap() Store { return w.Store }

// CopyFrom implements [Copier] as the inner store does.
func (w *watched) CopyFrom(ctx context.Context, from Store, was Info, key string) error {
	err := CopyWithin(ctx, from, was, w.Store, key)
	w.note(err)
	return err
}
