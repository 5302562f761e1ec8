package command_test

import (
	"context"
	"strings"
	"testing"

	"tiltyard/local/command"
	"tiltyard/shared/storage/outage"
)

// The advice about the server is for commands that talk to one, and not for those that look at a store themselves.
func TestAdviceIsAboutWhatIsOutOfReach(t *testing.T) {
	const advice = "is the server running?"
	if text := command.Explain(context.DeadlineExceeded); !strings.Contains(text, advice) {
		t.Errorf("a server out of reach: got %q", text)
	}
	err := outage.Busy("S3", context.DeadlineExceeded)
	if text := command.Explain(err); strings.Contains(text, advice) || !strings.Contains(text, "S3") {
		t.Errorf("a store out of reach: got %q", text)
	}
	if code := command.ExitCode(err); code != command.ExitUnavailable {
		t.Errorf("a store out of reach: got the exit code %d", code)
	}
}
