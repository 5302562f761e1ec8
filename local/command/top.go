package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol/jobapi"
)

// A load is what a server does during an interval.
type load struct {
	Seconds    float64         `json:"seconds"` // length of the interval
	Uptime     float64         `json:"uptime_seconds"`
	Release    string          `json:"release"`
	Requests   float64         `json:"requests_per_second"`
	Operations []operationLoad `json:"operations"` // the busiest first
	Memory     memoryLoad      `json:"memory"`
	Cache      *cacheLoad      `json:"cache"` // nil: the server does not measure it
	Jobs       []jobapi.Job    `json:"jobs"`  // that have not ended
}

// An operationLoad is the part of one operation. Times are in milliseconds, estimated from a histogram.
type operationLoad struct {
	Operation string  `json:"operation"`
	Requests  float64 `json:"requests"`
	PerSecond float64 `json:"requests_per_second"`
	Failed    float64 `json:"failed"` // with a status of 400 or more
	P50       float64 `json:"p50_ms"`
	P95       float64 `json:"p95_ms"`
}

// A memoryLoad is the memory of a server, in bytes.
type memoryLoad struct {
	Process float64 `json:"process"` // of the whole process
	Held    float64 `json:"held"`    // by requests and jobs
	Peak    float64 `json:"peak"`
	Limit   float64 `json:"limit"`
	Refused float64 `json:"refused"` // times since the start
}

// A cacheLoad is the use of the cache of table data.
type cacheLoad struct {
	Held    float64  `json:"held"` // bytes
	Limit   float64  `json:"limit"`
	Hits    float64  `json:"hits"` // during the interval, like misses
	Misses  float64  `json:"misses"`
	HitRate *float64 `json:"hit_rate"` // nil: nothing was looked up
}

// topOperations bounds the lines of a table.
const topOperations = 20

// newTopCommand shows what a server does.
func newTopCommand(s *session) *cobra.Command {
	var interval time.Duration
	var once bool
	cmd := s.command("top", "Show what the server does: requests, their times, memory, cache and jobs", exactly(0), func(r *run) error {
		if interval < 100*time.Millisecond {
			return usagef("--interval is %s; it must be 100ms or more", interval)
		}
		out, ok := r.cmd.OutOrStdout().(*os.File)
		live := !once && ok && terminal(out)
		var before metricsPage
		for {
			page, err := readMetrics(r)
			if err != nil {
				return endOfTop(r.ctx, live, err)
			}
			now := loadOf(before, page)
			if now.Jobs, err = jobsOf(r); err != nil {
				return endOfTop(r.ctx, live, err)
			}
			if live && s.form != formJSON {
				fmt.Fprint(out, "\x1b[H\x1b[2J") // clear the screen
			}
			if err := s.writeLoad(r.cmd, now); err != nil || !live {
				return err
			}
			before = page
			select {
			case <-r.ctx.Done():
				return endOfTop(r.ctx, live, r.ctx.Err())
			case <-time.After(interval):
			}
		}
	})
	cmd.Long = `Show what the server does: requests by operation, how long half and 95 % of them take at most, the
memory that requests and jobs hold, the use of the cache of table data, and the jobs that have not
ended. On a terminal it is shown again each --interval, about that interval, until Ctrl-C; the first
time, and with --once or elsewhere, it is about the time since the server started. With -o json each
line is one object.

Times are estimates from the buckets of a histogram. The server must have GET /metrics, as that of
tiltyard serve has.`
	cmd.Example = `  tiltyard top
  tiltyard top --once -o json`
	cmd.Flags().DurationVar(&interval, "interval", 2*time.Second, "time between two views")
	cmd.Flags().BoolVar(&once, "once", false, "show it once")
	return cmd
}

// endOfTop returns nil if the user ended a live view.
func endOfTop(ctx context.Context, live bool, err error) error {
	if live && errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return err
}

func readMetrics(r *run) (metricsPage, error) {
	text, err := r.client.Metrics(r.ctx)
	if err != nil {
		return metricsPage{}, err
	}
	return parseMetrics(text)
}

// jobsOf returns the jobs that have not ended, among the newest hundred.
func jobsOf(r *run) ([]jobapi.Job, error) {
	req := &jobapi.ListRequest{}
	req.Limit = new(int64(100))
	found, err := r.client.ListJobs(r.ctx, req)
	if err != nil {
		return nil, err
	}
	jobs := []jobapi.Job{}
	for _, job := range found.Jobs {
		if job.State == jobapi.InProgress {
			jobs = append(jobs, job)
		}
	}
	return jobs, nil
}

