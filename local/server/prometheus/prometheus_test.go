package prometheus_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"tiltyard/local/server/prometheus"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/rangecache"
)

func TestMetricsPageCountsServedRequests(t *testing.T) {
	requests := memory.NewBudget(1000, 800)
	m := prometheus.New(`1.0 "quoted"`, time.Unix(1_700_000_000, 0), requests, func() dataset.CacheUsage {
		return dataset.CacheUsage{Hits: 70, Misses: 30, HeldBytes: 500, LimitBytes: 600}
	}, func() rangecache.Usage { return rangecache.Usage{Disk: 7, Bucket: 8, Store: 9, Kept: 10} })
	query, _ := operations.Lookup("QueryTable")
	m.Observe(&httpapi.Served{Operation: query, Status: 200, Duration: 3 * time.Millisecond, Received: 10, Sent: 100, Storage: new(objectstore.Usage)})
	m.Observe(&httpapi.Served{Operation: query, Status: 200, Duration: 5 * time.Millisecond, Storage: new(objectstore.Usage)})
	m.Observe(&httpapi.Served{Operation: query, Status: 404, Code: "table-not-found", Duration: 2 * time.Minute, Storage: new(objectstore.Usage)})
	m.Observe(&httpapi.Served{Status: 404, Code: "no-such-operation", Storage: new(objectstore.Usage)})
	share := requests.Open()
	if !share.Try(700) {
		t.Fatal("no memory")
	}
	share.Give(300)
	var out bytes.Buffer
	m.Write(&out)
	for _, want := range []string{
		"# TYPE tiltyard_requests_total counter\n",
		`tiltyard_requests_total{operation="QueryTable",status="200",code=""} 2` + "\n",
		`tiltyard_requests_total{operation="QueryTable",status="404",code="table-not-found"} 1` + "\n",
		`tiltyard_requests_total{operation="none",status="404",code="no-such-operation"} 1` + "\n",
		`tiltyard_request_duration_seconds_bucket{operation="QueryTable",le="0.0025"} 0` + "\n",
		`tiltyard_request_duration_seconds_bucket{operation="QueryTable",le="0.005"} 2` + "\n", // the bound is within
		`tiltyard_request_duration_seconds_bucket{operation="QueryTable",le="60"} 2` + "\n",
		`tiltyard_request_duration_seconds_bucket{operation="QueryTable",le="+Inf"} 3` + "\n",
		`tiltyard_request_duration_seconds_sum{operation="QueryTable"} 120.008` + "\n",
		`tiltyard_request_duration_seconds_count{operation="QueryTable"} 3` + "\n",
		`tiltyard_body_bytes_total{operation="QueryTable",direction="out"} 100` + "\n",
		`tiltyard_build_info{version="1.0 \"quoted\""} 1` + "\n",
		"process_start_time_seconds 1.7e+09\n",
		"tiltyard_memory_held_bytes 400\n",
		"tiltyard_memory_peak_bytes 700\n",
		"tiltyard_memory_limit_bytes 1000\n",
		"tiltyard_memory_refused_total 0\n",
		"# TYPE tiltyard_cache_hits_total counter\ntiltyard_cache_hits_total 70\n",
		"tiltyard_cache_misses_total 30\n",
		"tiltyard_cache_held_bytes 500\n",
		"tiltyard_cache_limit_bytes 600\n",
		`tiltyard_ranges_total{from="disk"} 7` + "\n",
		`tiltyard_ranges_total{from="bucket"} 8` + "\n",
		`tiltyard_ranges_total{from="store"} 9` + "\n",
		"tiltyard_ranges_kept_total 10\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page lacks %s\n%s", want, &out)
		}
	}
	form := regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z]+="[^"\\]*(\\.[^"\\]*)*",?)+\})? [-+.e0-9]+)$`)
	for line := range strings.Lines(out.String()) {
		if !form.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("line %q is not of the format", line)
		}
	}
}
