package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestQueryWeightsAVectorAndWords(t *testing.T) {
	setUp(t)
	tiltyard(t, "", "insert", "p", points(t), "--create")
	file := filepath.Join(t.TempDir(), "vector.json")
	if err := os.WriteFile(file, []byte("[1, 2]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for weights, first := range map[string]string{"0,1": `"id":2}`, "1,0": `"id":1}`} {
		stdout, stderr, code := tiltyard(t, "", "query", "p", "--vector", "@"+file, "--text", "two", "--text-columns", "name", "--weights", weights, "--rank-constant", "9", "--columns", "id", "-o", "json")
		best, _, _ := strings.Cut(stdout, "\n")
		if code != 0 || !strings.HasSuffix(best, first) || !strings.Contains(best, `"_relevance_score":0.1,`) {
			t.Errorf("weights %s: got exit code %d and\n%s%s", weights, code, stdout, stderr)
		}
	}
}

func TestQueryRefusesWrongFlagsOfAHybridSearch(t *testing.T) {
	setUp(t)
	for _, c := range []struct {
		named string
		flags []string
	}{
		{"--text", []string{"--vector", "[1,2]", "--weights", "1,1"}},
		{"--vector", []string{"--text", "two", "--rank-constant", "5"}},
		{"VECTOR,TEXT", []string{"--vector", "[1,2]", "--text", "two", "--weights", "1"}},
		{"--vector", []string{"--vector", "@" + filepath.Join(t.TempDir(), "none.json")}},
	} {
		if _, stderr, code := tiltyard(t, "", append([]string{"query", "p"}, c.flags...)...); code != 2 || !strings.Contains(stderr, c.named) {
			t.Errorf("%q: got exit code %d and %q, want 2 and a text that names %s", c.flags, code, stderr, c.named)
		}
	}
}
