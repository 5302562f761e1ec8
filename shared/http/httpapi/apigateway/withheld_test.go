package apigateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/aws/aws-lambda-go/events"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/queryapi"
)

type anyone struct{}

func (anyone) Verify(context.Context, string) (*auth.Principal, error) {
	return &auth.Principal{Subject: "ada", Scopes: []string{auth.ScopeRead}}, nil
}

// pieces answers queries with batches of 1 MiB, the last of which may be an error.
func pieces(n int, last error) httpapi.Route {
	return httpapi.Arrow("QueryTable", func(context.Context, *queryapi.Request) (*protocol.Rows, error) {
		schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.BinaryTypes.Binary}}, nil)
		return &protocol.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) {
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			for range n {
				b.Field(0).(*array.BinaryBuilder).Append(make([]byte, 1<<20))
				if !yield(b.NewRecordBatch(), nil) {
					return
				}
			}
			if last != nil {
				yield(nil, last)
			}
		}}, nil
	})
}

// The line of a request has the status and the code that the client gets, also when its response is replaced or breaks off.
func TestLogHasTheStatusThatTheClientGets(t *testing.T) {
	const query = `{
		"version": "2.0", "rawPath": "/v1/table/a/query", "headers": {"authorization": "Bearer t", "content-type": "application/json"},
		"requestContext": {"domainName": "x.lambda-url.us-east-1.on.aws", "http": {"method": "POST", "path": "/v1/table/a/query", "sourceIp": "192.0.2.1"}}, "body": "{\"k\":0,\"vector\":[]}"
	}`
	broken := errors.New("a disk is gone")
	type want struct {
		status int
		code   string
		level  string
		rows   float64 // 0: the line has none
		cut    bool
	}
	for name, c := range map[string]struct {
		pieces  int
		last    error
		whole   want
		streams want
	}{
		"small":                   {1, nil, want{200, "", "INFO", 1, false}, want{200, "", "INFO", 1, false}},
		"too large in base64":     {5, nil, want{413, "response-too-large", "INFO", 0, false}, want{200, "", "INFO", 5, false}},
		"too large":               {7, nil, want{413, "response-too-large", "INFO", 0, false}, want{200, "", "INFO", 7, false}},
		"too large for a stream":  {9, nil, want{413, "response-too-large", "INFO", 0, false}, want{200, "internal", "INFO", 8, true}},
		"broken":                  {2, broken, want{500, "internal", "ERROR", 0, false}, want{200, "internal", "ERROR", 2, true}},
		"broken before the start": {0, broken, want{500, "internal", "ERROR", 0, false}, want{500, "internal", "ERROR", 0, false}},
	} {
		for way, want := range map[string]want{"whole": c.whole, "stream": c.streams} {
			t.Run(name+" "+way, func(t *testing.T) {
				var log bytes.Buffer
				handler := httpapi.Handler([]httpapi.Route{pieces(c.pieces, c.last)}, httpapi.Options{
					Verifier: anyone{}, Logger: slog.New(slog.NewJSONHandler(&log, nil)),
				})
				status := 0
				if way == "whole" {
					status = invoke[events.APIGatewayV2HTTPResponse](t, handler, query).StatusCode
				} else {
					f := New(handler)
					f.streamBytes = 8<<20 + 1<<19
					begun, body := startStream(t, f, query)
					status = begun.StatusCode
					if _, err := io.Copy(io.Discard, body); (err != nil) != want.cut {
						t.Errorf("the client reads until %v", err)
					}
					_ = body.(io.Closer).Close() // waits for the line
				}
				var line struct {
					Level   string
					Msg     string
					Status  int
					Code    string
					RowsOut float64 `json:"rows_out"`
					Cut     bool
				}
				if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.Msg != "request" {
					t.Fatalf("the log is %s (%v)", log.String(), err)
				}
				if status != want.status || line.Status != status || line.Code != want.code || line.Level != want.level || line.Cut != want.cut {
					t.Errorf("the client gets %d and the line is %s, want %+v", status, log.String(), want)
				}
				if line.RowsOut != want.rows {
					t.Errorf("the line has %v rows, want %v", line.RowsOut, want.rows)
				}
			})
		}
	}
}

// A response whose length is known to be too large is replaced before a stream begins.
func TestLogHasTheRefusalOfAStream(t *testing.T) {
	s := &stream{header: http.Header{"Content-Length": {"9"}}, left: 8, request: &http.Request{}, begun: make(chan struct{})}
	body, pipe := io.Pipe()
	s.pipe, s.body = pipe, body
	go func() { _, _ = io.Copy(io.Discard, body) }()
	if status, _ := s.Withheld(true); status != http.StatusInternalServerError {
		t.Errorf("before its start the client gets %d", status)
	}
	s.request = mustRequest(t)
	s.WriteHeader(http.StatusOK)
	if status, code := s.Withheld(false); status != http.StatusRequestEntityTooLarge || code != codeTooLarge {
		t.Errorf("the log has %d %q", status, code)
	}
}

func mustRequest(t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/table/a/query", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
