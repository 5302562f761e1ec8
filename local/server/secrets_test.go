package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
)

func TestKeysAreReplaced(t *testing.T) {
	folder := t.TempDir()
	root, file := filepath.Join(folder, "root"), filepath.Join(folder, "root.keys")
	if out, err := run(t, "secrets", "add-key", "--root", root); err == nil {
		t.Errorf("a key is added to no file: %s", out)
	}
	keys, err := secretbox.OpenKeyFile(file)
	if err != nil {
		t.Fatal(err)
	}
	store, err := diskstore.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "file://" + root, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	names := catalog.Open(roots, time.Now)
	sealed, err := keys.Seal(t.Context(), []string{"s"}, []byte("canary"))
	if err != nil {
		t.Fatal(err)
	}
	if err := names.Secrets.Create(t.Context(), []string{"s"}, sealed); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, "secrets", "add-key", "--root", root); err != nil || !strings.Contains(out, "seals from now on") {
		t.Errorf("got %v, %s", err, out)
	}
	if out, err := run(t, "secrets", "reseal", "--root", root); err != nil || !strings.Contains(out, "1 of 1 secrets") || !strings.Contains(out, sealed.Key) || strings.Contains(out, "canary") {
		t.Errorf("got %v, %s", err, out)
	}
	record, err := names.Secrets.Get(t.Context(), []string{"s"})
	if err != nil {
		t.Fatal(err)
	}
	if value, err := keys.Open(t.Context(), []string{"s"}, record.Sealed); err != nil || string(value) != "canary" || record.Sealed.Key == sealed.Key {
		t.Errorf("got %q, %v by the key %s", value, err, record.Sealed.Key)
	}
	if out, err := run(t, "secrets", "reseal", "--root", root); err != nil || !strings.Contains(out, "0 of 1 secrets") {
		t.Errorf("got %v, %s", err, out)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, "secrets", "reseal", "--root", root); err == nil {
		t.Errorf("seals without keys: %s", out)
	}
	if out, err := run(t, "secrets", "reseal", "--root", root, "--secrets", "off"); err == nil || !strings.Contains(err.Error(), "--secrets file:PATH") {
		t.Errorf("got %v, %s", err, out)
	}
}
