package tracing

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A silent is a collector that takes requests and does not answer.
type silent struct{ requests, bytes int64 }

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	n, _ := io.Copy(io.Discard, r.Body)
	s.requests, s.bytes = s.requests+1, s.bytes+n
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// An unresponsive collector never delays a server, and delays a function once in half a minute. The number
// of waiting spans is bounded, and spans are dropped beyond it.
func TestCollectorThatIsSilentDelaysNobody(t *testing.T) {
	for function, want := range map[string]time.Duration{"": 0, "query": restTimeout} {
		synctest.Test(t, func(t *testing.T) {
			var lines bytes.Buffer
			tracer := Open(Options{Collector: "http://collector", Share: 1, Function: function, Logger: slog.New(slog.NewJSONHandler(&lines, nil))})
			collector := new(silent)
			tracer.sender.client.Transport = collector
			key, began := strings.Repeat("k", 2*maxTextBytes), time.Now()
			for range 200 {
				ctx, request := tracer.Request(t.Context(), nil)
				for range 100 {
					_, call := Start(ctx, "call", Client)
					call.Text("store.key", key)
					call.End()
				}
				request.End()
				tracer.Rest(ctx)
			}
			if took := time.Since(began); took != want {
				t.Errorf("function %q: 200 requests wait for %v, want %v", function, took, want)
			}
			if got := len(tracer.sender.spans); got != queueSize {
				t.Errorf("%d spans of 20200 wait, want %d", got, queueSize)
			}
			time.Sleep(5 * time.Minute) // the sender handles the waiting spans, and is then idle
			synctest.Wait()
			if got := len(tracer.sender.spans); got != 0 {
				t.Errorf("%d spans wait still", got)
			}
			if collector.requests < 2 || collector.bytes > collector.requests*batchSize*(maxTextBytes+1<<10) {
				t.Errorf("the collector got %d bytes in %d requests", collector.bytes, collector.requests)
			}
			if err := tracer.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if text := lines.String(); strings.Count(text, "\n") != 1 {
				t.Errorf("the log is %q, want one line", text)
			}
		})
	}
}
