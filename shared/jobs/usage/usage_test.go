package usage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/objectrecord"
)

var (
	noon = time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)
	acme = Key{"acme", "sales", "query"}
	bolt = Key{"bolt", "", "table"}
)

// lossy is a store whose writes sometimes happen without an answer.
type lossy struct {
	record.Store
	lose bool
	puts int
}

func (l *lossy) Put(ctx context.Context, r record.Record) (string, error) {
	l.puts++
	version, err := l.Store.Put(ctx, r)
	if l.lose && err == nil {
		return "", record.ErrUnknownOutcome
	}
	return version, err
}

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newLossy(c *clock) *lossy { return &lossy{Store: objectrecord.Open(memstore.New(), c.now)} }

func read(t *testing.T, records record.Store, at time.Time) map[Key]Counts {
	t.Helper()
	sum, err := Read(t.Context(), records, HourOf(at))
	if err != nil {
		t.Fatal(err)
	}
	return sum.Counts
}

// However often sums are stored, also without an answer, each request counts once.
func TestEachRequestCountsOnce(t *testing.T) {
	c := &clock{noon}
	records := newLossy(c)
	one, other := Open(records, c.now, "one"), Open(records, c.now, "other")
	for i := range 10 {
		records.lose = i%3 == 1
		one.Add(acme, Counts{Requests: 1, SentBytes: 5})
		other.Add(acme, Counts{Requests: 1})
		if i%2 == 0 {
			one.Add(bolt, Counts{Requests: 1, Jobs: 1})
		}
		for range 2 {
			if err := errors.Join(one.Flush(t.Context()), other.Flush(t.Context())); (err != nil) != records.lose {
				t.Fatal(err)
			}
		}
	}
	want := map[Key]Counts{acme: {Requests: 20, SentBytes: 50}, bolt: {Requests: 5, Jobs: 5}}
	if diff := cmp.Diff(want, read(t, records, noon)); diff != "" {
		t.Error(diff)
	}
	records.puts = 0
	if err := one.Flush(t.Context()); err != nil || records.puts != 0 {
		t.Errorf("%d records were written without a change, %v", records.puts, err)
	}
}

// Requests count in the hour of their end. A process that is frozen and thawed later still stores an old hour.
func TestHours(t *testing.T) {
	c := &clock{noon}
	records := newLossy(c)
	m := Open(records, c.now, "one")
	m.Add(acme, Counts{Requests: 1})
	if err := m.FlushNowAndThen(t.Context()); err != nil || records.puts != 0 {
		t.Errorf("flushed at once: %v", err)
	}
	c.at = noon.Add(5 * time.Hour)
	m.Add(acme, Counts{Requests: 1, WrittenRows: 3})
	if err := m.FlushNowAndThen(t.Context()); err != nil || records.puts != 2 {
		t.Errorf("%d records were written, want 2: %v", records.puts, err)
	}
	for at, want := range map[time.Time]map[Key]Counts{noon: {acme: {Requests: 1}}, c.at: {acme: {Requests: 1, WrittenRows: 3}}, noon.Add(time.Hour): {}} {
		if diff := cmp.Diff(want, read(t, records, at)); diff != "" {
			t.Errorf("%v: %s", at, diff)
		}
	}
	if len(m.hours) != 1 {
		t.Errorf("the process remembers %d hours, want the current one", len(m.hours))
	}
	c.at = noon.Add(Kept + time.Hour)
	if got := read(t, records, noon); len(got) != 0 {
		t.Errorf("records outlive a week: %v", got)
	}
}

// Any number of tenants fits, in several records, of which only changed ones are written again.
func TestManyTenants(t *testing.T) {
	c := &clock{noon}
	records := newLossy(c)
	m := Open(records, c.now, "one")
	const tenants = 1000
	for i := range tenants {
		m.Add(Key{Tenant: fmt.Sprintf("%d-%s", i, strings.Repeat("x", i%4*1000)), Kind: "query"}, Counts{Requests: 1})
	}
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, records, noon); len(got) != tenants {
		t.Errorf("%d tenants were stored, want %d", len(got), tenants)
	}
	records.puts = 0
	m.Add(Key{Tenant: "0-", Kind: "query"}, Counts{Requests: 1})
	if err := m.Flush(t.Context()); err != nil || records.puts != 1 {
		t.Errorf("%d records were written for one change, %v", records.puts, err)
	}
}

func TestStateOfAnHourFollowsItsRecords(t *testing.T) {
	c := &clock{noon}
	records := newLossy(c)
	m := Open(records, c.now, "one")
	seen := map[string]bool{}
	for range 3 {
		sum, err := Read(t.Context(), records, HourOf(noon))
		again, err2 := Read(t.Context(), records, HourOf(noon))
		if err != nil || err2 != nil || sum.State != again.State || seen[sum.State] {
			t.Errorf("state %q, then %q, %v", sum.State, again.State, errors.Join(err, err2))
		}
		seen[sum.State] = true
		m.Add(acme, Counts{Requests: 1})
		if err := m.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !seen[""] {
		t.Error("an hour without records has a state")
	}
}
