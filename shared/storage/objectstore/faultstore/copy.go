package faultstore

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/storage/objectstore"
)

// Unwrap implements objectstore.Wrapper.
func (s *Store) Unwrap() objectstore.Store { return s.inner }

// CopyFrom implements objectstore.Copier if the inner store does.
func (s *Store) CopyFrom(ctx context.Context, from objectstore.Store, was objectstore.Info, key string) error {
	if _, ok := s.inner.(objectstore.Copier); !ok {
		return fmt.Errorf("copy %q to %q: %w", was.Key, key, errors.ErrUnsupported)
	}
	return s.do(ctx, Call{Kind: Copy, Key: key}, "", func() (int, error) {
		return 0, objectstore.CopyWithin(ctx, from, was, s.inner, key)
	})
}
