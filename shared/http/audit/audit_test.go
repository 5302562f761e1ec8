package audit

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

var forms = map[string]func(io.Writer) slog.Handler{
	"JSON": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
}

// written returns the lines of two processes.
func written(form func(io.Writer) slog.Handler) []string {
	var log bytes.Buffer
	for process := range 2 {
		logger := slog.New(NewHandler(&log, form))
		for i := range 4 {
			logger.Info(Message, "outcome", "done", "object", fmt.Sprintf("a$%d", i), "principal", `"msg":"audit" {`, "process", process)
		}
	}
	return strings.Split(strings.TrimSpace(log.String()), "\n")
}

func report(t *testing.T, lines []string) Report {
	t.Helper()
	var v Verifier
	if err := v.Read(strings.NewReader(strings.Join(lines, "\n"))); err != nil {
		t.Fatal(err)
	}
	return v.Report()
}

func TestVerifierReportsChangedLines(t *testing.T) {
	replace := func(i int, old, now string) func([]string) []string {
		return func(l []string) []string {
			l[i] = strings.Replace(l[i], old, now, 1)
			return l
		}
	}
	cases := []struct {
		name   string
		change func([]string) []string
		want   string // empty: nothing is wrong
	}{
		{"nothing", func(l []string) []string { return l }, ""},
		{"other order", func(l []string) []string { return append(l[5:], l[:5]...) }, ""},
		{"twice", func(l []string) []string { return append(l, l...) }, ""},
		{"other lines of the log", func(l []string) []string {
			return append(l, `{"time":"t","level":"INFO","msg":"request","object":"\"msg\":\"audit\","}`, `time=t level=INFO msg=request object="time=t level=INFO msg=audit "`, "START RequestId: 1", "")
		}, ""},
		{"what a tool prints in front", func(l []string) []string {
			for i := range l {
				if l[i][0] != '{' {
					continue
				}
				l[i] = "2026-01-02T03:04:05.000Z stream " + l[i] + "\t"
			}
			return l
		}, ""},
		{"without line feeds", func(l []string) []string {
			if l[0][0] != '{' {
				return l
			}
			return []string{strings.Join(l, "")}
		}, ""},
		{"another object", replace(1, "a$1", "a$7"), "line 3 was changed, or line 2 was"},
		{"another outcome at first", replace(0, "done", "denied"), "line 2 was changed, or line 1 was"},
		{"one gone", func(l []string) []string { return append(l[:2], l[3:]...) }, "line 3 is missing"},
		{"the first ones gone", func(l []string) []string { return l[2:] }, "lines 1 to 2 are missing"},
		{"numbered again", func(l []string) []string {
			return append(l[:2], strings.NewReplacer(`"line":4`, `"line":3`, "line=4", "line=3").Replace(l[3]))
		}, "line 3 was changed, or line 2 was"},
		{"made up", func(l []string) []string { return append(l, l[3][:len(l[3])-70]+`x`) }, "belongs to no chain"},
		{"two of one number", func(l []string) []string { return append(l, strings.Replace(l[3], "done", "failed", 1)) }, "two different lines 4"},
	}
	for form, h := range forms {
		for _, c := range cases {
			t.Run(form+"/"+c.name, func(t *testing.T) {
				got := report(t, c.change(written(h)))
				if wrong := strings.Join(got.Wrong, "; "); (wrong == "") != (c.want == "") || !strings.Contains(wrong, c.want) {
					t.Errorf("got %q, want %q", wrong, c.want)
				}
				if got.Lines == 0 || got.Chains == 0 {
					t.Errorf("got %d lines in %d chains", got.Lines, got.Chains)
				}
			})
		}
	}
}

func TestLinesOfConcurrentRequestsAreOneChain(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(NewHandler(&log, forms["JSON"])).With("a", 1)
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() { logger.Info(Message) })
	}
	wait.Wait()
	if got := report(t, strings.Split(log.String(), "\n")); got.Lines != 50 || got.Chains != 1 || len(got.Wrong) > 0 {
		t.Errorf("got %+v, want 50 lines in 1 chain", got)
	}
}

type broken struct{ io.Writer }

func (b *broken) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"line":2`)) {
		return 0, io.ErrShortWrite
	}
	return b.Writer.Write(p)
}

func TestLineThatCouldNotBeWrittenIsMissed(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(NewHandler(&broken{&log}, forms["JSON"]))
	for range 3 {
		logger.Info(Message)
	}
	if got := report(t, strings.Split(log.String(), "\n")); len(got.Wrong) != 1 || !strings.Contains(got.Wrong[0], "line 2 is missing") {
		t.Errorf("got %+v, want that line 2 is missing", got)
	}
}
