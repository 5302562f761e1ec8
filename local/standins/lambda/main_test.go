package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"tiltyard/local/standins/gateway"
	"tiltyard/local/standins/runtimeapi"
)

// buildFunctions makes a folder of programs with the given names.
func buildFunctions(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range names {
		path := filepath.Join(folder, name, "bootstrap")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o700); err != nil { //nolint:gosec // a program has to be executable
			t.Fatal(err)
		}
	}
	return folder
}

func TestFindsTheFunctionsOfAFolder(t *testing.T) {
	o := options{folder: buildFunctions(t, "table", "default", "worker", "stream"), instances: 3}
	functions, worker, err := o.find([]string{"COLOUR=green"})
	if err != nil || worker == nil {
		t.Fatalf("got worker %v, error %v", worker, err)
	}
	var names []string
	for name := range functions {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"default", "table"}; !slices.Equal(names, want) {
		t.Errorf("got the functions %v behind the gateway, want %v", names, want)
	}
	config := o.config("table", "path", []string{"COLOUR=green", "TILTYARD_REQUEST_TIMEOUT=1s"})
	if want := []string{"TILTYARD_REQUEST_TIMEOUT=28s", "COLOUR=green", "TILTYARD_REQUEST_TIMEOUT=1s"}; !slices.Equal(config.Env, want) || config.Instances != 3 {
		t.Errorf("got %d instances with %v, want 3 with %v: the environment wins", config.Instances, config.Env, want)
	}
	for _, folder := range []string{buildFunctions(t, "table", "default"), buildFunctions(t, "table", "worker"), t.TempDir()} {
		if _, _, err := (options{folder: folder}).find(nil); err == nil || !strings.Contains(err.Error(), folder) {
			t.Errorf("%s lacks functions: got error %v, want one that names the folder", folder, err)
		}
	}
}

func TestChooseTokenMakesOneWithoutAnotherWayIn(t *testing.T) {
	for _, name := range []string{"TILTYARD_TOKEN", "TILTYARD_API_KEYS", "TILTYARD_JWKS"} {
		t.Setenv(name, "")
	}
	if token, made := chooseToken(); !made || len(token) < 20 {
		t.Errorf("got token %q, made %t; want a long one", token, made)
	}
	t.Setenv("TILTYARD_JWKS", "https://example.org/keys")
	if token, made := chooseToken(); made || token != "" {
		t.Errorf("got token %q although keys are configured", token)
	}
}

