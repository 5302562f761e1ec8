package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestManWritesAPageForEachCommand(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "man1")
	if _, stderr, code := tiltyard(t, "", "man", folder); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for name, want := range map[string]string{
		"tiltyard":                 "tiltyard-query(1)",
		"tiltyard-cp":              `\fB--overwrite\fP`,
		"tiltyard-query":           `\fB--where\fP`,
		"tiltyard-function-create": "tiltyard function create sales/loud loud.sql",
	} {
		page, err := os.ReadFile(filepath.Join(folder, name+".1"))
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("page of %s: %v, lacks %q:\n%s", name, err, want, page)
		}
		if strings.Contains(string(page), "HISTORY") {
			t.Errorf("page of %s has a history", name)
		}
	}
}
