package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
)

// empty is the smallest module.
const empty = "\x00asm\x01\x00\x00\x00"

func TestCodeIsKeptOnlyWhereNobodyElseWrites(t *testing.T) {
	home := t.TempDir()
	open := filepath.Join(home, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil { //nolint:gosec // this is the case
		t.Fatal(err)
	}
	link := filepath.Join(home, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "file")
	if err := os.WriteFile(file, nil, 0o700); err != nil { //nolint:gosec // this is the case
		t.Fatal(err)
	}
	for folder, want := range map[string]bool{
		filepath.Join(home, "new"): true, filepath.Join(home, "no", "home"): false, "": false, open: false, link: false, file: false,
	} {
		if got := openCache(folder) != nil; got != want {
			t.Errorf("%q is used: %v, want %v", folder, got, want)
		}
	}
}

func TestDamagedCodeIsCompiledAgain(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "code")
	for range 2 {
		runtime, _, err := compile(t.Context(), wazero.NewRuntimeConfig(), folder, []byte(empty))
		if err != nil {
			t.Fatal(err)
		}
		_ = runtime.Close(t.Context())
		files, err := filepath.Glob(filepath.Join(folder, "*", "*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("files %v, %v, want 1", files, err)
		}
		if err := os.WriteFile(files[0], []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPruneDeletesTheOldestCode(t *testing.T) {
	folder := t.TempDir()
	for i, name := range []string{"newest", "middle", "oldest"} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, maxCached/2); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	prune(folder)
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 2 || files[0].Name() != "middle" || files[1].Name() != "newest" {
		t.Errorf("left: %v, %v, want middle and newest", files, err)
	}
}

func TestTailKeepsTheEndOfTheOutput(t *testing.T) {
	var log tail
	for range 100 {
		log.add(make([]byte, 3000))
		if len(log.bytes) > 2*logBytes {
			t.Fatalf("%d bytes are kept", len(log.bytes))
		}
	}
	if !log.isCut {
		t.Error("it does not say that there was more")
	}
	var short, long tail
	short.add(make([]byte, logBytes))
	if long.add(make([]byte, logBytes+1)); short.isCut || !long.isCut {
		t.Errorf("what has %d bytes is cut: %v; what has one more: %v", logBytes, short.isCut, long.isCut)
	}
	log.add([]byte("last"))
	if n := len(log.bytes); n < logBytes || string(log.bytes[n-4:]) != "last" {
		t.Errorf("%d bytes are kept, with the end %q", n, log.bytes[n-4:])
	}
}
