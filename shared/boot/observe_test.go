package boot

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/objectstore/s3store"
	"tiltyard/shared/storage/record/objectrecord"
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

// The values of rows and the secrets that errors quote stay out of the log, in lines of jobs and of
// repeated storage requests as well.
func TestErrorsAreLoggedWithoutWhatTheyQuote(t *testing.T) {
	const canary = "canary"
	quoting := &protocol.Error{Code: protocol.InvalidInput, Message: "the value " + canary + " is no number", Logged: "a value is no number"}
	var log bytes.Buffer
	env, err := openFrom(t, &log, map[string]string{"log-level": "debug", "metrics": "off"})
	if err != nil {
		t.Fatal(err)
	}
	transactions := transaction.Open(objectrecord.Open(memstore.New(), time.Now), time.Now)
	worker := &jobs.Worker{
		Starter: jobs.Starter{Transactions: transactions, Queue: new(memqueue.Queue)}, Name: rand.Text, Now: time.Now, Logger: env.Logger,
		Kinds: map[string]jobs.Kind{"k": {
			Stages: []jobs.Stage{{Name: "s", Do: func(context.Context, *jobs.Run) (any, error) { return nil, fmt.Errorf("row 7: %w", quoting) }}},
			Poll:   func(context.Context, []string) (*jobs.Trigger, error) { return nil, quoting },
		}},
	}
	begun, err := worker.Begin(t.Context(), "k", []string{"t"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []jobs.Message{{Job: begun.ID}, {Kind: "k", Object: []string{"t"}}} {
		if err := worker.Do(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	refusing := func(*http.Request) (*http.Response, error) {
		return nil, &url.Error{Op: "Put", URL: "https://" + canary + ":" + canary + "@bucket/key?X-Amz-Signature=" + canary, Err: syscall.ECONNRESET}
	}
	client := s3.New(s3.Options{
		Region: "us-east-1", Retryer: aws.NopRetryer{}, HTTPClient: doing(refusing),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	store, err := s3store.New(client, "bucket", "", env.Logger)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if _, _, err := store.Get(ctx, "key"); err == nil {
		t.Fatal("the storage answers")
	}
	text := log.String()
	for _, want := range []string{"a job has failed", "a poll has failed", "is sent again", "a value is no number", "https://bucket/key"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log does not hold %q", want)
		}
	}
	if strings.Contains(text, canary) {
		t.Errorf("the log tells what errors quote:\n%s", text)
	}
}

// doing is a client of HTTP that does what a function does.
type doing func(*http.Request) (*http.Response, error)

func (d doing) Do(r *http.Request) (*http.Response, error) { return d(r) }

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
	return Open(config, inEnv, log)
}

// A request before the first request to the service would delay every cold start, and without an
// answer the function would not start at all.
func TestOpenSendsNothingBeforeTheFirstRequest(t *testing.T) {
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
	}, everyClient, io.Discard)
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
