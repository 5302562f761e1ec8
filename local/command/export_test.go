package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tiltyard/local/command"
)

// What an export writes, an insert reads, with the same rows.
func TestExportsAreInserted(t *testing.T) {
	setUp(t)
	if _, stderr, code := tiltyard(t, "", "insert", "p", points(t), "--create"); code != 0 {
		t.Fatal(stderr)
	}
	if _, stderr, code := tiltyard(t, `{"id":3} {"id":4,"name":"a, \"b\"\nc","vector":[-1,0.5]}`, "insert", "p", "--format", "jsonl"); code != 0 {
		t.Fatal(stderr)
	}
	want, _, _ := tiltyard(t, "", "query", "p", "-o", "json", "--order-by", "id")
	if strings.Count(want, "\n") != 4 {
		t.Fatalf("the rows are\n%s", want)
	}
	for _, format := range []string{"parquet", "arrow", "csv", "jsonl"} {
		t.Run(format, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "rows."+format)
			if _, stderr, code := tiltyard(t, "", "export", "p", file); code != 0 || stderr != "4 rows\n" {
				t.Fatalf("exit code %d, %s", code, stderr)
			}
			stdout, stderr, code := tiltyard(t, "", "export", "p", "--format", format)
			if written, err := os.ReadFile(file); err != nil || code != 0 || format != "parquet" && string(written) != stdout {
				t.Errorf("standard output differs from the file: %v, exit code %d, %s", err, code, stderr)
			}
			table := "from_" + format
			if _, stderr, code := tiltyard(t, "", "insert", table, filepath.Join(filepath.Dir(points(t)), "points.arrow"), "--create"); code != 0 {
				t.Fatal(stderr)
			}
			if _, stderr, code := tiltyard(t, "", "insert", table, file, "--overwrite"); code != 0 {
				t.Fatal(stderr)
			}
			if got, _, _ := tiltyard(t, "", "query", table, "-o", "json", "--order-by", "id"); got != want {
				t.Errorf("the rows are\n%s, want\n%s", got, want)
			}
		})
	}
}

func TestExportThatFailsLeavesNoFile(t *testing.T) {
	setUp(t)
	folder := t.TempDir()
	old := filepath.Join(folder, "rows.csv")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := tiltyard(t, "", "export", "missing", old); code != command.ExitNotFound {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if _, stderr, code := tiltyard(t, "", "insert", "p", points(t), "--create"); code != 0 {
		t.Fatal(stderr)
	}
	for _, args := range [][]string{{"--where", "id / 0 >"}, {"--columns", "none"}, {"--format", "xml"}} {
		if _, _, code := tiltyard(t, "", append([]string{"export", "p", old}, args...)...); code == 0 {
			t.Errorf("%v: exit code 0", args)
		}
	}
	files, err := os.ReadDir(folder)
	if text, readErr := os.ReadFile(old); err != nil || readErr != nil || len(files) != 1 || string(text) != "old" {
		t.Errorf("the folder has %v, %v; the file has %q, %v", files, err, text, readErr)
	}
}

func TestParquetIsNotReadFromAPipe(t *testing.T) {
	setUp(t)
	if _, stderr, code := tiltyard(t, "PAR1", "insert", "p", "--create", "--format", "parquet"); code != command.ExitUsage || !strings.Contains(stderr, "name the file") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
