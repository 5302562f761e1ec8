package main

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// burst is the time in which a storm refuses requests once, and then lets others through.
const burst = 200 * time.Millisecond

// A storm refuses requests as S3 does when it gets too many: with 503 SlowDown, in bursts, and without carrying
// anything out. The zero storm refuses none.
type storm struct {
	mu    sync.Mutex
	share float64 // of each burst
	began time.Time
	ends  time.Time // zero: never
}

// begin begins a storm, which lasts for a while or, if that is 0, until the next one begins.
func (s *storm) begin(share float64, lasts time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.share, s.began, s.ends = share, time.Now(), time.Time{}
	if lasts > 0 {
		s.ends = s.began.Add(lasts)
	}
}

// refuses reports whether a request that comes now is refused.
func (s *storm) refuses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	over := !s.ends.IsZero() && now.After(s.ends)
	return !over && float64(now.Sub(s.began)%burst) < s.share*float64(burst)
}

// ServeHTTP begins a storm: POST /-/storm?share=0.5&seconds=10.
func (s *storm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	share, err := strconv.ParseFloat(r.URL.Query().Get("share"), 64)
	seconds, err2 := strconv.ParseFloat(r.URL.Query().Get("seconds"), 64)
	if err != nil || err2 != nil || !(share >= 0 && share <= 1) || !(seconds > 0 && seconds <= 3600) {
		http.Error(w, fmt.Sprintf("storm: share %q, seconds %q; want a share from 0 to 1, and up to 3600 seconds",
			r.URL.Query().Get("share"), r.URL.Query().Get("seconds")), http.StatusBadRequest)
		return
	}
	s.begin(share, time.Duration(seconds*float64(time.Second)))
	w.WriteHeader(http.StatusNoContent)
}
