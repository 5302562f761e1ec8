package executor_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tiltyard/shared/engine/udf/executor"
)

func TestCommandsThatDoNotBegin(t *testing.T) {
	for name, config := range map[string]executor.Config{
		"missing": {Address: "exec:/missing/command"},
		"silent":  script(t, "exit 0"),
		"chatty":  script(t, "echo Welcome to the executor"),
		"hanging": script(t, "sleep 1000"),
	} {
		t.Run(name, func(t *testing.T) {
			config.Timeout = 300 * time.Millisecond
			if lost(t, open(t, config, executor.Options{})).Err == nil {
				t.Error("the log would not have the cause")
			}
		})
	}
}

// Whatever a command started ends with the call that it did not answer.
func TestDeadlinesKillWhatACommandStarted(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(pipe) // until no process has it open for writing
		ended <- err
	}()
	config := script(t, "echo tiltyard 1\nsleep 1000 3>'"+pipe+"' & exec sleep 1000")
	config.Timeout = 300 * time.Millisecond
	if got, err := open(t, config, executor.Options{}).Call(t.Context(), row()); err != nil || len(got.Failed) != 1 || got.Failed[0].Type != executor.TimedOut {
		t.Errorf("got %v, %v", got, err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a process outlives the command")
	}
}

// After Close a command may finish its work at the end of its input.
func TestClosedCommandsEndByThemselves(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	config := script(t, "echo tiltyard 1\nhead -c 16 >/dev/null; printf 'TYR1\\1\\0\\0\\0\\45\\0\\0\\0\\0\\0\\0\\0%s' '{\"error_type\":\"E\",\"message\":\"a row\"} '\ncat >/dev/null\nsleep 0.3; touch '"+mark+"'")
	caller := open(t, config, executor.Options{})
	got, err := caller.Call(t.Context(), row())
	if err != nil || len(got.Failed) != 1 || got.Failed[0].Type != "E" {
		t.Fatalf("got %v, %v", got, err)
	}
	if err := caller.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error(err)
	}
}

func TestCrashesTellWhatTheCommandSaid(t *testing.T) {
	caller := open(t, script(t, "echo tiltyard 1\necho no such model >&2\nexit 3"), executor.Options{})
	got, err := caller.Call(t.Context(), row())
	if err != nil || len(got.Failed) != 1 || got.Failed[0].Type != executor.Crashed || !strings.HasSuffix(got.Failed[0].Message, "no such model") {
		t.Errorf("got %v, %v", got, err)
	}
}
