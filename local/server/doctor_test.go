package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tiltyard/local/command"
)

func TestTheDoctorSaysWhatIsWrongAndMendsIt(t *testing.T) {
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
	} {
		got, err := runCommand(t, append([]string{"doctor", "--root", root}, step.args...)...)
		if got != step.want || command.ExitCode(err) != step.code {
			t.Errorf("doctor %s: got %v\n%s\nwant\n%s", strings.Join(step.args, " "), err, got, step.want)
		}
	}
}
