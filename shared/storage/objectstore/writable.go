package objectstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
)

// IsFull reports whether a store refused a write because its disk or its quota is used up.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// TakesNoWrites reports whether a store refused a valid write because it is full or read-only, which may be
// temporary.
func TakesNoWrites(err error) bool { return IsFull(err) || errors.Is(err, syscall.EROFS) }

type freeingKey struct{}

// Freeing returns a context for work that frees space, such as the deletion of a table: on a full disk, its
// small writes may use the reserve of the store.
func Freeing(ctx context.Context) context.Context { return context.WithValue(ctx, freeingKey{}, true) }

// Ordinary returns the context without that.
func Ordinary(ctx context.Context) context.Context {
	if !IsFreeing(ctx) {
		return ctx
	}
	return context.WithValue(ctx, freeingKey{}, false)
}

// IsFreeing reports whether a write may use the reserve.
func IsFreeing(ctx context.Context) bool {
	frees, _ := ctx.Value(freeingKey{}).(bool)
	return frees
}

// TryBytes is the size of the object that [TryWrite] writes: about that of a small commit.
const TryBytes = 64 << 10

// A WriteTrier is a Store that has a cheaper or less visible way to find out whether it accepts
// writes.
type WriteTrier interface {
	// TryWrite writes TryBytes bytes and removes them again. It returns an error if the store does not
	// accept writes.
	TryWrite(ctx context.Context) error
}

// TryWrite writes a small object in the folder that no location may have, and removes it. It
// returns an error if it could not.
func TryWrite(ctx context.Context, s Store) error {
	if t, ok := s.(WriteTrier); ok {
		return t.TryWrite(ctx)
	}
	const key = ReservedName + "/try"
	if _, err := s.Put(ctx, key, make([]byte, TryBytes), Condition{}); err != nil {
		return err
	}
	return s.Delete(ctx, key, Condition{})
}

// Writable returns nil if s accepts writes, as far as known. Only stores of [WatchWrites] track it.
func Writable(ctx context.Context, s Store) error {
	if w, ok := s.(interface {
		Writable(ctx context.Context) error
	}); ok {
		return w.Writable(ctx)
	}
	return nil
}

// WatchWrites returns a store that records when a write was refused with an error of [TakesNoWrites]. Its
// state is unknown until the first call of [Writable], because the program may start on a full disk.
func WatchWrites(s Store) Store {
	w := &watched{Store: s}
	w.doubt.Store(true)
	return w
}

// watched is a store that tracks whether it accepts writes.
type watched struct {
	Store
	doubt  atomic.Bool // a write was refused since the last successful try, or there was no try yet
	trying sync.Mutex
}

// Writable tries a write if the store is in doubt, and ends the doubt when that succeeds. Without
// doubt it sends no request.
func (w *watched) Writable(ctx context.Context) error {
	w.trying.Lock()
	defer w.trying.Unlock()
	// The doubt is cleared before the try, so that a write that is refused during it counts.
	if !w.doubt.Swap(false) {
		return nil
	}
	if err := TryWrite(ctx, w.Store); err != nil {
		w.doubt.Store(true)
		return fmt.Errorf("try a write: %w", err)
	}
	return nil
}

func (w *watched) note(err error) {
	if TakesNoWrites(err) {
		w.doubt.Store(true)
	}
}

// ReadGap implements [Gapper] as the inner store does.
func (w *watched) ReadGap() int64 { return ReadGap(w.Store) }

func (w *watched) Put(ctx context.Context, key string, data []byte, cond Condition) (Info, error) {
	info, err := w.Store.Put(ctx, key, data, cond)
	w.note(err)
	return info, err
}

func (w *watched) Delete(ctx context.Context, key string, cond Condition) error {
	err := w.Store.Delete(ctx, key, cond)
	w.note(err)
	return err
}

func (w *watched) Create(ctx context.Context, key string) (Writer, error) {
	inner, err := w.Store.Create(ctx, key)
	w.note(err)
	if err != nil {
		return nil, err
	}
	return &watchedWriter{inner, w}, nil
}

// watchedWriter reports the errors of a writer to its store.
type watchedWriter struct {
	Writer
	store *watched
}

func (w *watchedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.store.note(err)
	return n, err
}

func (w *watchedWriter) Commit() (Info, error) {
	info, err := w.Writer.Commit()
	w.store.note(err)
	return info, err
}