func TestServeFinishesRequestsWhenItEnds(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stop()
		time.Sleep(50 * time.Millisecond)
		_, _ = io.WriteString(w, "done")
	})
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, handler) }()
	response, err := http.Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "done" || response.Body.Close() != nil {
		t.Errorf("got %q, error %v", body, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

// workerProgram reports the messages as failed whose body is "bad".
const workerProgram = `package main

import (
	"context"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(_ context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		var failed events.SQSEventResponse
		for _, m := range event.Records {
			if m.Body == "bad" || m.EventSourceARN != "arn:queue" {
				failed.BatchItemFailures = append(failed.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
		}
		return failed, nil
	})
}
`

func newWorker(t *testing.T) *runtimeapi.Function {
	t.Helper()
	folder := t.TempDir()
	source, path := filepath.Join(folder, "main.go"), filepath.Join(folder, "bootstrap")
	if err := os.WriteFile(source, []byte(workerProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	worker := runtimeapi.New(runtimeapi.Config{Name: workerName, Bootstrap: path, Timeout: time.Minute, Instances: 1, Log: io.Discard})
	t.Cleanup(func() {
		if err := worker.Close(); err != nil {
			t.Error(err)
		}
	})
	return worker
}

// A fakeQueue answers as SQS does. It gives each message once.
type fakeQueue struct {
	mu      sync.Mutex
	waiting []string // bodies
	deleted []string // receipts
	idle    func()   // called when nothing is left to give
}

func (q *fakeQueue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var in struct{ ReceiptHandle string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	switch _, what, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); {
	case what == "DeleteMessage":
		q.deleted = append(q.deleted, in.ReceiptHandle)
		_, _ = io.WriteString(w, "{}")
	case len(q.waiting) == 0:
		q.idle()
		_, _ = io.WriteString(w, "{}")
	default:
		body := q.waiting[0]
		q.waiting = q.waiting[1:]
		_, _ = fmt.Fprintf(w, `{"Messages": [{"MessageId": "id of %[1]s", "ReceiptHandle": "receipt of %[1]s", "Body": "%[1]s"}]}`, body)
	}
}

func TestMessagesThatTheWorkerDidAreDeleted(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	fake := &fakeQueue{waiting: []string{"good", "bad", "better"}, idle: stop}
	server := httptest.NewServer(fake)
	defer server.Close()
	s := &stores{sqs: sqs.New(sqs.Options{
		BaseEndpoint: &server.URL, Region: "us-east-1", DisableMessageChecksumValidation: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
		}),
	})}
	s.poll(ctx, queue{url: server.URL + "/queue", arn: "arn:queue"}, newWorker(t), slog.New(slog.DiscardHandler))
	if want := []string{"receipt of good", "receipt of better"}; !slices.Equal(fake.deleted, want) {
		t.Errorf("got %v deleted, want %v: the other one comes again", fake.deleted, want)
	}
}

func TestFunctionsShareTheStores(t *testing.T) {
	s := &stores{name: "tiltyard-x", jobs: queue{url: "https://queue"}}
	for _, want := range []string{"TILTYARD_ROOT=s3://tiltyard-x", "TILTYARD_RECORDS=dynamodb://tiltyard-x", "TILTYARD_JOBS=https://queue"} {
		if !slices.Contains(s.environment(), want) {
			t.Errorf("the environment of functions lacks %s", want)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL", "")
	if _, err := openStores(t.Context(), "tiltyard-x"); err == nil || !strings.Contains(err.Error(), "AWS_ENDPOINT_URL") {
		t.Errorf("got error %v, want one that asks for AWS_ENDPOINT_URL", err)
	}
}

// A callable is a function of a test.
type callable func(ctx context.Context, event []byte) ([]byte, error)

// Invoke calls the function.
func (c callable) Invoke(ctx context.Context, event []byte) ([]byte, error) { return c(ctx, event) }

func TestFunctionsAreCalledByName(t *testing.T) {
	functions := map[string]gateway.Function{
		"echo": callable(func(_ context.Context, event []byte) ([]byte, error) { return append([]byte("got "), event...), nil }),
		"busy": callable(func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }),
		"long": callable(func(context.Context, []byte) ([]byte, error) { return make([]byte, maxEventBytes+1), nil }),
		"dead": callable(func(context.Context, []byte) ([]byte, error) {
			return nil, &runtimeapi.Error{Function: "dead", Message: `{"errorType":"Exit"}`}
		}),
		"none": callable(func(context.Context, []byte) ([]byte, error) { return nil, os.ErrNotExist }),
	}
	server := httptest.NewServer(invocations(functions))
	defer server.Close()
	for _, c := range []struct {
		name, event string
		status      int
		failed      string
		want        string
	}{
		{"echo", "{}", 200, "", "got {}"},
		{"busy", "{}", 429, "", "busy"},
		{"long", "{}", 200, "Unhandled", "ResponseSizeTooLarge"},
		{"dead", "{}", 200, "Unhandled", "Exit"},
		{"none", "{}", 500, "", "not exist"},
		{"lost", "{}", 404, "", "no function lost"},
		{"echo", strings.Repeat("x", maxEventBytes+1), 413, "", "too long"},
	} {
		answer, err := http.Post(server.URL+"/2015-03-31/functions/"+c.name+"/invocations", "application/json", strings.NewReader(c.event))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.Body.Close() != nil || answer.StatusCode != c.status || answer.Header.Get("X-Amz-Function-Error") != c.failed || !strings.Contains(string(body), c.want) {
			t.Errorf("%s: got %s, %q, %.80s (%v)", c.name, answer.Status, answer.Header.Get("X-Amz-Function-Error"), body, err)
		}
	}
}
