package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/objectrecord"
)

// A deployment has processes with a common clock and common records.
type deployment struct {
	t       *testing.T
	text    string
	records *counted
	mu      sync.Mutex
	at      time.Time
}

func newDeployment(t *testing.T, quotas ...string) *deployment {
	d := &deployment{t: t, text: `{"quotas": [` + strings.Join(quotas, ", ") + `]}`, at: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)}
	d.records = &counted{Store: objectrecord.Open(memstore.New(), d.now)}
	return d
}

func (d *deployment) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

func (d *deployment) wait(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = d.at.Add(by)
}

func (d *deployment) process() *Limiter {
	fetch := func(context.Context) ([]byte, error) { return []byte(d.text), nil }
	return Open(auth.OpenDocument("quotas", fetch, Parse, d.now), d.records, d.now, slog.New(slog.DiscardHandler))
}

// A counted store counts requests, and refuses them while down is set.
type counted struct {
	record.Store
	mu     sync.Mutex
	number int
	down   bool
}

func (c *counted) request() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.number++
	if c.down {
		return errors.New("the store is down")
	}
	return nil
}

func (c *counted) Get(ctx context.Context, key string) (record.Record, error) {
	if err := c.request(); err != nil {
		return record.Record{}, err
	}
	return c.Store.Get(ctx, key)
}

func (c *counted) Put(ctx context.Context, r record.Record) (string, error) {
	if err := c.request(); err != nil {
		return "", err
	}
	return c.Store.Put(ctx, r)
}

func of(tenant string) *auth.Principal { return &auth.Principal{Subject: "key:" + tenant + "/ci"} }

// try makes a request, and returns the error of a quota.
func try(t *testing.T, l *Limiter, p *auth.Principal, use Use) *Exceeded {
	t.Helper()
	a, err := l.Admit(t.Context(), p)
	a.Done(use)
	var beyond *Exceeded
	if err != nil && !errors.As(err, &beyond) {
		t.Fatal(err)
	}
	return beyond
}

// admitted makes requests, and returns the number of those that were admitted.
func admitted(t *testing.T, l *Limiter, p *auth.Principal, requests int) (n int) {
	t.Helper()
	for range requests {
		if try(t, l, p, Use{}) == nil {
			n++
		}
	}
	return n
}

func TestRequestsBeyondAQuotaAreRefused(t *testing.T) {
	d := newDeployment(t, `{"name": "rate", "tenant": "*", "requests": 100, "per": "1m"}`)
	l := d.process()
	if n := admitted(t, l, of("acme"), 130); n != 100 {
		t.Errorf("%d of 130 were admitted, want 100", n)
	}
	beyond := try(t, l, of("acme"), Use{})
	if beyond == nil || beyond.Seconds() != 1 || protocol.CodeOf(beyond) != protocol.Throttling {
		t.Fatalf("got %v", beyond)
	}
	if want := "the tenant acme has used up its quota rate: 100 requests in 1m0s"; beyond.Error() != want {
		t.Errorf("got %q, want %q", beyond.Error(), want)
	}
	d.wait(6 * time.Second)
	if n := admitted(t, l, of("acme"), 130); n != 10 {
		t.Errorf("%d were admitted after six seconds, want 10", n)
	}
	d.wait(time.Hour)
	if n := admitted(t, l, of("acme"), 130); n != 100 {
		t.Errorf("%d were admitted after an hour, want 100", n)
	}
}

// The processes of a deployment admit as many requests together as one would.
func TestProcessesShareAQuota(t *testing.T) {
	d := newDeployment(t, `{"name": "rate", "tenant": "*", "requests": 1000, "per": "1m"}`)
	var all []*Limiter
	for range 7 {
		all = append(all, d.process())
	}
	n := 0
	for i := range 3000 {
		n += admitted(t, all[i%len(all)], of("acme"), 1)
	}
	if n < 990 || n > 1000 {
		t.Errorf("%d were admitted, want 1000, less what seven processes have leased in parts", n)
	}
	// A full bucket has 16 leases. Each process also reads, loses races, and finds the bucket empty.
	if most := 7*(leases+2) + 3*leases; d.records.number > most {
		t.Errorf("%d requests to the records for 3000 requests, want at most %d", d.records.number, most)
	}
}

