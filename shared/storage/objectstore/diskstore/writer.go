package diskstore

import (
	"context"
	"errors"
	"fmt"

	"tiltyard/shared/storage/objectstore"
)

// Create implements objectstore.Store.
func (s *Store) Create(ctx context.Context, key string) (objectstore.Writer, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create %q: %w", key, err)
	}
	t, err := s.newTemp()
	if err != nil {
		return nil, fmt.Errorf("create %q: %w", key, err)
	}
	return &writer{ctx: ctx, store: s, key: key, temp: t}, nil
}

// A writer fills a temporary file, and gives it its key at the commit. It keeps the context of
// Create, because the methods of io.Writer have none.
type writer struct {
	ctx   context.Context
	store *Store
	key   string
	temp  *temp // nil after Commit or Abort
}

var errFinished = errors.New("writer is finished")

func (w *writer) Write(p []byte) (int, error) {
	if err := w.usable(); err != nil {
		return 0, fmt.Errorf("write %q: %w", w.key, err)
	}
	return w.temp.file.Write(p)
}

// Commit publishes the temporary file, in the context of Create.
func (w *writer) Commit() (objectstore.Info, error) {
	if err := w.usable(); err != nil {
		return objectstore.Info{}, fmt.Errorf("commit %q: %w", w.key, err)
	}
	t := w.temp
	w.temp = nil
	defer t.discard()
	info, err := w.store.publish(w.ctx, w.key, t, objectstore.Condition{})
	if err != nil {
		return objectstore.Info{}, fmt.Errorf("commit %q: %w", w.key, err)
	}
	return info, nil
}

func (w *writer) Abort() error {
	if w.temp != nil {
		w.temp.discard()
		w.temp = nil
	}
	return nil
}

func (w *writer) usable() error {
	if w.temp == nil {
		return errFinished
	}
	return w.ctx.Err()
}
