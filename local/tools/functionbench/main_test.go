package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"tiltyard/local/standins/runtimeapi"
)

// program appends a line for each start and each call to the file LOG. It answers with the status
// that the environment gives.
const program = `package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func note(what string) {
	f, err := os.OpenFile(os.Getenv("LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, os.Getenv("NAME"), what)
	if err := f.Close(); err != nil {
		panic(err)
	}
}

func main() {
	note("starts")
	lambda.Start(func(_ context.Context, in events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		note(in.RequestContext.HTTP.Method + " " + in.RawPath)
		status, err := strconv.Atoi(os.Getenv("STATUS"))
		return events.APIGatewayV2HTTPResponse{StatusCode: status}, err
	})
}
`

// newPrograms returns two functions of one program, and the file of what they did.
func newPrograms(t *testing.T, status string) (ours, bare runtimeapi.Config, log string) {
	t.Helper()
	folder := t.TempDir()
	source, path, log := filepath.Join(folder, "main.go"), filepath.Join(folder, "bootstrap"), filepath.Join(folder, "log")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	config := func(name string) runtimeapi.Config {
		return runtimeapi.Config{
			Name: name, Bootstrap: path, Timeout: time.Minute, Instances: 1, Log: quiet{},
			Env: []string{"LOG=" + log, "NAME=" + name, "STATUS=" + status},
		}
	}
	return config("ours"), config("bare"), log
}

func lines(t *testing.T, log string) []string {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func TestColdStartsTakeTurns(t *testing.T) {
	ours, bare, log := newPrograms(t, "200")
	o, n, err := coldStarts(t.Context(), 2, event("GET", "/x"), ours, bare)
	if err != nil || len(o) != 2 || len(n) != 2 {
		t.Fatalf("got %d and %d times, error %v; want 2 and 2", len(o), len(n), err)
	}
	turn := []string{"ours starts", "ours GET /x", "bare starts", "bare GET /x"}
	if got, want := lines(t, log), slices.Concat(turn, turn); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWarmCallsReachOneProcess(t *testing.T) {
	ours, bare, log := newPrograms(t, "200")
	o, n, err := warmCalls(t.Context(), 10, event("GET", "/x"), ours, bare)
	if err != nil || len(o) != 10 || len(n) != 10 {
		t.Fatalf("got %d and %d times, error %v; want 10 and 10", len(o), len(n), err)
	}
	count := map[string]int{}
	for _, line := range lines(t, log) {
		count[line]++
	}
	// The first tenth does not count.
	if count["ours starts"] != 1 || count["bare starts"] != 1 || count["ours GET /x"] != 11 || count["bare GET /x"] != 11 {
		t.Errorf("got %v, want one start and 11 calls of each", count)
	}
}

func TestColdStartsEndAtABadAnswer(t *testing.T) {
	ours, bare, _ := newPrograms(t, "503")
	if _, _, err := coldStarts(t.Context(), 1, event("GET", "/x"), ours, bare); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("got error %v, want one with the answer", err)
	}
}

func TestEventsAreThoseOfAGateway(t *testing.T) {
	var in events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(event("POST", "/v1/table/t/describe"), &in); err != nil {
		t.Fatal(err)
	}
	if in.Version != "2.0" || in.RequestContext.HTTP.Method != "POST" || in.RawPath != "/v1/table/t/describe" ||
		in.Body != "{}" || in.Headers["authorization"] != "Bearer "+token {
		t.Errorf("got %+v", in)
	}
}

func TestQuantiles(t *testing.T) {
	took := []time.Duration{5 * time.Millisecond, time.Millisecond, 3 * time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond}
	for q, want := range map[float64]float64{0: 1, 0.5: 3, 0.95: 4, 1: 5} {
		if got := millis(slices.Clone(took), q); got != want {
			t.Errorf("quantile %v: got %v ms, want %v", q, got, want)
		}
	}
}

func TestFunctionsReadTheBucketThatWasMade(t *testing.T) {
	var made string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { made = r.Method + " " + r.URL.Path }))
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
	} {
		t.Setenv(name, value)
	}
	env, err := makeBucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bucket, ok := strings.CutPrefix(made, "PUT /")
	if !ok || !slices.Contains(env, "TILTYARD_ROOT=s3://"+bucket) || !slices.Contains(env, "BENCH_BUCKET="+bucket) || !slices.Contains(env, "TILTYARD_TOKEN="+token) {
		t.Errorf("the request %q made a bucket that the environment lacks", made)
	}
}
