package client_test

import (
	"os"
	"strings"
	"testing"
)

// The examples of the page are pieces of the example functions, which the tests run.
func TestExamplesOfThePageRun(t *testing.T) {
	page, err := os.ReadFile("../../docs/client.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) < 5 {
		t.Errorf("the page has %d examples, want some more", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if strings.HasPrefix(code, "c, err := ") {
			code = strings.TrimSpace(strings.TrimPrefix(code, "c, err := ")) // a comment there
		}
		if !strings.Contains(string(source), code) {
			t.Errorf("no example function has:\n%s", code)
		}
	}
}
