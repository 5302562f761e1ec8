package command_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDiffLeavesOutRowsThatOnlyMoved(t *testing.T) {
	setUp(t)
	must(t, "insert", "p", points(t), "--create")
	must(t, "insert", "p", points(t))
	must(t, "maintain", "p", "--compact", "--wait")
	var counted struct{ Removed, Added struct{ Count int64 } }
	if err := json.Unmarshal([]byte(must(t, "call", "CompareTableVersions", "p", "--body", `{"from_version":2}`)), &counted); err != nil || counted.Removed.Count != 4 {
		t.Fatalf("the compaction moved %+v, %v; want 4 rows", counted, err)
	}
	if got := must(t, "diff", "p", "2"); !strings.Contains(got, "0 removed, 0 added, 0 changed") || strings.Contains(got, "one") {
		t.Errorf("the difference is\n%s", got)
	}
	// Equal rows are matched one by one.
	if got := must(t, "diff", "p", "1"); !strings.Contains(got, "0 removed, 2 added, 0 changed") {
		t.Errorf("the difference is\n%s", got)
	}
}

func TestDiffShowsColumns(t *testing.T) {
	setUp(t)
	must(t, "insert", "p", points(t), "--create")
	must(t, "table", "add-columns", "p", "twice=id*2")
	must(t, "table", "drop-columns", "p", "name")
	got := must(t, "diff", "p", "1")
	for _, want := range []string{"column    - name: utf8\n", "column    + twice: int64"} {
		if !strings.Contains(got, want) {
			t.Errorf("the difference lacks %q:\n%s", want, got)
		}
	}
}
