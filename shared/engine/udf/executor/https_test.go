package executor_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/executor"
	"tiltyard/shared/protocol"
)

// open opens a function of one column on an executor.
func open(t *testing.T, c executor.Config, o executor.Options) udf.Caller {
	t.Helper()
	c.Name, c.Concurrency, c.PayloadBytes = "e", 1, 1<<20
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	o.Wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	set, err := executor.Open([]executor.Config{c}, o)
	if err != nil {
		t.Fatal(err)
	}
	field := []arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64}}
	caller, err := set.Open(t.Context(), udf.Spec{Name: "f", Runtime: []byte(`{"kind":"executor","executor":"e"}`), Inputs: field, Outputs: field})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caller.Close() })
	return caller
}

func row() arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil))
	b.Field(0).(*array.Int64Builder).Append(1)
	return b.NewRecordBatch()
}

// lost calls a function whose executor cannot be used, and returns why.
func lost(t *testing.T, caller udf.Caller) *protocol.Error {
	t.Helper()
	_, err := caller.Call(t.Context(), row())
	var wrong *protocol.Error
	if !errors.As(err, &wrong) || wrong.Code != protocol.ServiceUnavailable {
		t.Fatalf("got error %v", err)
	}
	return wrong
}

func TestResponsesThatAreNoReplies(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		want   string
	}{
		"redirect":     {http.StatusTemporaryRedirect, "redirects are not followed"},
		"unauthorized": {http.StatusUnauthorized, "401"},
		"missing":      {http.StatusNotFound, "404"},
		"no content":   {http.StatusNoContent, "204"},
	} {
		t.Run(name, func(t *testing.T) {
			reached := 0
			caller := open(t, first(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				reached++
				http.Redirect(w, r, "/elsewhere", c.status)
			}))), executor.Options{})
			if wrong := lost(t, caller); !strings.Contains(wrong.Detail, c.want) || reached != 1 {
				t.Errorf("got %v after %d requests", wrong, reached)
			}
		})
	}
	caller := open(t, first(serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>"))
	}))), executor.Options{})
	if got, err := caller.Call(t.Context(), row()); err != nil || len(got.Failed) != 1 || !strings.Contains(got.Failed[0].Message, "content type") {
		t.Errorf("got %v, %v", got, err)
	}
}

func first(c executor.Config, _ executor.Options) executor.Config { return c }

func TestCertificatesAreVerified(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("was reached") }))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	config := first(serve(t, http.NotFoundHandler()))
	config.Address = server.URL
	if wrong := lost(t, open(t, config, executor.Options{})); strings.Contains(wrong.Detail, "127.0.0.1") || wrong.Err == nil {
		t.Errorf("got %v, %v", wrong, wrong.Err)
	}
}

func TestKeys(t *testing.T) {
	reached := 0
	config := first(serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ })))
	secret := config
	secret.Key = "secret:a$key"
	if _, err := executor.Open([]executor.Config{secret}, executor.Options{}); err == nil {
		t.Error("a key that is a secret is accepted where there are none")
	}
	for name, value := range map[string]string{"missing": "", "short": "0123456789abcde \n"} {
		wrong := lost(t, open(t, secret, executor.Options{Secret: func(_ context.Context, id string) ([]byte, error) {
			if value == "" || id != "a$key" {
				return nil, errors.New("no secret " + id)
			}
			return []byte(value), nil
		}}))
		if reached != 0 || wrong.Err == nil || strings.Contains(wrong.Error(), "0123") {
			t.Errorf("%s: got %v, and the executor was reached %d times", name, wrong, reached)
		}
	}
	if err := os.Remove(strings.TrimPrefix(config.Key, "file:")); err != nil {
		t.Fatal(err)
	}
	if wrong := lost(t, open(t, config, executor.Options{})); !errors.Is(wrong.Err, os.ErrNotExist) {
		t.Errorf("got %v", wrong.Err)
	}
}
