package boot

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/process/tracing/tracetest"
	"tiltyard/shared/protocol/namespaceapi"
)

// A request, also one that is refused, has a span with those of its storage requests below it, and its line the trace. Tokens and
// query strings are in none of them.
func TestTracesOfRequests(t *testing.T) {
	const token, parent = "a-token-of-a-client", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	t.Setenv(functionVariable, "namespace") // which sends spans at once
	c := tracetest.NewCollector(t)
	var log bytes.Buffer
	env, err := openFrom(t, &log, map[string]string{"token": token, "traces": c.URL, "metrics": "off"})
	if err != nil {
		t.Fatal(err)
	}
	handler := env.Handler(httpapi.JSON("DescribeNamespace", func(ctx context.Context, _ *namespaceapi.DescribeRequest) (*namespaceapi.DescribeResponse, error) {
		_, _, _ = env.Objects.Home().Store.Get(ctx, "some/key")
		return &namespaceapi.DescribeResponse{}, nil
	}))
	for _, key := range []string{token, "another-token"} {
		r := httptest.NewRequest(http.MethodPost, "/v1/namespace/sales/describe?filter=canary", strings.NewReader("{}"))
		r.Header.Set("x-api-key", key)
		r.Header.Set("traceparent", parent)
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	if err := env.Traces.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := c.Spans()
	if len(spans) != 3 {
		t.Fatalf("got %d spans, want 3: %+v", len(spans), spans)
	}
	read, served, refused := spans[0], spans[1], spans[2]
	if read.Parent != served.ID || read.Name != "store get" || read.Properties["store.key"] != "some/key" {
		t.Errorf("the read is %+v, below the request %s", read, served.ID)
	}
	for _, s := range []tracetest.Span{served, refused} {
		if s.Trace != parent[3:35] || s.Parent != parent[36:52] || s.Name != "DescribeNamespace" {
			t.Errorf("the request is %+v, want one below %s", s, parent)
		}
	}
	if served.Properties["http.response.status_code"] != "200" || served.Properties["tiltyard.object"] != "sales" || served.Properties["tiltyard.storage.reads"] != "1" {
		t.Errorf("the request has %v", served.Properties)
	}
	if refused.Properties["http.response.status_code"] != "401" || refused.Status != 0 {
		t.Errorf("the refused request has %v", refused.Properties)
	}
	text, err := json.Marshal(spans)
	if err != nil || bytes.Contains(text, []byte("canary")) || bytes.Contains(text, []byte("token")) {
		t.Errorf("the spans contain what they should not: %s", text)
	}
	if n := strings.Count(log.String(), `"trace_id":"`+parent[3:35]+`"`); n != 3 { // and one of the audit
		t.Errorf("%d lines have the trace, want 3:\n%s", n, log.String())
	}
}

// The sender of a request decides whether its trace is recorded, but not a stranger: the collector then gets no more than
// the share of the traces that begin here.
func TestStrangersDoNotDecideWhatIsRecorded(t *testing.T) {
	c := tracetest.NewCollector(t)
	var log bytes.Buffer
	env, err := openFrom(t, &log, map[string]string{"token": "known", "traces": c.URL, "traces-share": "0", "metrics": "off"})
	if err != nil {
		t.Fatal(err)
	}
	handler := env.Handler(httpapi.JSON("DescribeNamespace", func(context.Context, *namespaceapi.DescribeRequest) (*namespaceapi.DescribeResponse, error) {
		return &namespaceapi.DescribeResponse{}, nil
	}))
	for _, of := range []struct{ key, path, parent string }{
		{"unknown", "/v1/namespace/a/describe", "01"},
		{"", "/v1/namespace/b/describe", "01"},
		{"", "/v1/nothing", "01"},
		{"known", "/v1/namespace/d/describe", "00"},
		{"known", "/v1/namespace/e/describe", "01"},
	} {
		r := httptest.NewRequest(http.MethodPost, of.path, strings.NewReader("{}"))
		r.Header.Set("x-api-key", of.key)
		r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"+of.parent)
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	if err := env.Traces.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if spans := c.Spans(); len(spans) != 1 || spans[0].Properties["tiltyard.object"] != "e" {
		t.Errorf("recorded are %+v, want the one of the last request", spans)
	}
}

// Without a collector there is no tracer and no goroutine, stores are not wrapped, and what clients send is not looked at.
func TestOpenWithoutCollectorTracesNothing(t *testing.T) {
	var log bytes.Buffer
	env, err := openFrom(t, &log, map[string]string{"token": "t", "metrics": "off"})
	if err != nil {
		t.Fatal(err)
	}
	if env.Traces != nil {
		t.Error("there is a tracer")
	}
	root := env.Objects.Home()
	if tracedStore(env.Config, root) != root.Store || tracedRecords(env.Config, env.Records) != env.Records || tracedQueue(env.Config, env.Queue) != env.Queue {
		t.Error("a store is wrapped")
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/namespace/sales/describe", strings.NewReader("{}"))
	r.Header.Set("x-api-key", "t")
	r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	env.Handler().ServeHTTP(httptest.NewRecorder(), r)
	if strings.Contains(log.String(), "trace") || log.Len() == 0 {
		t.Errorf("the log is %s", log.String())
	}
}

// The settings have the variables that all programs with OpenTelemetry read, behind our own.
func TestReadTakesTheUsualVariablesOfTraces(t *testing.T) {
	t.Setenv("TILTYARD_ROOT", t.TempDir())
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b, authorization=Basic%20c")
	c, err := Read(Environment)
	if err != nil || c.Traces != "http://localhost:4318" || len(c.TracesHeaders) != 2 || c.TracesHeaders["x-key"] != "a b" || c.TracesHeaders["authorization"] != "Basic c" || c.TracesShare != 1 {
		t.Errorf("got %q, %v, %v (%v)", c.Traces, c.TracesHeaders, c.TracesShare, err)
	}
	t.Setenv("TILTYARD_TRACES", "https://collector.example.com/otlp/")
	if c, err = Read(Environment); err != nil || c.Traces != "https://collector.example.com/otlp/" {
		t.Errorf("got %q (%v)", c.Traces, err)
	}
	for name, texts := range map[string][]string{
		"traces":         {"localhost:4318", "grpc://h", "http://u:secret@h", "http://h?secret", "http://", "%"},
		"traces-share":   {"-0.1", "1.1", "NaN", "half"},
		"traces-headers": {"secret", "=secret", "a=secret%zz", "a b=secret", "a:=secret", "é=secret", "a=secret%0d%0ax: y", "a=secret%7f", "a=b,"},
	} {
		for _, s := range Settings {
			for _, text := range texts {
				if s.Name != name {
					continue
				}
				if err := s.Check(text); err == nil || strings.Contains(err.Error(), "secret") {
					t.Errorf("%s %q: got error %v", name, text, err)
				}
			}
		}
	}
}
