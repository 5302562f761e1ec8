package faultstore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"tiltyard/shared/storage/objectstore"
)

// A Recorder counts requests. The zero value is ready to use; it is safe for concurrent use.
//
// Each request has a level: one more than the highest level among the requests answered before it began.
// The depth of a recording is its highest level. Two independent requests have the same level only if they
// overlap in time, which fast requests in memory may not. For exact depths, give the requests a [Latency]
// and run in a testing/synctest bubble, where independent requests always overlap.
type Recorder struct {
	mu       sync.Mutex
	counts   Counts
	calls    int
	answered int // highest level of an answered request
	log      []line
}

// Counts is the result of a recording since New or the last Reset. It includes failed requests.
type Counts struct {
	Requests     int          // one per range of a GetRanges
	Depth        int          // the length of the longest chain of dependent requests
	ByKind       map[Kind]int // sums up to Requests
	ReadBytes    int64        // bytes of objects in answers
	WrittenBytes int64        // bytes of objects in requests
	// Log has one line per request, such as "GET movies.lance/_versions/1.manifest" or "RANGE
	// movies.lance/data/x.lance -64". It is sorted by level and then by text, so that the same work
	// gives the same log.
	Log []string
}

// line is a line of the log.
type line struct {
	level int
	text  string
}

// Reset starts a new recording. No request may be running.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts, r.calls, r.answered, r.log = Counts{}, 0, 0, nil
}

// Snapshot returns the counts so far.
func (r *Recorder) Snapshot() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	c.ByKind = maps.Clone(c.ByKind)
	slices.SortStableFunc(r.log, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.level, b.level), strings.Compare(a.text, b.text))
	})
	c.Log = make([]string, len(r.log))
	for i, l := range r.log {
		c.Log[i] = l.text
	}
	return c
}

// begin counts a call, sets its number and returns its level. detail goes into the log.
func (r *Recorder) begin(call *Call, detail string) (level int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	call.N = r.calls
	level = r.answered + 1
	n := max(1, len(call.Ranges))
	r.counts.Requests += n
	r.counts.Depth = max(r.counts.Depth, level)
	if r.counts.ByKind == nil {
		r.counts.ByKind = make(map[Kind]int)
	}
	r.counts.ByKind[call.Kind] += n
	r.counts.WrittenBytes += int64(len(call.Data))
	text := verb(call.Kind) + " " + call.Key
	for _, ranged := range call.Ranges {
		r.log = append(r.log, line{level, text + rangeText(ranged)})
	}
	if len(call.Ranges) == 0 {
		r.log = append(r.log, line{level, text + detail})
	}
	return level
}

// end records the answer to a request of the given level.
func (r *Recorder) end(level, read int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered = max(r.answered, level)
	r.counts.ReadBytes += int64(read)
}

// verb returns the word of the log for a kind. The conditions of a put follow its key.
func verb(k Kind) string {
	word, _, _ := strings.Cut(string(k), "-")
	return strings.ToUpper(word)
}

func rangeText(r objectstore.Range) string {
	if r.Offset < 0 {
		return fmt.Sprintf(" %d", r.Offset)
	}
	return fmt.Sprintf(" %d+%d", r.Offset, r.Length)
}
