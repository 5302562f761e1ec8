package runtimeapi

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// program is a function that does what its events say.
const program = `package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	calls := 0
	lambda.Start(func(ctx context.Context, what string) (string, error) {
		calls++
		switch what {
		case "fail":
			return "", errors.New("as told")
		case "end":
			os.Exit(3)
		case "sleep":
			time.Sleep(time.Hour)
		}
		deadline, _ := ctx.Deadline()
		return fmt.Sprintf("%s %s call %d, %t", what, os.Getenv("COLOUR"), calls, time.Until(deadline) > 0), nil
	})
}
`

// build builds the program, once.
var build = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "bootstrap")
	if err != nil {
		return "", err
	}
	source := filepath.Join(folder, "main.go")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		return "", err
	}
	path := filepath.Join(folder, "bootstrap")
	out, err := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", path, source).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := build(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

func newFunction(t *testing.T, timeout time.Duration) *Function {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	f := New(Config{
		Name: "test", Bootstrap: path, Env: []string{"COLOUR=green"}, Timeout: timeout, Instances: 2, Log: io.Discard,
	})
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func TestEventsAreAnsweredByAWarmInstance(t *testing.T) {
	f := newFunction(t, time.Minute)
	for call := 1; call <= 3; call++ {
		answer, err := f.Invoke(t.Context(), []byte(`"go"`))
		if want := fmt.Sprintf(`"go green call %d, true"`, call); err != nil || string(answer) != want {
			t.Fatalf("got %s, %v, want %s", answer, err, want)
		}
	}
}

func TestFailuresAreTold(t *testing.T) {
	f := newFunction(t, time.Minute)
	for event, want := range map[string]string{`"fail"`: "as told", `"end"`: "the program ended"} {
		var failed *Error
		if _, err := f.Invoke(t.Context(), []byte(event)); !errors.As(err, &failed) || !strings.Contains(failed.Message, want) {
			t.Errorf("%s: got %v, want %s", event, err, want)
		}
		if answer, err := f.Invoke(t.Context(), []byte(`"go"`)); err != nil {
			t.Errorf("after %s: %s, %v", event, answer, err)
		}
	}
}

func TestWhoTakesTooLongIsKilled(t *testing.T) {
	f := newFunction(t, 2*time.Second)
	if _, err := f.Invoke(t.Context(), []byte(`"sleep"`)); !errors.Is(err, ErrTimeout) {
		t.Errorf("got %v, want a timeout", err)
	}
	if answer, err := f.Invoke(t.Context(), []byte(`"go"`)); err != nil || !strings.Contains(string(answer), "call 1,") {
		t.Errorf("then %s, %v, want the answer of a new instance", answer, err)
	}
}

func TestAtMostSoManyInstancesRun(t *testing.T) {
	f := newFunction(t, time.Minute)
	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() {
			if _, err := f.Invoke(t.Context(), []byte(`"go"`)); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := len(f.idle); n < 1 || n > 2 {
		t.Errorf("%d instances, want at most 2", n)
	}
}

func TestProgramThatIsNotThere(t *testing.T) {
	f := New(Config{Name: "none", Bootstrap: filepath.Join(t.TempDir(), "bootstrap"), Timeout: time.Second, Instances: 1, Log: io.Discard})
	if _, err := f.Invoke(t.Context(), []byte(`"go"`)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
