// Package prometheus collects the metrics of the local server and writes them in the text format of
// Prometheus. It does not use the official client, which would add protobuf and a dozen packages
// for five counters and a histogram.
//
// The format: prometheus.io, "Text-based format", version 0.0.4.
package prometheus

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync"
	"time"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore/rangecache"
)

// bounds are the upper bounds of the duration buckets in seconds. They range from one request to
// memory to the largest uploads.
var bounds = [...]float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60}

// Metrics contains the metrics of one process. It is safe for concurrent use.
type Metrics struct {
	release string
	started time.Time
	memory  *memory.Budget
	cache   func() dataset.CacheUsage
	ranges  func() rangecache.Usage

	mu       sync.Mutex
	answers  map[answer]int64
	measured map[string]*measured // by operation
}

// An answer is the key by which responses are counted. All values come from fixed tables, so that
// clients cannot make the number of keys grow.
type answer struct {
	operation string
	status    int
	code      string
}

// measured contains the sums of one operation.
type measured struct {
	buckets                     [len(bounds) + 1]int64 // not cumulative; the last bucket has no upper bound
	seconds                     float64
	received, sent              int64
	reads, writes               int64 // requests to storage
	storageRead, storageWritten int64 // bytes
}

// New returns metrics of a program that started at now. They include its release, the memory that
// requests and jobs use, and the usage of the cache of table data and of that of ranges of files.
func New(release string, now time.Time, memory *memory.Budget, cache func() dataset.CacheUsage, ranges func() rangecache.Usage) *Metrics {
	return &Metrics{release: release, started: now, memory: memory, cache: cache, ranges: ranges, answers: map[answer]int64{}, measured: map[string]*measured{}}
}

// Observe counts a request.
func (m *Metrics) Observe(s *httpapi.Served) {
	operation := cmp.Or(s.Operation.Name, "none")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers[answer{operation, s.Status, s.Code}]++
	o := m.measured[operation]
	if o == nil {
		o = new(measured)
		m.measured[operation] = o
	}
	bucket, _ := slices.BinarySearch(bounds[:], s.Duration.Seconds())
	o.buckets[bucket]++
	o.seconds += s.Duration.Seconds()
	o.received += s.Received
	o.sent += s.Sent
	o.reads += s.Storage.Requests()
	o.writes += s.Storage.Writes()
	o.storageRead += s.Storage.Bytes()
	o.storageWritten += s.Storage.Written()
}

// Write writes all metrics. It ignores write errors, because the scraper will come again.
func (m *Metrics) Write(w io.Writer) {
	p := &page{Writer: bufio.NewWriter(w)}
	m.writeRequests(p)
	p.family("tiltyard_build_info", "gauge", "Release of the program.")
	p.sample("tiltyard_build_info", 1, "version", m.release)
	p.family("process_start_time_seconds", "gauge", "When the process started, since 1970.")
	p.sample("process_start_time_seconds", float64(m.started.UnixMilli())/1000)
	p.family("go_goroutines", "gauge", "Goroutines there are.")
	p.sample("go_goroutines", float64(runtime.NumGoroutine()))
	p.family("go_memory_bytes", "gauge", "Memory that the Go runtime has of the system.")
	p.sample("go_memory_bytes", ofRuntime())
	held := m.memory.Usage()
	p.family("tiltyard_memory_held_bytes", "gauge", "Memory that requests and jobs hold.")
	p.sample("tiltyard_memory_held_bytes", float64(held.Held))
	p.family("tiltyard_memory_peak_bytes", "gauge", "Most memory that requests and jobs held at once.")
	p.sample("tiltyard_memory_peak_bytes", float64(held.Peak))
	p.family("tiltyard_memory_limit_bytes", "gauge", "Memory that requests and jobs may hold.")
	p.sample("tiltyard_memory_limit_bytes", float64(m.memory.Limit()))
	p.family("tiltyard_memory_refused_total", "counter", "Requests for memory that were refused because others held it.")
	p.sample("tiltyard_memory_refused_total", float64(held.Refused))
	cache := m.cache()
	p.family("tiltyard_cache_hits_total", "counter", "Parts of tables that were found in the cache.")
	p.sample("tiltyard_cache_hits_total", float64(cache.Hits))
	p.family("tiltyard_cache_misses_total", "counter", "Parts of tables that were not found in the cache.")
	p.sample("tiltyard_cache_misses_total", float64(cache.Misses))
	p.family("tiltyard_cache_held_bytes", "gauge", "Memory that the cache holds.")
	p.sample("tiltyard_cache_held_bytes", float64(cache.HeldBytes))
	p.family("tiltyard_cache_limit_bytes", "gauge", "Memory that the cache may hold.")
	p.sample("tiltyard_cache_limit_bytes", float64(cache.LimitBytes))
	ranges := m.ranges()
	p.family("tiltyard_ranges_total", "counter", "Ranges of files in buckets, by where they were found.")
	p.sample("tiltyard_ranges_total", float64(ranges.Disk), "from", "disk")
	p.sample("tiltyard_ranges_total", float64(ranges.Bucket), "from", "bucket")
	p.sample("tiltyard_ranges_total", float64(ranges.Store), "from", "store")
	p.family("tiltyard_ranges_kept_total", "counter", "Ranges that were written to the folder or to the bucket of the cache.")
	p.sample("tiltyard_ranges_kept_total", float64(ranges.Kept))
	_ = p.Flush()
}