func TestConcurrentRequestsTakeEachTokenOnce(t *testing.T) {
	d := newDeployment(t, `{"name": "rate", "tenant": "*", "requests": 64, "per": "1h"}`)
	l := d.process()
	var group sync.WaitGroup
	var mu sync.Mutex
	n := 0
	for range 8 {
		group.Go(func() {
			for range 20 {
				a, err := l.Admit(context.Background(), of("acme"))
				a.Done(Use{})
				if err == nil {
					mu.Lock()
					n++
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if n != 64 {
		t.Errorf("%d were admitted, want 64", n)
	}
}

// Work that is known afterwards may exceed a quota once. The debt is paid before the next request, by any process.
func TestUseIsChargedAfterTheWork(t *testing.T) {
	d := newDeployment(t, `{"name": "rows", "tenant": "*", "written_rows": 600, "per": "1m"}`)
	one, other := d.process(), d.process()
	if beyond := try(t, one, of("acme"), Use{WrittenRows: 1200}); beyond != nil {
		t.Fatal(beyond)
	}
	if beyond := try(t, one, of("acme"), Use{}); beyond == nil || beyond.Seconds() != 61 {
		t.Errorf("got %v, want a wait of 61 seconds: of 600 rows of debt, and one", beyond)
	}
	if beyond := try(t, other, of("acme"), Use{}); beyond == nil {
		t.Error("another process admits the tenant")
	}
	d.wait(70 * time.Second)
	for _, l := range []*Limiter{one, other} {
		if beyond := try(t, l, of("acme"), Use{ReadBytes: 1 << 40}); beyond != nil {
			t.Errorf("refused after the debt was paid: %v", beyond)
		}
	}
}

func TestRequestsAtOnce(t *testing.T) {
	d := newDeployment(t, `{"name": "at-once", "principal": "*", "concurrent": 2}`, `{"name": "rate", "tenant": "*", "requests": 100, "per": "1h"}`)
	l := d.process()
	first, err := l.Admit(t.Context(), of("acme"))
	second, err2 := l.Admit(t.Context(), of("acme"))
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	beyond := try(t, l, of("acme"), Use{})
	if beyond == nil || beyond.Quota != "at-once" || !strings.Contains(beyond.Error(), "as many requests at once") {
		t.Fatalf("got %v", beyond)
	}
	first.Done(Use{})
	first.Done(Use{}) // counts once
	if n := admitted(t, l, of("acme"), 10); n != 10 {
		t.Errorf("%d were admitted, want 10", n)
	}
	second.Done(Use{})
}

// A request that one quota refuses takes nothing from others.
func TestRefusedRequestsCostNothing(t *testing.T) {
	d := newDeployment(t, `{"name": "mine", "principal": "*", "requests": 10, "per": "1h"}`, `{"name": "rate", "tenant": "acme", "requests": 5, "per": "1m"}`)
	l := d.process()
	if n := admitted(t, l, of("acme"), 50); n != 5 {
		t.Fatalf("%d were admitted, want 5", n)
	}
	d.wait(time.Minute)
	if n := admitted(t, l, of("acme"), 50); n != 5 {
		t.Errorf("%d were admitted, want 5 of the 10 of the principal", n)
	}
}

// A quota of a namespace counts all senders, and only once for a request.
func TestNamespaces(t *testing.T) {
	d := newDeployment(t, `{"name": "eu", "namespace": "sales$eu", "requests": 3, "per": "1h"}`, `{"name": "each", "namespace": "*", "requests": 4, "per": "1h"}`)
	l := d.process()
	enter := func(tenant string, namespaces ...[]string) (err error) {
		a, admitErr := l.Admit(t.Context(), of(tenant))
		if admitErr != nil || !a.OfNamespaces() {
			t.Fatal(admitErr)
		}
		defer a.Done(Use{})
		for _, n := range namespaces {
			err = errors.Join(err, a.Enter(t.Context(), n, false))
		}
		return err
	}
	eu, sub, us := []string{"sales", "eu"}, []string{"sales", "eu", "old"}, []string{"sales", "us"}
	for i, err := range []error{enter("a", eu), enter("b", sub, eu), enter("c", eu)} {
		if err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if err := enter("d", sub); err == nil || !strings.Contains(err.Error(), "the namespace sales$eu has used up its quota eu") {
		t.Errorf("got %v", err)
	}
	if err := enter("d", us); err != nil {
		t.Errorf("the fourth of each: %v", err)
	}
	if err := enter("e", us); err == nil || !strings.Contains(err.Error(), "the namespace sales has used up its quota each") {
		t.Errorf("got %v", err)
	}
}

func TestRecordsInTroubleRefuseNobody(t *testing.T) {
	d := newDeployment(t, `{"name": "rate", "tenant": "*", "requests": 2, "per": "1h"}`)
	l := d.process()
	d.records.down = true
	if n := admitted(t, l, of("acme"), 10); n != 10 {
		t.Errorf("%d of 10 were admitted", n)
	}
	d.records.down = false
	if n := admitted(t, l, of("acme"), 10); n != 2 {
		t.Errorf("%d were admitted once the records answered, want 2", n)
	}
}

func TestHeader(t *testing.T) {
	d := newDeployment(t, `{"name": "rate", "tenant": "*", "requests": 100, "per": "1m"}`, `{"name": "reads", "tenant": "*", "read_bytes": "1KiB", "per": "1h"}`,
		`{"name": "at-once", "tenant": "*", "concurrent": 8}`)
	l := d.process()
	var policy, limit string
	for i := range 2 {
		a, err := l.Admit(t.Context(), of("acme"))
		if err != nil {
			t.Fatal(err)
		}
		policy, limit = a.Header()
		a.Done(Use{ReadBytes: 24})
		want := fmt.Sprintf(`"rate";r=%d;t=%d, "reads";r=%d;t=%d, "at-once";r=7`, 99-i, 1+i, 1024-24*i, 85*i)
		if got := limit; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got, want := policy, `"rate";q=100;w=60, "reads";q=1024;qu="read-bytes";w=3600, "at-once";q=8;qu="concurrent-requests"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var none *Limiter
	a, err := none.Admit(t.Context(), of("acme"))
	policy, limit = a.Header()
	a.Done(Use{})
	if policy != "" || limit != "" || a != nil || err != nil || a.Enter(t.Context(), []string{"a"}, true) != nil || a.OfNamespaces() {
		t.Error("a server without quotas limits")
	}
}

// A tenant that sends ten times its quota takes nothing from another one: no request of that is refused, and none needs a
// request to the records that it would not need alone.
func TestANoisyNeighbourTakesNothing(t *testing.T) {
	const seconds, quota = 60, 50
	run := func(noise int) (refused, requests int) {
		d := newDeployment(t, fmt.Sprintf(`{"name": "rate", "tenant": "*", "requests": %d, "per": "1s"}`, quota))
		one, other := d.process(), d.process()
		noisy := 0
		for range seconds {
			for i := range quota - 5 {
				for k := range noise {
					before := d.records.number
					noisy += admitted(t, []*Limiter{one, other}[k%2], of("noisy"), 1)
					d.records.number = before
				}
				refused += 1 - admitted(t, []*Limiter{one, other}[i%2], of("calm"), 1)
			}
			d.wait(time.Second)
		}
		if most := (seconds + 2) * quota; noisy > most {
			t.Errorf("%d requests of the noisy tenant were admitted, want at most %d", noisy, most)
		}
		return refused, d.records.number
	}
	refusedAlone, alone := run(0)
	refused, beside := run(11)
	if refusedAlone != 0 || refused != 0 {
		t.Errorf("%d requests of a calm tenant were refused alone, and %d beside a noisy one, want none", refusedAlone, refused)
	}
	if alone != beside {
		t.Errorf("the calm tenant needs %d requests to the records beside a noisy one, and %d alone", beside, alone)
	}
}
