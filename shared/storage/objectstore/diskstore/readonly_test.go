package diskstore_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
)

func TestReadOnlyLeavesTheDirectoryAsItIs(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "t/data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "t/data/x"), []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := files(t, root)
	store, err := diskstore.OpenReadOnly(root)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if b, info, err := store.Get(ctx, "t/data/x"); err != nil || string(b) != "0123456789" || info.Size != 10 {
		t.Errorf("get: got %q %+v %v", b, info, err)
	}
	if parts, _, err := store.GetRanges(ctx, "t/data/x", objectstore.Range{Offset: -3}); err != nil || string(parts[0]) != "789" {
		t.Errorf("get the last 3 bytes: got %q %v", parts, err)
	}
	if page, err := store.List(ctx, objectstore.ListOptions{Prefix: "t/"}); err != nil || len(page.Objects) != 1 {
		t.Errorf("list: got %+v %v, want one object", page, err)
	}
	if _, err := store.Put(ctx, "t/y", nil, objectstore.Condition{}); !errors.Is(err, diskstore.ErrReadOnly) {
		t.Errorf("put: got %v, want ErrReadOnly", err)
	}
	if err := store.Delete(ctx, "t/data/x", objectstore.Condition{}); !errors.Is(err, diskstore.ErrReadOnly) {
		t.Errorf("delete: got %v, want ErrReadOnly", err)
	}
	if _, err := store.Create(ctx, "t/z"); !errors.Is(err, diskstore.ErrReadOnly) {
		t.Errorf("create: got %v, want ErrReadOnly", err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	if after := files(t, root); after != before {
		t.Errorf("the directory has changed: got %s, want %s", after, before)
	}
}

func TestReadOnlyNeedsADirectory(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	if _, err := diskstore.OpenReadOnly(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is no such directory", err)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("the directory was made")
	}
}

// files names all that lies below a directory.
func files(t *testing.T, root string) (names string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		names += path + "\n"
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// An attempt to write leaves nothing, also where the store keeps its own files.
func TestTryWriteLeavesNothing(t *testing.T) {
	root := t.TempDir()
	store, err := diskstore.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	before := files(t, root)
	if err := store.TryWrite(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := files(t, root); before != after {
		t.Errorf("got files %s, before there were %s", after, before)
	}
}
