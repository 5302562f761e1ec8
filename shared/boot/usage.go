package boot

import (
	"context"
	"net/http"
	"strings"
	"time"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/usage"
	"tiltyard/shared/protocol"
)

// flushTime bounds the time in which a request, or the end of a function, stores the usage.
const flushTime = 300 * time.Millisecond

// meter counts a request, and stores the sums now and then. In a function, nothing runs after the answer, so that the
// request itself takes the time.
func (e *Env) meter(s *httpapi.Served) {
	if s.Tenant == "" {
		return // nobody signed in
	}
	namespace, _, below := strings.Cut(s.Object, protocol.DefaultDelimiter)
	if !below && !strings.HasPrefix(s.Operation.Path, "/v1/namespace/") || s.Err != nil { // an error may name anything
		namespace = ""
	}
	counts := usage.Counts{
		Requests: 1, ComputeMicros: s.Duration.Microseconds(), ReceivedBytes: s.Received, SentBytes: s.Sent,
		ReadBytes: s.Storage.Bytes(), WrittenBytes: s.Storage.Written(), StorageReads: s.Storage.Requests(), StorageWrites: s.Storage.Writes(),
		ReturnedRows: s.Rows, WrittenRows: s.Wrote, Jobs: s.Jobs,
	}
	if s.Status == http.StatusTooManyRequests {
		counts.Refused = 1
	}
	if s.Failed() {
		counts.Failed = 1
	}
	e.Meter.Add(usage.Key{Tenant: s.Tenant, Namespace: namespace, Kind: string(s.Operation.Group)}, counts)
	ctx, done := context.WithTimeout(context.Background(), flushTime)
	defer done()
	if err := e.Meter.FlushNowAndThen(ctx); err != nil {
		e.Logger.Warn("usage could not be stored; it is stored later", "error", err)
	}
}

// workKind is the kind of the rows about the work of jobs.
const workKind = "work"

// JobMeter returns what a worker calls after each run of a job, or nil if usage is not metered. It stores the sums at once:
// a function may not run again, and each run has written several records anyway.
func (e *Env) JobMeter() func(jobs.Ran) {
	if e.Meter == nil {
		return nil
	}
	return func(r jobs.Ran) {
		namespace := ""
		if len(r.Object) > 1 {
			namespace = r.Object[0]
		}
		e.Meter.Add(usage.Key{Tenant: r.Tenant, Namespace: namespace, Kind: workKind}, usage.Counts{
			ComputeMicros: r.Duration.Microseconds(), WrittenRows: r.Wrote,
			ReadBytes: r.Storage.Bytes(), WrittenBytes: r.Storage.Written(), StorageReads: r.Storage.Requests(), StorageWrites: r.Storage.Writes(),
		})
		e.FlushUsage()
	}
}

// FlushUsage stores the usage, while the program waits for requests and before it ends.
func (e *Env) FlushUsage() {
	if e.Meter == nil {
		return
	}
	ctx, done := context.WithTimeout(context.Background(), flushTime)
	defer done()
	if err := e.Meter.Flush(ctx); err != nil {
		e.Logger.Warn("usage could not be stored", "error", err)
	}
}

// AtEnd returns what a function does before it ends: nothing, if usage is not metered.
func (e *Env) AtEnd() []func() {
	if e.Meter == nil {
		return nil
	}
	return []func(){e.FlushUsage}
}
