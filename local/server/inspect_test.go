package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tiltyard/shared/lance/inspect"
)

const inspected = "../../shared/lance/inspect/testdata/all.lance"

// run returns what a command writes.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestInspectShowsATable(t *testing.T) {
	absolute, err := filepath.Abs(inspected)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{inspected, inspected + "/", absolute, "file://" + absolute} {
		out, err := run(t, "inspect", path)
		if err != nil {
			t.Fatalf("inspect %s: %v", path, err)
		}
		for _, want := range []string{absolute, "8 of 8", "BTree on id", "mini-block: ", "before: version 2"} {
			if !strings.Contains(out, want) {
				t.Errorf("inspect %s: %q is missing in:\n%s", path, want, out)
			}
		}
	}
}

func TestInspectAsJSON(t *testing.T) {
	out, err := run(t, "inspect", inspected, "--json", "--version", "2", "--versions", "3")
	if err != nil {
		t.Fatal(err)
	}
	var report inspect.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if report.Detail.Version.Version != 2 || report.Detail.Operation != "Delete" || len(report.Versions) != 3 || !report.More {
		t.Errorf("got version %d by %s, %d versions, more: %v; want 2 by Delete, 3, true",
			report.Detail.Version.Version, report.Detail.Operation, len(report.Versions), report.More)
	}
}

func TestInspectSaysWhatIsNoTable(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-central-1")
	empty := t.TempDir()
	file := filepath.Join(empty, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		args []string
		want string
	}{
		{"nothing given", nil, "accepts 1 arg"},
		{"missing", []string{filepath.Join(empty, "none")}, "no such file or directory"},
		{"file", []string{file}, "is a file"},
		{"directory without a table", []string{empty}, "is not a Lance table"},
		{"root", []string{"/"}, "is not a Lance table"},
		{"elsewhere", []string{"gs://bucket/t.lance"}, "must be a path, a file:// URL, or s3://"},
		{"host", []string{"file://host/t.lance"}, "must be file:///"},
		{"bucket alone", []string{"s3://bucket"}, "is a root itself"},
		{"version", []string{inspected, "--version", "99"}, "no such version"},
		{"text for a version", []string{inspected, "--version", "x"}, "invalid argument"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := run(t, append([]string{"inspect"}, c.args...)...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
	if names, err := os.ReadDir(empty); err != nil || len(names) != 1 {
		t.Errorf("the directory now holds %v %v", names, err)
	}
}
