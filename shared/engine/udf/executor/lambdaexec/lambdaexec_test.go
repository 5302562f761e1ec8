package lambdaexec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/executor"
	"tiltyard/shared/engine/udf/executor/executortest"
	"tiltyard/shared/engine/udf/executor/lambdaexec"
	"tiltyard/shared/protocol"
)

const arn = "arn:aws:lambda:eu-central-1:123456789012:function:run"

func TestLambda(t *testing.T) {
	executortest.Run(t, func(t *testing.T, peer string) (executor.Config, executor.Options) {
		return serve(t, func(w http.ResponseWriter, r *http.Request) { answer(t, w, r, peer) })
	})
}

// serve starts a server that stands in for Lambda.
func serve(t *testing.T, handler http.HandlerFunc) (executor.Config, executor.Options) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	open := func(arn string) (executor.Carrier, error) {
		return lambdaexec.New(aws.Config{
			Region: "eu-central-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		}, arn, nil, ""), nil
	}
	return executor.Config{Address: "lambda:" + arn}, executor.Options{Lambda: open}
}

// refuse answers as Lambda does without calling the function.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Amzn-Errortype", code)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"Type":"User","Message":"%s"}`, code)
}

// answer invokes a peer.
func answer(t *testing.T, w http.ResponseWriter, r *http.Request, peer string) {
	if path, err := url.PathUnescape(r.URL.EscapedPath()); err != nil || path != "/2015-03-31/functions/"+arn+"/invocations" || !strings.Contains(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256") {
		t.Errorf("got %s with %v", r.URL, r.Header)
	}
	var event struct {
		Format int            `json:"tiltyard"`
		Call   *executor.Call `json:"call"`
		Arrow  []byte         `json:"arrow"`
	}
	if err := json.NewDecoder(r.Body).Decode(&event); err != nil || event.Format != 1 {
		return // the service has ended the call
	}
	reply := executortest.Answer(peer, event.Call, event.Arrow)
	payload, err := json.Marshal(map[string][]byte{"arrow": append([]byte{}, reply.Stream...)})
	if reply.Fault != nil {
		payload, err = json.Marshal(reply.Fault)
	}
	switch {
	case err != nil:
		t.Error(err)
	case reply.Overloaded:
		refuse(w, []int{429, 500, 502, 503, 429}[event.Call.Attempt-1], "TooManyRequestsException")
	case reply.Cut:
		w.Header().Set("Content-Length", fmt.Sprint(len(payload)))
		_, _ = w.Write(payload[:len(payload)/2])
		panic(http.ErrAbortHandler)
	case reply.Drip:
		// It begins late, because the AWS client closes the request as soon as an answer begins, and drops the
		// connection if it has not quite finished sending by then.
		for i := 0; ; i++ {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
			_, _ = w.Write(payload[i : i+1])
			_ = http.NewResponseController(w).Flush()
		}
	default:
		_, _ = w.Write(payload) // fails when the service has had enough
	}
}

// call calls a function for one row, with the reply of a stand-in.
func call(t *testing.T, handler http.HandlerFunc) (udf.Result, error) {
	t.Helper()
	c, o := serve(t, handler)
	c.Name, c.Concurrency, c.Timeout, c.PayloadBytes = "e", 1, time.Minute, 4<<20
	set, err := executor.Open([]executor.Config{c}, o)
	if err != nil {
		t.Fatal(err)
	}
	field := []arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64}}
	caller, err := set.Open(t.Context(), udf.Spec{Name: "f", Runtime: []byte(`{"kind":"executor","executor":"e"}`), Inputs: field, Outputs: field})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(field, nil))
	b.Field(0).(*array.Int64Builder).Append(1)
	return caller.Call(t.Context(), b.NewRecordBatch())
}

func TestInvocationsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		kind    string // of the failure of the row, or else
		detail  string // of the error
	}{
		"function fails": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			_, _ = w.Write([]byte(`{"errorMessage":"Task timed out after 3.00 seconds"}`))
		}, kind: executor.Crashed},
		"large response": {handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			_, _ = w.Write([]byte(`{"errorType":"Function.ResponseSizeTooLarge","errorMessage":"Response payload size exceeded maximum allowed payload size (6291556 bytes)."}`))
		}, kind: executor.TooLarge},
		"not stored": {handler: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"stored":true}`)) }, kind: executor.Malformed},
		"no object":  {handler: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`"hello"`)) }, kind: executor.Malformed},
		"too large":  {handler: func(w http.ResponseWriter, _ *http.Request) { refuse(w, 413, "RequestTooLargeException") }, kind: executor.TooLarge},
		"endless": {handler: func(w http.ResponseWriter, r *http.Request) {
			// No function answers before the client has ended its request. The client would take that for a
			// broken connection, and call again.
			_, _ = io.Copy(io.Discard, r.Body)
			time.Sleep(100 * time.Millisecond)
			_, _ = w.Write(make([]byte, 32<<20))
		}, kind: executor.TooLarge},
		"not permitted": {handler: func(w http.ResponseWriter, _ *http.Request) { refuse(w, 403, "AccessDeniedException") }, detail: "AccessDeniedException"},
		"not found":     {handler: func(w http.ResponseWriter, _ *http.Request) { refuse(w, 404, "ResourceNotFoundException") }, detail: "ResourceNotFoundException"},
		"redirect":      {handler: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) }, detail: "does not call"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			got, err := call(t, func(w http.ResponseWriter, r *http.Request) {
				calls++
				c.handler(w, r)
			})
			detail := ""
			if wrong := new(protocol.Error); errors.As(err, &wrong) {
				detail = wrong.Detail
			}
			if c.kind != "" && (err != nil || len(got.Failed) != 1 || got.Failed[0].Type != c.kind) || c.detail != "" && !strings.Contains(detail, c.detail) || calls != 1 {
				t.Errorf("got %v, %v after %d calls", got, err, calls)
			}
		})
	}
}
