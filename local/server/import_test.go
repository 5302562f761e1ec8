package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tiltyard/shared/boot"
)

// runCommand runs tiltyard with these arguments, in a directory of its own.
func runCommand(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	for _, s := range boot.Settings {
		t.Setenv(s.Variable(), "")
	}
	var stdout bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stdout)
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), err
}

func mustMkdir(t *testing.T, path ...string) string {
	t.Helper()
	dir := filepath.Join(path...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestImportTellsWhatItDoes(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lake := mustMkdir(t, base, "the lake")
	table := mustMkdir(t, lake, "t.lance")
	if err := os.WriteFile(filepath.Join(table, ".lance-reserved"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(base, "root")
	at := "table t at file://" + strings.ReplaceAll(table, " ", "%20") + "\n"
	hint := "serve them with --allow-location " + lake + "\n"
	steps := []struct {
		args []string
		want string
	}{
		{[]string{"--dry-run", lake}, "to be imported: " + at + "1 to be imported, 0 there already, 0 skipped\n" + hint},
		{[]string{lake}, "imported: " + at + "1 imported, 0 there already, 0 skipped\n" + hint},
		{[]string{"--allow-location", lake, lake + "/"}, "there: " + at + "0 imported, 1 there already, 0 skipped\n"},
		{[]string{"--allow-location", base, lake}, "there: " + at + "0 imported, 1 there already, 0 skipped\n"},
		{[]string{"file://" + strings.ReplaceAll(lake, " ", "%20")}, "there: " + at + "0 imported, 1 there already, 0 skipped\n" + hint},
		{nil, "0 imported, 0 there already, 0 skipped\n"},
	}
	for _, s := range steps {
		got, err := runCommand(t, append([]string{"import", "--root", root}, s.args...)...)
		if err != nil || got != s.want {
			t.Errorf("import %q: got %v\n%s\nwant\n%s", s.args, err, got, s.want)
		}
	}
	for _, place := range []string{filepath.Join(base, "missing"), "file://host/x", "http://x/y"} {
		if got, err := runCommand(t, "import", "--root", root, place); err == nil {
			t.Errorf("import of %s: %s, want an error", place, got)
		}
	}
}
