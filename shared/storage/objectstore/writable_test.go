package objectstore_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/objectstore/storetest"
)

func TestWatchedStoreIsAStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) objectstore.Store { return objectstore.WatchWrites(memstore.New()) })
}

// Each kind of refused write puts the store in doubt, and no other error does.
func TestRefusedWritesPutAStoreInDoubt(t *testing.T) {
	ctx := t.Context()
	upload := func(s objectstore.Store) error {
		w, err := s.Create(ctx, "a")
		if err != nil {
			return err
		}
		_, err = w.Write([]byte("x"))
		if err == nil {
			_, err = w.Commit()
		}
		return errors.Join(err, w.Abort())
	}
	writes := map[string]func(s objectstore.Store) error{
		"put":    func(s objectstore.Store) error { _, err := s.Put(ctx, "a", nil, objectstore.Condition{}); return err },
		"delete": func(s objectstore.Store) error { return s.Delete(ctx, "a", objectstore.Condition{}) },
		"upload": upload,
	}
	for name, write := range writes {
		for refusal, doubted := range map[error]bool{
			syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EROFS: true, syscall.EACCES: false, objectstore.ErrPrecondition: false,
		} {
			calls := 0
			inner := faultstore.New(memstore.New(), nil)
			store := objectstore.Counting(objectstore.WatchWrites(inner))
			if err := objectstore.Writable(ctx, store); err != nil {
				t.Fatal(err)
			}
			inner.Inject(func(faultstore.Call) faultstore.Fault {
				calls++
				return faultstore.Fault{Err: fmt.Errorf("write: %w", refusal)}
			})
			if err := write(store); !errors.Is(err, refusal) {
				t.Errorf("%s: got %v, want %v", name, err, refusal)
			}
			if err := objectstore.Writable(ctx, store); errors.Is(err, refusal) != doubted {
				t.Errorf("%s after %v: got %v, want it doubted: %v", name, refusal, err, doubted)
			}
			if tried := calls == 2; tried != doubted {
				t.Errorf("%s after %v: tried to write: %v", name, refusal, tried)
			}
			inner.Inject(nil)
			if err := objectstore.Writable(ctx, store); err != nil {
				t.Errorf("%s after %v: healed and in doubt: %v", name, refusal, err)
			}
		}
	}
}

// An attempt that is given up, or is not to be waited for, ends no doubt.
func TestWritableEndsNoDoubtWhenCancelled(t *testing.T) {
	disk, err := diskstore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = disk.Close() }()
	store := objectstore.WatchWrites(disk)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if err := objectstore.Writable(gone, store); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was cancelled", err)
		}
	}
	if err := objectstore.Writable(t.Context(), store); err != nil {
		t.Error(err)
	}
}