// ofRuntime returns the memory that counts against GOMEMLIMIT.
func ofRuntime() float64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return float64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// writeRequests writes the metrics of requests, by operation.
func (m *Metrics) writeRequests(p *page) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.family("tiltyard_requests_total", "counter", "Requests that were answered; code is that of the error.")
	for _, a := range slices.SortedFunc(maps.Keys(m.answers), compareAnswers) {
		p.sample("tiltyard_requests_total", float64(m.answers[a]), "operation", a.operation, "status", strconv.Itoa(a.status), "code", a.code)
	}
	operations := slices.Sorted(maps.Keys(m.measured))
	p.family("tiltyard_request_duration_seconds", "histogram", "Time from the first byte of a request to the last of its answer.")
	for _, operation := range operations {
		p.histogram("tiltyard_request_duration_seconds", operation, m.measured[operation])
	}
	for _, c := range counters {
		p.family(c.name, "counter", c.help)
		for _, operation := range operations {
			for _, part := range c.parts {
				p.sample(c.name, float64(part.of(m.measured[operation])), "operation", operation, "direction", part.name)
			}
		}
	}
}

func compareAnswers(a, b answer) int {
	return cmp.Or(cmp.Compare(a.operation, b.operation), cmp.Compare(a.status, b.status), cmp.Compare(a.code, b.code))
}

// counters are the sums that have two directions.
var counters = []struct {
	name, help string
	parts      []part
}{
	{"tiltyard_body_bytes_total", "Bytes of the bodies of requests and answers.", []part{
		{"in", func(o *measured) int64 { return o.received }},
		{"out", func(o *measured) int64 { return o.sent }},
	}},
	{"tiltyard_storage_requests_total", "Requests to object storage.", []part{
		{"read", func(o *measured) int64 { return o.reads }},
		{"write", func(o *measured) int64 { return o.writes }},
	}},
	{"tiltyard_storage_bytes_total", "Bytes read of and written to object storage.", []part{
		{"read", func(o *measured) int64 { return o.storageRead }},
		{"write", func(o *measured) int64 { return o.storageWritten }},
	}},
}

type part struct {
	name string
	of   func(*measured) int64
}

// page is the text being written.
type page struct{ *bufio.Writer }

// family writes the header of a metric.
func (p *page) family(name, kind, help string) {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// sample writes one value; labels alternates names and values.
func (p *page) sample(name string, value float64, labels ...string) {
	_, _ = p.WriteString(name)
	for i := 0; i+1 < len(labels); i += 2 {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		_ = p.WriteByte(separator)
		fmt.Fprintf(p, "%s=%q", labels[i], labels[i+1]) // no value needs escapes that the format lacks
	}
	if len(labels) > 0 {
		_ = p.WriteByte('}')
	}
	_, _ = p.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// histogram writes the buckets, the sum and the count of an operation's durations.
func (p *page) histogram(name, operation string, o *measured) {
	cumulated := int64(0)
	for i, n := range o.buckets {
		cumulated += n
		end := "+Inf"
		if i < len(bounds) {
			end = strconv.FormatFloat(bounds[i], 'g', -1, 64)
		}
		p.sample(name+"_bucket", float64(cumulated), "operation", operation, "le", end)
	}
	p.sample(name+"_sum", o.seconds, "operation", operation)
	p.sample(name+"_count", float64(cumulated), "operation", operation)
}
