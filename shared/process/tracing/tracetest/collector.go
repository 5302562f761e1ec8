// Package tracetest is a collector of traces for tests.
package tracetest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// A Collector stores the spans that it receives. A tracer sends them to its URL.
type Collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []Span
}

// A Span is a received span.
type Span struct {
	Trace, ID, Parent, Name string
	Kind, Status            int
	Properties              map[string]string
}

// NewCollector starts a collector that ends with the test.
func NewCollector(t *testing.T) *Collector {
	c := new(Collector)
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP takes spans in JSON, and refuses anything else.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					TraceID, SpanID, ParentSpanID, Name string
					StartTimeUnixNano, EndTimeUnixNano  string
					Kind                                int
					Attributes                          []struct {
						Key   string
						Value struct{ StringValue, IntValue string }
					}
					Status struct{ Code int }
				}
			}
		}
	}
	decoder := json.NewDecoder(r.Body)
	if err := decoder.Decode(&body); err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range body.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				span := Span{Trace: s.TraceID, ID: s.SpanID, Parent: s.ParentSpanID, Name: s.Name, Kind: s.Kind, Status: s.Status.Code, Properties: map[string]string{}}
				for _, a := range s.Attributes {
					span.Properties[a.Key] = a.Value.StringValue + a.Value.IntValue
				}
				c.spans = append(c.spans, span)
			}
		}
	}
}

// Spans returns the spans so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// ByName returns the spans by name. A duplicate name is an error.
func (c *Collector) ByName(t *testing.T) map[string]Span {
	t.Helper()
	spans := map[string]Span{}
	for _, s := range c.Spans() {
		if _, taken := spans[s.Name]; taken {
			t.Errorf("two spans are called %q", s.Name)
		}
		spans[s.Name] = s
	}
	return spans
}
