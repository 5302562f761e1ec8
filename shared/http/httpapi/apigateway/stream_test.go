package apigateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// prelude is what is in front of the body of a streamed answer, before eight zeros.
type prelude struct {
	StatusCode        int                 `json:"statusCode"`
	Headers           map[string]string   `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
}

// startStream lets a handler answer an event, and reads up to the body.
func startStream(t *testing.T, f *Function, payload string) (prelude, io.Reader) {
	t.Helper()
	answer, err := f.Stream(t.Context(), json.RawMessage(payload))
	if err != nil {
		t.Fatalf("Stream: %v", err)
	}
	closer, ok := answer.(io.Closer)
	if !ok {
		t.Fatalf("the answer is a %T, which nobody can close", answer)
	}
	t.Cleanup(func() { _ = closer.Close() })
	if kind := answer.(interface{ ContentType() string }).ContentType(); kind != "application/vnd.awslambda.http-integration-response" {
		t.Errorf("the answer is sent as %s", kind)
	}
	var text []byte
	one := iotest.OneByteReader(answer)
	for !bytes.HasSuffix(text, make([]byte, 8)) {
		var b [1]byte
		if _, err := io.ReadFull(one, b[:]); err != nil {
			t.Fatalf("after %q: %v", text, err)
		}
		text = append(text, b[0])
	}
	var p prelude
	if err := json.Unmarshal(text[:len(text)-8], &p); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return p, answer
}

func TestAnswersAreReadWhileTheyAreWritten(t *testing.T) {
	for name, payload := range map[string]string{"function URL": functionURLEvent, "REST API": restAPIEvent} {
		t.Run(name, func(t *testing.T) {
			read := make(chan struct{})
			handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/vnd.apache.arrow.file")
				w.Header().Add("X-Two", "1")
				w.Header().Add("X-Two", "2")
				w.WriteHeader(http.StatusAccepted)
				w.Header().Set("X-Late", "1")
				_, _ = io.WriteString(w, "\x00first")
				<-read
				_, _ = io.WriteString(w, "second")
			})
			p, body := startStream(t, New(handler), payload)
			two := p.Headers["X-Two"] == "1,2" || len(p.MultiValueHeaders["X-Two"]) == 2
			late := p.Headers["X-Late"] != "" || p.MultiValueHeaders["X-Late"] != nil
			if p.StatusCode != http.StatusAccepted || !two || late {
				t.Errorf("prelude %+v", p)
			}
			first := make([]byte, 6)
			if _, err := io.ReadFull(body, first); err != nil || string(first) != "\x00first" {
				t.Fatalf("first %q, %v", first, err)
			}
			close(read)
			if rest, err := io.ReadAll(body); err != nil || string(rest) != "second" {
				t.Errorf("then %q, %v", rest, err)
			}
		})
	}
}

// Gateways that take whole answers get whole answers.
func TestStreamAnswersOtherGatewaysWhole(t *testing.T) {
	for name, payload := range map[string]string{"HTTP API": httpAPIEvent, "load balancer": albEvent} {
		answer, err := New(echo(&seen{}, "text/plain", []byte("all"))).Stream(t.Context(), json.RawMessage(payload))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// What runs functions answers the JSON of a reader that has any in place of its bytes.
		if text, err := json.Marshal(answer); err != nil || string(text) != "{}" {
			t.Errorf("%s: the reader is %s as JSON, %v", name, text, err)
		}
		var got events.APIGatewayV2HTTPResponse
		if err := json.NewDecoder(answer).Decode(&got); err != nil || got.StatusCode != http.StatusAccepted || got.Body != "all" {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestStreamsMayBeLargerThanEvents(t *testing.T) {
	const most = 10 << 20
	piece := make([]byte, 1<<20)
	cases := []struct {
		name     string
		declared int // Content-Length; 0: none
		pieces   int
		status   int
		whole    bool
	}{
		{"more than an event holds", 0, 9, http.StatusOK, true},
		{"the most there can be", most, 10, http.StatusOK, true},
		{"too much, which is known", most + 1, 11, http.StatusRequestEntityTooLarge, true},
		{"too much, which shows", 0, 11, http.StatusOK, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.declared > 0 {
					w.Header().Set("Content-Length", strconv.Itoa(c.declared))
				}
				for range c.pieces {
					if _, err := w.Write(piece); err != nil {
						panic(http.ErrAbortHandler)
					}
				}
			})
			f := New(handler)
			f.streamBytes = most
			p, body := startStream(t, f, functionURLEvent)
			n, err := io.Copy(io.Discard, body)
			if p.StatusCode != c.status || (err == nil) != c.whole {
				t.Fatalf("status %d, %d bytes, %v", p.StatusCode, n, err)
			}
			if want := int64(c.pieces * len(piece)); c.status == http.StatusOK && c.whole && n != want {
				t.Errorf("%d bytes, want %d", n, want)
			}
		})
	}
}

func TestStreamsThatBreakOff(t *testing.T) {
	for _, written := range []string{"", "half an answ"} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if written != "" {
				_, _ = io.WriteString(w, written)
			}
			panic(http.ErrAbortHandler)
		})
		p, body := startStream(t, New(handler), functionURLEvent)
		text, err := io.ReadAll(body)
		if written == "" && (p.StatusCode != http.StatusInternalServerError || err != nil || !strings.Contains(string(text), `"code":18`)) {
			t.Errorf("before it began: status %d, %q, %v, want an error response", p.StatusCode, text, err)
		}
		if written != "" && (p.StatusCode != http.StatusOK || !errors.Is(err, errBrokenOff) || string(text) != written) {
			t.Errorf("after %q: status %d, %q, %v", written, p.StatusCode, text, err)
		}
	}
}

func TestStreamEndsItsHandlerWhenNobodyReads(t *testing.T) {
	ended := false
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer func() { ended = true }()
		for {
			if _, err := io.WriteString(w, "more"); err != nil {
				panic(http.ErrAbortHandler)
			}
		}
	})
	answer, err := New(handler).Stream(t.Context(), json.RawMessage(functionURLEvent))
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.(io.Closer).Close(); err != nil || !ended {
		t.Errorf("closed with %v, the handler has ended: %v", err, ended)
	}
}

func TestTimeIsLeftToEndAStream(t *testing.T) {
	end := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	var got time.Time
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		if got, _ = r.Context().Deadline(); r.Context().Err() != nil {
			t.Error("the request is over before its answer")
		}
	})
	answer, err := New(handler).Stream(ctx, json.RawMessage(functionURLEvent))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, answer); err != nil || !got.Equal(end.Add(-answerMargin)) {
		t.Errorf("deadline %v, want %v; %v", got, end.Add(-answerMargin), err)
	}
}
