package diskstore

import (
	"context"
	"errors"
	"fmt"
	"os"

	"tiltyard/shared/storage/objectstore"
)

// ErrReadOnly is the error of a write to a store that was opened for reading.
var ErrReadOnly = errors.New("store is read only")

// A ReadOnly is a store over a directory that it never changes; it does not even add the files that
// Open adds. Its writes return ErrReadOnly.
type ReadOnly struct {
	files Store // only its root is open, which suffices for reading
}

var _ objectstore.Store = (*ReadOnly)(nil)

// OpenReadOnly returns a store over an existing directory, for reading.
func OpenReadOnly(root string) (*ReadOnly, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("open disk store: %w", err)
	}
	top, err := openIn(r, ".", os.O_RDONLY)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open disk store: %w", err), r.Close())
	}
	return &ReadOnly{files: Store{root: r, top: top, names: newNameCache()}}, nil
}

// Close frees the store's file handles. No method may be called afterwards.
func (s *ReadOnly) Close() error { return errors.Join(s.files.top.Close(), s.files.root.Close()) }

// Get implements objectstore.Store.
func (s *ReadOnly) Get(ctx context.Context, key string) ([]byte, objectstore.Info, error) {
	return s.files.Get(ctx, key)
}

// GetRanges implements objectstore.Store.
func (s *ReadOnly) GetRanges(ctx context.Context, key string, ranges ...objectstore.Range) ([][]byte, objectstore.Info, error) {
	return s.files.GetRanges(ctx, key, ranges...)
}

// List implements objectstore.Store.
func (s *ReadOnly) List(ctx context.Context, opts objectstore.ListOptions) (objectstore.ListPage, error) {
	return s.files.List(ctx, opts)
}

// Put returns ErrReadOnly.
func (s *ReadOnly) Put(_ context.Context, key string, _ []byte, _ objectstore.Condition) (objectstore.Info, error) {
	return objectstore.Info{}, fmt.Errorf("put %q: %w", key, ErrReadOnly)
}

// Delete returns ErrReadOnly.
func (s *ReadOnly) Delete(_ context.Context, key string, _ objectstore.Condition) error {
	return fmt.Errorf("delete %q: %w", key, ErrReadOnly)
}

// Create returns ErrReadOnly.
func (s *ReadOnly) Create(_ context.Context, key string) (objectstore.Writer, error) {
	return nil, fmt.Errorf("create %q: %w", key, ErrReadOnly)
}
