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
	"io"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

// broken fails after what it has.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = errors.New("as told, later")
	}
	return n, err
}

// paused waits before its end until a file is there.
type paused struct {
	io.Reader
	file string
}

func (w paused) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	for err == io.EOF {
		if _, missing := os.Stat(w.file); missing == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return n, err
}

func main() {
	calls := 0
	lambda.Start(func(ctx context.Context, what string) (any, error) {
		calls++
		switch what {
		case "fail":
			return "", errors.New("as told")
		case "end":
			os.Exit(3)
		case "sleep":
			time.Sleep(time.Hour)
		case "stream":
			return streamed(paused{strings.NewReader("a piece"), os.Getenv("GO_ON")}), nil
		case "break":
			return streamed(broken{strings.NewReader("half an answ")}), nil
		}
		deadline, _ := ctx.Deadline()
		return fmt.Sprintf("%s %s call %d, %t", what, os.Getenv("COLOUR"), calls, time.Until(deadline) > 0), nil
	})
}

func streamed(body io.Reader) any {
	return &events.LambdaFunctionURLStreamingResponse{StatusCode: 202, Body: body}
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

func newFunction(t *testing.T, timeout time.Duration, env ...string) *Function {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	f := New(Config{
		Name: "test", Bootstrap: path, Env: append(env, "COLOUR=green"), Timeout: timeout, Instances: 2, Log: io.Discard,
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

// An event that comes after the program was replaced is answered by the new one, and one that is on its way
// by the old one.
func TestReplacedProgramAnswersTheNextEvents(t *testing.T) {
	built, err := build()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(t.TempDir(), "bootstrap")
	put := func() {
		if err := errors.Join(os.WriteFile(place+".new", program, 0o700), os.Rename(place+".new", place)); err != nil {
			t.Fatal(err)
		}
	}
	put()
	f := New(Config{Name: "test", Bootstrap: place, Env: []string{"COLOUR=green"}, Timeout: time.Minute, Instances: 1, Log: io.Discard})
	defer func() { _ = f.Close() }()
	for _, want := range []string{`"go green call 1, true"`, `"go green call 2, true"`, "replaced", `"go green call 1, true"`} {
		if want == "replaced" {
			put()
			continue
		}
		if answer, err := f.Invoke(t.Context(), []byte(`"go"`)); err != nil || string(answer) != want {
			t.Errorf("got %s, %v, want %s", answer, err, want)
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

// The first piece is taken before the program has made the last.
func TestStreamsAreHandedOnAsTheyCome(t *testing.T) {
	file := filepath.Join(t.TempDir(), "go on")
	f := newFunction(t, time.Minute, "GO_ON="+file)
	const prelude, piece = `{"statusCode":202}` + "\x00\x00\x00\x00\x00\x00\x00\x00", "a piece"
	err := f.Stream(t.Context(), []byte(`"stream"`), func(contentType string, body io.Reader) error {
		if contentType != "application/vnd.awslambda.http-integration-response" {
			t.Errorf("content type %q", contentType)
		}
		first := make([]byte, len(prelude)+len(piece))
		if _, err := io.ReadFull(body, first); err != nil || string(first) != prelude+piece {
			t.Errorf("first %q, %v", first, err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return err
		}
		rest, err := io.ReadAll(body)
		if len(rest) > 0 {
			t.Errorf("then %q", rest)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestStreamsThatCannotBeCompleted(t *testing.T) {
	gone := errors.New("nobody reads")
	f := newFunction(t, 2*time.Second, "GO_ON="+filepath.Join(t.TempDir(), "never"))
	cases := []struct {
		name, event string
		take        func(contentType string, body io.Reader) error
		want        func(error) bool
	}{
		{"the program fails", `"break"`, drain, func(err error) bool {
			var failed *Error
			return errors.As(err, &failed) && strings.Contains(failed.Message, "as told, later")
		}},
		{"nobody reads", `"break"`, func(string, io.Reader) error { return gone }, func(err error) bool { return errors.Is(err, gone) }},
		{"it takes too long", `"stream"`, drain, func(err error) bool { return errors.Is(err, ErrTimeout) }},
	}
	for _, c := range cases {
		if err := f.Stream(t.Context(), []byte(c.event), c.take); !c.want(err) {
			t.Errorf("%s: %v", c.name, err)
		}
		if answer, err := f.Invoke(t.Context(), []byte(`"go"`)); err != nil {
			t.Errorf("after %s: %s, %v", c.name, answer, err)
		}
	}
}

func drain(_ string, body io.Reader) error {
	_, err := io.Copy(io.Discard, body)
	return err
}

func TestInvokeKillsAProgramThatTakesTooLong(t *testing.T) {
	f := newFunction(t, 2*time.Second)
	if _, err := f.Invoke(t.Context(), []byte(`"sleep"`)); !errors.Is(err, ErrTimeout) {
		t.Errorf("got %v, want a timeout", err)
	}
	if answer, err := f.Invoke(t.Context(), []byte(`"go"`)); err != nil || !strings.Contains(string(answer), "call 1,") {
		t.Errorf("then %s, %v, want the answer of a new instance", answer, err)
	}
}

func TestFunctionRunsABoundedNumberOfInstances(t *testing.T) {
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
