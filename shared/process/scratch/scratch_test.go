package scratch_test

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"tiltyard/shared/process/scratch"
)

func TestFileHasNoName(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	f, err := scratch.File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString("rows"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(io.NewSectionReader(f, 0, 4)); string(text) != "rows" || err != nil {
		t.Errorf("read back %q, %v", text, err)
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil {
		t.Errorf("the directory has %v, %v", entries, err)
	}
	t.Setenv("TMPDIR", dir+"/none")
	if _, err := scratch.File(); err == nil {
		t.Error("a directory that does not exist is no error")
	}
	if scratch.Full(err) || !scratch.Full(fmt.Errorf("write: %w", &os.PathError{Err: syscall.ENOSPC})) {
		t.Error("a full directory is not told from other errors")
	}
}
