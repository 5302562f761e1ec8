package boot

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"tiltyard/shared/objectstore"
)

func TestAuditIsWrittenWhateverTheLevelOfTheLog(t *testing.T) {
	var log bytes.Buffer
	env, err := openFrom(t, &log, map[string]string{"log-level": "error", "metrics": "off"})
	if err != nil {
		t.Fatal(err)
	}
	env.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/table/t/drop", nil))
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), `"msg":"audit","outcome":"denied"`) {
		t.Errorf("the log is %q, want one line of audit", log.String())
	}
}

func TestMetricsGoIntoTheLogOfLambda(t *testing.T) {
	for _, function := range []string{"", "tiltyard-query"} {
		t.Setenv("AWS_LAMBDA_FUNCTION_NAME", function)
		var log bytes.Buffer
		env, err := openFrom(t, &log, nil)
		if err != nil {
			t.Fatal(err)
		}
		env.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/table/t/drop", nil))
		if got := strings.Contains(log.String(), `{"_aws":{`); got != (function != "") {
			t.Errorf("in function %q: metrics in the log: %t\n%s", function, got, &log)
		}
	}
}

func TestReadySaysWhatIsOutOfReach(t *testing.T) {
	env, err := openFrom(t, &bytes.Buffer{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := env.ready(t.Context()); err != nil {
		t.Errorf("got %v, want ready", err)
	}
	env.Verifier = nil
	env.Objects, err = objectstore.NewRoots(objectstore.Root{URI: "memory://m", Store: unreachable{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := env.ready(t.Context()); err == nil || !strings.Contains(err.Error(), "root cannot be read") {
		t.Errorf("got %v, want that the root cannot be read", err)
	}
}

// unreachable is a store that no request gets to.
type unreachable struct{ objectstore.Store }

func (unreachable) Get(context.Context, string) ([]byte, objectstore.Info, error) {
	return nil, objectstore.Info{}, os.ErrDeadlineExceeded
}

// openFrom opens a directory with a token and what the test says beside.
func openFrom(t *testing.T, log io.Writer, more map[string]string) (*Env, error) {
	t.Helper()
	config, err := Read(texts(more), texts(map[string]string{"root": t.TempDir(), "token": "the-token-of-the-test"}))
	if err != nil {
		return nil, err
	}
	return Open(config, log)
}

// What is sent before the first request delays every cold start, and one that is not
// answered keeps a function from starting at all.
func TestNothingIsSentBeforeTheFirstRequest(t *testing.T) {
	isolateAWS(t)
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent.Add(1) }))
	defer server.Close()
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		t.Setenv(name, server.URL)
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "false")
	t.Setenv("AWS_ACCESS_KEY_ID", "") // so that credentials would have to be asked for
	t.Setenv("AWS_REGION", "eu-central-1")
	env, err := Open(Config{
		Root: "s3://lake/root", AllowLocations: []string{"s3://other"}, Records: "dynamodb://records",
		Jobs: server.URL + "/1/jobs", JWKS: server.URL + "/keys", Issuer: "i", Audience: "a",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	handler := env.Handler()
	if n := sent.Load(); n != 0 {
		t.Errorf("%d requests were sent, want none", n)
	}
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/readyz", nil))
	if sent.Load() == 0 {
		t.Error("readiness asked nobody, so that the test would not see it")
	}
}
