package command_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"tiltyard/local/command"
)

// withMetrics answers GET /metrics with a text.
func withMetrics(text string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/metrics" {
				_, _ = io.WriteString(w, text)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func TestTopShowsRequestsMemoryAndJobs(t *testing.T) {
	serve(t, withMetrics(fmt.Sprintf(`# TYPE tiltyard_requests_total counter
tiltyard_requests_total{operation="QueryTable",status="200",code=""} 90
tiltyard_requests_total{operation="QueryTable",status="404",code="table-not-found"} 10
tiltyard_request_duration_seconds_bucket{operation="QueryTable",le="0.01"} 50
tiltyard_request_duration_seconds_bucket{operation="QueryTable",le="0.02"} 90
tiltyard_request_duration_seconds_bucket{operation="QueryTable",le="0.04"} 100
tiltyard_request_duration_seconds_bucket{operation="QueryTable",le="+Inf"} 100
tiltyard_request_duration_seconds_bucket{operation="ListTables",le="0.01"} 0
tiltyard_request_duration_seconds_bucket{operation="ListTables",le="+Inf"} 4
tiltyard_body_bytes_total{operation="QueryTable",direction="out"} 100
tiltyard_build_info{version="1.0 \"quoted\""} 1
process_start_time_seconds %d
tiltyard_memory_held_bytes 1536
tiltyard_memory_limit_bytes 1.073741824e+09
tiltyard_cache_hits_total 90
tiltyard_cache_misses_total 30
tiltyard_cache_held_bytes 2048
tiltyard_cache_limit_bytes 1048576
`, time.Now().Add(-1000*time.Second).Unix())))
	must(t, "insert", "p", points(t), "--create")
	got := must(t, "top", "-o", "json")
	var found struct {
		Release    string
		Uptime     float64 `json:"uptime_seconds"`
		Operations []struct {
			Operation        string
			Requests, Failed float64
			PerSecond        float64 `json:"requests_per_second"`
			P50              float64 `json:"p50_ms"`
			P95              float64 `json:"p95_ms"`
		}
		Memory struct{ Held, Limit float64 }
		Cache  struct {
			Held, Limit, Hits, Misses float64
			HitRate                   float64 `json:"hit_rate"`
		}
		Jobs []any
	}
	if err := json.Unmarshal([]byte(got), &found); err != nil || strings.Count(got, "\n") != 1 {
		t.Fatalf("%v: %s", err, got)
	}
	if found.Release != `1.0 "quoted"` || found.Uptime < 1000 || found.Memory.Held != 1536 || found.Memory.Limit != 1<<30 || found.Jobs == nil || len(found.Operations) != 2 {
		t.Fatalf("the load is %s", got)
	}
	if c := found.Cache; c.Held != 2048 || c.Limit != 1<<20 || c.Hits != 90 || c.Misses != 30 || c.HitRate != 0.75 {
		t.Errorf("the cache is %+v", c)
	}
	// Half of the queries are in the first bucket, and 95 of 100 in the middle of the third.
	if q := found.Operations[0]; q.Operation != "QueryTable" || q.Requests != 100 || q.Failed != 10 || q.P50 != 10 || q.P95 != 30 || q.PerSecond > 0.1 {
		t.Errorf("queries are %+v", q)
	}
	if l := found.Operations[1]; l.Operation != "ListTables" || l.Requests != 4 || l.P50 != 10 {
		t.Errorf("lists are %+v", l)
	}
	text := must(t, "top", "--once")
	for _, want := range []string{"tiltyard 1.0 \"quoted\", up 16m", "hold 1.5 KiB of 1.0 GiB", "cache holds 2 KiB of 1 MiB; 75.0 % of 120 lookups were hits", "QueryTable  100", "no jobs run"} {
		if !strings.Contains(text, want) {
			t.Errorf("the view lacks %q:\n%s", want, text)
		}
	}
}

func TestTopNeedsMetrics(t *testing.T) {
	for text, want := range map[string]string{"a": "line 1 of the metrics has no value", "a x": "line 1", `a{b="c} 1`: "labels of a", `tiltyard_request_duration_seconds_bucket{le="x"} 1`: "le"} {
		serve(t, withMetrics(text))
		if _, stderr, code := tiltyard(t, "", "top", "--once"); code != command.ExitFailed || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s; want %s", text, code, stderr, want)
		}
	}
	setUp(t)
	if _, stderr, code := tiltyard(t, "", "top", "--once"); code == 0 {
		t.Errorf("without metrics: %s", stderr)
	}
	if _, _, code := tiltyard(t, "", "top", "--interval", "1ms"); code != command.ExitUsage {
		t.Errorf("with a short interval: exit code %d", code)
	}
}
