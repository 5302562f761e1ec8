package command

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// A benchResult summarizes the answers to one query. Times are in milliseconds.
type benchResult struct {
	Requests  int     `json:"requests"`
	Clients   int     `json:"clients"`
	Rows      int64   `json:"rows"` // of one answer
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"requests_per_second"`
	P50       float64 `json:"p50_ms"`
	P90       float64 `json:"p90_ms"`
	P99       float64 `json:"p99_ms"`
	Slowest   float64 `json:"slowest_ms"`
}

// newBenchCommand measures the latency of a query.
func newBenchCommand(s *session) *cobra.Command {
	q := new(question)
	var requests, clients int
	cmd := s.on("bench TABLE", "Send a query many times, and tell how long the answers take", exactly(1), func(r *run, id protocol.Common) error {
		if requests < 1 || clients < 1 {
			return usagef("--requests and --clients must be 1 or more")
		}
		req, err := q.request(r.cmd, id)
		if err == nil {
			err = q.vectorLike(r, req)
		}
		if err != nil {
			return err
		}
		if _, err := timed(r, req); err != nil { // open connections and fill caches first
			return err
		}
		done, err := bench(r, req, requests, clients)
		if err != nil {
			return err
		}
		return s.show(r.cmd, done, "requests", done.Requests, "clients", done.Clients, "rows of an answer", done.Rows, "seconds", done.Seconds,
			"requests per second", done.PerSecond, "median ms", done.P50, "90 % ms", done.P90, "99 % ms", done.P99, "slowest ms", done.Slowest)
	})
	cmd.Long = `Send a query many times, and tell how long the answers take from the request to the last row.
One request before them is not counted. The first error ends the command.`
	cmd.Example = `  tiltyard bench sales/orders --where 'id = 5' --requests 1000 --clients 16
  tiltyard bench points --vector '[0.1, 0.2]' --limit 10 -o json`
	q.flags(cmd)
	cmd.Flags().IntVar(&requests, "requests", 100, "how many requests to send")
	cmd.Flags().IntVar(&clients, "clients", 1, "how many of them at a time")
	return cmd
}

// bench sends a query the given number of times, with concurrent clients.
func bench(r *run, req *queryapi.Request, requests, clients int) (*benchResult, error) {
	done := &benchResult{Requests: requests, Clients: clients}
	took := make([]time.Duration, requests)
	group := new(errgroup.Group)
	bar := newBar(r.cmd)
	var drawing sync.Mutex
	var next atomic.Int64
	began := time.Now()
	for range clients {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(requests); i = next.Add(1) - 1 {
				start := time.Now()
				rows, err := timed(r, req)
				if err != nil {
					// Let the other clients stop, too.
					next.Store(int64(requests))
					return err
				}
				took[i] = time.Since(start)
				if i == 0 {
					done.Rows = rows
				}
				drawing.Lock()
				bar.tell(fmt.Sprintf("%d of %d requests", i+1, requests))
				drawing.Unlock()
			}
			return nil
		})
	}
	err := group.Wait()
	bar.end()
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(began)
	slices.Sort(took)
	at := func(share float64) float64 { return milliseconds(took[min(int(share*float64(requests)), requests-1)]) }
	done.Seconds, done.PerSecond = elapsed.Seconds(), float64(requests)/elapsed.Seconds()
	done.P50, done.P90, done.P99, done.Slowest = at(0.5), at(0.9), at(0.99), at(1)
	return done, nil
}

// timed sends a query and reads its answer to the end. It returns the number of rows.
func timed(r *run, req *queryapi.Request) (rows int64, err error) {
	answer, err := r.client.QueryTable(r.ctx, req)
	if err != nil {
		return 0, err
	}
	defer answer.Close()
	for batch, err := range answer.Batches() {
		if err != nil {
			return rows, err
		}
		rows += batch.NumRows()
	}
	return rows, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
