package diskstore

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tiltyard/shared/storage/objectstore"
)

// The reserve is deleted only for work that frees space, and is created again.
func TestReserve(t *testing.T) {
	root := t.TempDir()
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	file := filepath.Join(root, reserveFile)
	size := func() int64 {
		info, err := os.Stat(file)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	if size() != reserveBytes {
		t.Fatalf("the reserve has %d bytes, want %d", size(), reserveBytes)
	}
	writes := 0
	full := func() error { // a disk on which nothing is free but the reserve
		if writes++; size() > 0 {
			return &os.PathError{Op: "write", Err: unix.ENOSPC}
		}
		return nil
	}
	ctx := t.Context()
	if err := s.withReserve(ctx, full); !objectstore.IsFull(err) || writes != 1 || size() == 0 {
		t.Errorf("another write: %v after %d writes, reserve of %d bytes", err, writes, size())
	}
	if err := s.withReserve(objectstore.Ordinary(objectstore.Freeing(ctx)), full); !objectstore.IsFull(err) {
		t.Errorf("ordinary work within work that frees space: %v", err)
	}
	if err := s.withReserve(objectstore.Freeing(ctx), full); err != nil || size() != 0 {
		t.Errorf("work that frees space: %v, reserve of %d bytes", err, size())
	}
	s.keepReserve(time.Now().Add(time.Minute))
	if size() != reserveBytes {
		t.Errorf("the reserve has %d bytes when there is space again", size())
	}
	page, err := s.List(ctx, objectstore.ListOptions{})
	if err != nil || len(page.Objects) != 0 {
		t.Errorf("the store lists %v, %v", page.Objects, err)
	}
}
