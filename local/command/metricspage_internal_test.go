package command

import (
	"strings"
	"testing"
	"time"
)

// The hit rate is that of the lookups between two pages, and that of all lookups after a restart.
func TestHitRateIsOfTheInterval(t *testing.T) {
	page := func(start, hits, misses string) metricsPage {
		read, err := parseMetrics([]byte("process_start_time_seconds " + start + "\ntiltyard_cache_limit_bytes 1000\ntiltyard_cache_hits_total " + hits + "\ntiltyard_cache_misses_total " + misses + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		read.read = time.Unix(100, 0)
		return read
	}
	for _, c := range []struct {
		before, now metricsPage
		want        string
	}{
		{metricsPage{}, page("5", "30", "10"), "75.0 % of 40 lookups were hits"},
		{page("5", "30", "10"), page("5", "31", "13"), "25.0 % of 4 lookups were hits"},
		{page("5", "30", "10"), page("9", "31", "1"), "96.9 % of 32 lookups were hits"},
		{page("5", "30", "10"), page("5", "30", "10"), "no lookups"},
	} {
		if got := loadOf(c.before, c.now).Cache.String(); !strings.HasSuffix(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if got := loadOf(metricsPage{}, metricsPage{}).Cache; got != nil {
		t.Errorf("of a server without a cache: %v", got)
	}
}

// A page of metrics becomes operations with times in the range of their buckets, or an error.
func FuzzMetrics(f *testing.F) {
	f.Add([]byte("# TYPE a counter\na 1\nb{c=\"d\\\"\",e=\"\"} 2\n"))
	f.Add([]byte("tiltyard_request_duration_seconds_bucket{operation=\"Q\",le=\"0.5\"} 1\ntiltyard_request_duration_seconds_bucket{operation=\"Q\",le=\"+Inf\"} 2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		page, err := parseMetrics(text)
		if err != nil {
			return
		}
		for name, operation := range page.operations {
			if operation.count() > 0 && len(operation.buckets) == 0 {
				t.Errorf("%s has requests without times", name)
			}
			_ = operation.quantile(operationMetrics{}, 0.5)
		}
	})
}