// loadOf computes the load between two pages. The first one may be empty, for the time since the start of the server.
func loadOf(before, now metricsPage) *load {
	uptime := now.read.Sub(time.UnixMilli(int64(1000 * now.gauges["process_start_time_seconds"]))).Seconds()
	l := &load{Seconds: uptime, Uptime: uptime, Release: now.release, Operations: []operationLoad{}, Memory: memoryLoad{
		Process: now.gauges["go_memory_bytes"], Held: now.gauges["tiltyard_memory_held_bytes"], Peak: now.gauges["tiltyard_memory_peak_bytes"],
		Limit: now.gauges["tiltyard_memory_limit_bytes"], Refused: now.gauges["tiltyard_memory_refused_total"],
	}}
	if now.gauges["process_start_time_seconds"] == before.gauges["process_start_time_seconds"] {
		l.Seconds = now.read.Sub(before.read).Seconds()
	} else {
		before = metricsPage{} // the server was started in between
	}
	l.Cache = cacheOf(before, now)
	for name, operation := range now.operations {
		was := before.operations[name]
		one := operationLoad{Operation: name, Requests: operation.count() - was.count(), Failed: operation.failed - was.failed}
		if one.Requests <= 0 {
			continue
		}
		one.PerSecond = one.Requests / max(l.Seconds, 0.001)
		one.P50, one.P95 = 1000*operation.quantile(was, 0.5), 1000*operation.quantile(was, 0.95)
		l.Requests += one.PerSecond
		l.Operations = append(l.Operations, one)
	}
	slices.SortFunc(l.Operations, func(a, b operationLoad) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Operation, b.Operation))
	})
	return l
}

// cacheOf computes the use of the cache between two pages. It is nil for a server without these metrics.
func cacheOf(before, now metricsPage) *cacheLoad {
	limit, ok := now.gauges["tiltyard_cache_limit_bytes"]
	if !ok {
		return nil
	}
	since := func(name string) float64 { return now.gauges[name] - before.gauges[name] }
	c := &cacheLoad{
		Held: now.gauges["tiltyard_cache_held_bytes"], Limit: limit,
		Hits: since("tiltyard_cache_hits_total"), Misses: since("tiltyard_cache_misses_total"),
	}
	if lookups := c.Hits + c.Misses; lookups > 0 {
		c.HitRate = new(c.Hits / lookups)
	}
	return c
}

// writeLoad writes a load in the form of the session.
func (s *session) writeLoad(cmd *cobra.Command, l *load) error {
	switch s.form {
	case formJSON:
		return newEncoder(cmd.OutOrStdout()).Encode(l)
	case formArrow:
		return usagef("only the rows of query have the form arrow; use table or json")
	}
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "tiltyard %s, up %s; %s requests a second in %s\n", printable(l.Release, false), seconds(l.Uptime), decimals(l.Requests), seconds(l.Seconds))
	fmt.Fprintf(w, "memory %s; requests and jobs hold %s of %s, at most %s; %.0f refused\n",
		bytesText(l.Memory.Process), bytesText(l.Memory.Held), bytesText(l.Memory.Limit), bytesText(l.Memory.Peak), l.Memory.Refused)
	if l.Cache != nil {
		fmt.Fprintln(w, l.Cache)
	}
	if len(l.Operations) > 0 {
		fmt.Fprintln(w)
		if err := writeOperations(w, l.Operations); err != nil {
			return err
		}
	}
	if len(l.Jobs) == 0 {
		_, err := fmt.Fprintln(w, "\nno jobs run")
		return err
	}
	fmt.Fprintln(w)
	jobs := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(jobs, "JOB\tTYPE\tTABLE\tSTATE\tPROGRESS")
	for _, job := range l.Jobs {
		progress := ""
		if job.Progress != nil {
			progress = progressText(job.Progress)
		}
		fmt.Fprintf(jobs, "%s\t%s\t%s\t%s\t%s\n", job.JobID, job.JobType, printable(job.Table, false), job.State, progress)
	}
	return jobs.Flush()
}

// String formats the use of the cache as a line.
func (c *cacheLoad) String() string {
	text := fmt.Sprintf("cache holds %s of %s; ", bytesText(c.Held), bytesText(c.Limit))
	if c.HitRate == nil {
		return text + "no lookups"
	}
	return text + fmt.Sprintf("%.1f %% of %.0f lookups were hits", 100**c.HitRate, c.Hits+c.Misses)
}

func writeOperations(w io.Writer, operations []operationLoad) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "OPERATION\tREQUESTS\tPER SECOND\tFAILED\tP50 MS\tP95 MS")
	for _, one := range operations[:min(len(operations), topOperations)] {
		fmt.Fprintf(table, "%s\t%.0f\t%s\t%.0f\t%s\t%s\n", printable(one.Operation, false), one.Requests, decimals(one.PerSecond), one.Failed, decimals(one.P50), decimals(one.P95))
	}
	return table.Flush()
}

// decimals formats a number with three digits or so.
func decimals(f float64) string {
	switch {
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

func seconds(f float64) string {
	return (time.Duration(math.Round(f*10)) * time.Second / 10).String()
}

// bytesText formats a number of bytes in the unit that fits.
func bytesText(f float64) string {
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if f < 1024 {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") + " " + unit
		}
		f /= 1024
	}
	return fmt.Sprintf("%.1f GiB", f)
}
