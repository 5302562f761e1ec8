package main

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// taken is what a bucket has counted: requests by their kinds, and bytes of bodies.
type taken struct {
	Requests     map[string]int `json:"requests"` // GET, PUT, HEAD, DELETE, POST, LIST, and SLOWDOWN for refused ones
	BytesRead    int64          `json:"bytes_read"`
	BytesWritten int64          `json:"bytes_written"`
	Spans        []span         `json:"spans"`
}

// A span is when a request came and when all of its answer was written, in seconds of the clock of the system,
// and the bytes of the answer.
type span struct {
	Began float64 `json:"began"`
	Ended float64 `json:"ended"`
	Bytes int64   `json:"bytes"`
}

// A counter counts requests, and hands over what it has counted.
type counter struct {
	mu  sync.Mutex
	now taken
}

func (c *counter) add(kind string, began time.Time, read, written int64) {
	ended := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.Requests == nil {
		c.now.Requests = map[string]int{}
	}
	c.now.Requests[kind]++
	c.now.BytesRead += read
	c.now.BytesWritten += written
	c.now.Spans = append(c.now.Spans, span{seconds(began), seconds(ended), read})
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func (c *counter) take() taken {
	c.mu.Lock()
	defer c.mu.Unlock()
	counted := c.now
	c.now = taken{}
	return counted
}

// pieceBytes is how much of an answer is written at once.
const pieceBytes = 128 << 10

// away serves a bucket from afar: each answer begins later by latency, and has rate megabytes a second. It
// counts what it serves, and what a storm refuses.
func away(bucket http.Handler, latency time.Duration, rate float64, storm *storm) http.Handler {
	var counted counter
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/taken", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(counted.take()) // the caller may have gone
	})
	mux.Handle("POST /-/storm", storm)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		came, kind := time.Now(), r.Method
		if r.URL.Query().Has("list-type") {
			kind = "LIST"
		}
		time.Sleep(latency)
		paced := &pacedWriter{ResponseWriter: w, rate: rate, began: time.Now()}
		if storm.refuses() {
			kind = "SLOWDOWN"
			refuse(paced, refusal{http.StatusServiceUnavailable, "SlowDown"})
		} else {
			bucket.ServeHTTP(paced, r)
		}
		counted.add(kind, came, paced.written, max(r.ContentLength, 0))
	})
	return mux
}

// A pacedWriter writes a body at a rate.
type pacedWriter struct {
	http.ResponseWriter
	rate    float64 // megabytes a second, or 0
	began   time.Time
	written int64
}

func (w *pacedWriter) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := w.ResponseWriter.Write(p[done:min(len(p), done+pieceBytes)])
		done += n
		w.written += int64(n)
		if err != nil {
			return done, err
		}
		if w.rate > 0 {
			due := time.Duration(float64(w.written) / w.rate * float64(time.Second) / 1e6)
			time.Sleep(time.Until(w.began.Add(due)))
		}
	}
	return done, nil
}
