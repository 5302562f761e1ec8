package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tiltyard/local/command"
)

func TestDoctorReportsAndMendsFaults(t *testing.T) {
	root := t.TempDir()
	const folder = "gone-0123456789abcdef01234567.lance"
	file := filepath.Join(mustMkdir(t, root, folder, "data"), "x.lance")
	old := time.Now().Add(-48 * time.Hour)
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chtimes(file, old, old)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args []string
		want string
		code int
	}{
		{nil, "orphan-folder: " + folder + "; --fix deletes its files, which belong to no table\n", command.ExitFaults},
		{[]string{"--json"}, `{"kind":"orphan-folder","object":"` + folder + `","mend":"--fix deletes its files, which belong to no table","fixable":true,"fixed":false}` + "\n", command.ExitFaults},
		{[]string{"--fix"}, "orphan-folder: " + folder + " (mended)\n", 0},
		{nil, "no faults were found\n", 0},
		{[]string{"--json"}, "", 0},
		{[]string{"--store"}, "no faults were found\n", 0},
	} {
		got, err := runCommand(t, append([]string{"doctor", "--root", root}, step.args...)...)
		if got != step.want || command.ExitCode(err) != step.code {
			t.Errorf("doctor %s: got %v\n%s\nwant\n%s", strings.Join(step.args, " "), err, got, step.want)
		}
	}
}

func TestDoctorMakesNothing(t *testing.T) {
	root := t.TempDir()
	if got, err := runCommand(t, "doctor", "--root", root); err != nil {
		t.Errorf("an empty root: %v\n%s", err, got)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("the doctor has made %v, %v", left, err)
	}
	none := filepath.Join(root, "none")
	for _, more := range [][]string{nil, {"--fix"}} {
		if got, err := runCommand(t, append([]string{"doctor", "--root", none}, more...)...); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a root that does not exist, %v: %v\n%s", more, err, got)
		}
	}
	if _, err := os.Stat(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the doctor has made a root: %v", err)
	}
}
