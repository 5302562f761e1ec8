package command_test

import (
	"strings"
	"testing"

	"tiltyard/local/command"
)

func TestMCPRefusesWhatItCannotServe(t *testing.T) {
	setUp(t)
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"mcp sales", command.ExitUsage, "usage: tiltyard mcp"},
		{"mcp --url http://127.0.0.1 --context work", command.ExitUsage, "--url and --context name two servers"},
		{"mcp --url ftp://example.com --listen 127.0.0.1:0", command.ExitUsage, "it must be like https://host"},
		{"mcp --listen nowhere", command.ExitFailed, "nowhere"},
	} {
		if _, stderr, code := tiltyard(t, "", strings.Fields(c.line)...); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s ends with %d and writes %q, want %d and %q", c.line, code, stderr, c.code, c.want)
		}
	}
}
