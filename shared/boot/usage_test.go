package boot

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/usage"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/storage/objectstore"
)

// Requests of senders who signed in are metered by tenant, first namespace and group. Names in requests that failed do not
// become keys.
func TestRequestsAreMetered(t *testing.T) {
	var log bytes.Buffer
	env, err := Open(Config{Root: t.TempDir(), Token: "t", Usage: true}, everyClient, &log)
	if err != nil {
		t.Fatal(err)
	}
	began := usage.HourOf(time.Now())
	for _, r := range []struct {
		operation, object, tenant string
		status                    int
		err                       error
	}{
		{"QueryTable", "sales$eu$t", "acme", http.StatusOK, nil},
		{"QueryTable", "sales$t, other$t", "acme", http.StatusOK, nil},
		{"QueryTable", "t", "acme", http.StatusOK, nil},
		{"DescribeNamespace", "sales", "acme", http.StatusOK, nil},
		{"QueryTable", "anything$t", "acme", http.StatusNotFound, protocol.TableNotFound},
		{"QueryTable", "sales$t", "acme", http.StatusTooManyRequests, protocol.Throttling},
		{"QueryTable", "sales$t", "acme", http.StatusInternalServerError, protocol.Internal},
		{"QueryTable", "sales$t", "", http.StatusUnauthorized, protocol.Unauthenticated},
	} {
		op, _ := operations.Lookup(r.operation)
		env.observe(&httpapi.Served{
			Operation: op, Object: r.object, Tenant: r.tenant, Status: r.status, Err: r.err, Storage: new(objectstore.Usage),
			Duration: time.Millisecond, Sent: 10, Received: 2, Rows: 3, Wrote: 4, Jobs: 1,
		})
	}
	env.AtEnd()[0]()
	got := map[usage.Key]usage.Counts{}
	for hour := began; hour <= usage.HourOf(time.Now()); hour++ {
		sum, err := usage.Read(t.Context(), env.Records, hour)
		if err != nil {
			t.Fatal(err)
		}
		for k, c := range sum.Counts {
			c.Add(got[k])
			got[k] = c
		}
	}
	count := func(n int64) usage.Counts {
		return usage.Counts{Requests: n, ComputeMicros: 1000 * n, ReceivedBytes: 2 * n, SentBytes: 10 * n, ReturnedRows: 3 * n, WrittenRows: 4 * n, Jobs: n}
	}
	failed := count(4)
	failed.Refused, failed.Failed = 1, 1
	want := map[usage.Key]usage.Counts{
		{Tenant: "acme", Namespace: "sales", Kind: "query"}:     count(2),
		{Tenant: "acme", Namespace: "sales", Kind: "namespace"}: count(1),
		{Tenant: "acme", Kind: "query"}:                         failed,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff, log.String())
	}
	off, err := Open(Config{Root: t.TempDir(), Token: "t"}, everyClient, &log)
	if err != nil || off.AtEnd() != nil || len(off.Observers) > 0 {
		t.Errorf("usage is metered without the setting, %v", err)
	}
	off.FlushUsage()
}

// The runs of jobs are metered by tenant and first namespace, and stored at once.
func TestRunsOfJobsAreMetered(t *testing.T) {
	var log bytes.Buffer
	env, err := Open(Config{Root: t.TempDir(), Token: "t", Usage: true}, everyClient, &log)
	if err != nil {
		t.Fatal(err)
	}
	began := usage.HourOf(time.Now())
	var storage objectstore.Usage
	objectstore.Count(objectstore.WithUsage(t.Context(), &storage), true, 2, 30)
	objectstore.Count(objectstore.WithUsage(t.Context(), &storage), false, 1, 4)
	meter := env.JobMeter()
	for _, object := range [][]string{{"sales", "eu", "t"}, {"sales", "t"}, {"t"}} {
		meter(jobs.Ran{Tenant: "acme", Object: object, Duration: time.Second, Storage: &storage, Wrote: 5})
	}
	got := map[usage.Key]usage.Counts{}
	for hour := began; hour <= usage.HourOf(time.Now()); hour++ {
		sum, err := usage.Read(t.Context(), env.Records, hour)
		if err != nil {
			t.Fatal(err)
		}
		for k, c := range sum.Counts {
			c.Add(got[k])
			got[k] = c
		}
	}
	count := func(n int64) usage.Counts {
		return usage.Counts{ComputeMicros: 1_000_000 * n, ReadBytes: 30 * n, StorageReads: 2 * n, WrittenBytes: 4 * n, StorageWrites: n, WrittenRows: 5 * n}
	}
	want := map[usage.Key]usage.Counts{{Tenant: "acme", Namespace: "sales", Kind: "work"}: count(2), {Tenant: "acme", Kind: "work"}: count(1)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff, log.String())
	}
	off, err := Open(Config{Root: t.TempDir(), Token: "t"}, everyClient, &log)
	if err != nil || off.JobMeter() != nil {
		t.Errorf("runs are metered without the setting, %v", err)
	}
}

func TestQuotasAreCheckedAtTheStart(t *testing.T) {
	_, err := Open(Config{Root: t.TempDir(), Token: "t", Quotas: write(t, `{"quotas": [{"name": "rate", "tenant": "*", "requests": 10}]}`)}, everyClient, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), `quotas: parse the quotas: quota "rate": per is missing`) {
		t.Errorf("got %v", err)
	}
	for name, c := range map[string]Config{"nothing": {}, "usage": {Usage: true}, "maintenance": {Maintain: true}, "both": {Usage: true, Maintain: true}} {
		c.Root, c.Token, c.Quotas = t.TempDir(), "t", write(t, `{"quotas": [{"name": "store", "namespace": "*", "stored_bytes": 10}]}`)
		_, err := Open(c, everyClient, &bytes.Buffer{})
		if refused := err != nil && strings.Contains(err.Error(), `quota "store": stored_bytes needs the metering of usage, and maintenance`); refused == (name == "both") {
			t.Errorf("stored bytes with %s: got %v", name, err)
		}
	}
	env, err := Open(Config{Root: t.TempDir(), Token: "t", Quotas: write(t, `{"quotas": [{"name": "rate", "tenant": "*", "requests": 10, "per": "1s"}]}`)}, everyClient, &bytes.Buffer{})
	if err != nil || env.Quotas == nil || env.ready(t.Context()) != nil {
		t.Errorf("got %v", err)
	}
}
