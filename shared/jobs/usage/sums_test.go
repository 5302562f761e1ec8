package usage

import (
	"context"
	"testing"
	"time"

	"tiltyard/shared/storage/record"
)

// counting counts the requests to records by kind.
type counting struct {
	record.Store
	gets, puts, lists int
}

func (c *counting) Get(ctx context.Context, key string) (record.Record, error) {
	c.gets++
	return c.Store.Get(ctx, key)
}

func (c *counting) Put(ctx context.Context, r record.Record) (string, error) {
	c.puts++
	return c.Store.Put(ctx, r)
}

func (c *counting) List(ctx context.Context, folder, after string, limit int) (record.Page, error) {
	c.lists++
	return c.Store.List(ctx, folder, after, limit)
}

// summed is a deployment with sums.
type summed struct {
	t       *testing.T
	c       *clock
	records *counting
}

func newSummed(t *testing.T) *summed {
	c := &clock{noon}
	return &summed{t, c, &counting{Store: newLossy(c)}}
}

func (s *summed) note(location, namespace string, bytes int64) {
	s.t.Helper()
	if err := NoteStored(s.t.Context(), s.records, s.c.at, location, namespace, bytes); err != nil {
		s.t.Fatal(err)
	}
}

func (s *summed) meter() {
	s.t.Helper()
	if err := SumStored(s.t.Context(), s.records, s.c.at); err != nil {
		s.t.Fatal(err)
	}
}

func (s *summed) want(namespace string, bytes int64) {
	s.t.Helper()
	got, err := Stored(s.t.Context(), s.records, s.c.at, namespace)
	if err != nil || got != bytes {
		s.t.Errorf("%q stores %d, %v; want %d", namespace, got, err, bytes)
	}
}

// The sums are those of the last metering, for namespaces that were asked for. New ones are not late.
func TestSumsOfStoredBytes(t *testing.T) {
	s := newSummed(t)
	s.note("a", "acme", 10)
	s.note("b", "acme", 5)
	s.note("c", "bolt", 7)
	s.want("acme", 0)
	s.meter()
	s.want("acme", 15)
	s.want("bolt", 0)
	s.want("none", 0)
	s.c.at = s.c.at.Add(10 * time.Minute)
	s.meter()
	s.want("bolt", 7)
	s.want("none", 0)
	s.note("c", "bolt", 8)
	if err := ForgetStored(t.Context(), s.records, "a"); err != nil {
		t.Fatal(err)
	}
	if err := ForgetStored(t.Context(), s.records, "unknown"); err != nil {
		t.Fatal(err)
	}
	s.c.at = s.c.at.Add(10 * time.Minute)
	s.meter()
	s.want("acme", 15)
	s.c.at = s.c.at.Add(sumEvery)
	s.meter()
	s.want("acme", 5)
	s.want("bolt", 8)
}

// A deployment without quotas of stored bytes makes a request in each job. Sums cost the reads of all tables about once an
// hour, few writes, and end a month after somebody asked last.
func TestSumsOfStoredBytesAreForThoseWhoAsk(t *testing.T) {
	s := newSummed(t)
	s.note("a", "acme", 10)
	day := func() (lists, puts int) {
		*s.records = counting{Store: s.records.Store}
		for range 24 * 6 {
			s.meter()
			s.c.at = s.c.at.Add(10 * time.Minute)
		}
		return s.records.lists, s.records.puts
	}
	if lists, puts := day(); lists != 24*6 || puts != 0 {
		t.Errorf("%d lists and %d writes a day without quotas, want %d and 0", lists, puts, 24*6)
	}
	s.note("a", "acme", 10)
	s.want("acme", 0)
	s.want("bolt", 0)
	// Jobs run every 10 minutes, and compute the sums in each fifth. Beside their time they write a sum at first, and after
	// half a day.
	const computed = 24 * 6 / 5
	if lists, puts := day(); lists != 24*6+computed+1 || puts != computed+1+2*2 {
		t.Errorf("%d lists and %d writes a day, want %d and %d", lists, puts, 24*6+computed+1, computed+1+2*2)
	}
	for range 31 {
		day()
	}
	if lists, puts := day(); lists != 24*6 || puts != 0 {
		t.Errorf("%d lists and %d writes a day that nobody asks on, want %d and 0", lists, puts, 24*6)
	}
}

// Whoever asks, asks again in time. A sum that nobody computes any more is an error.
func TestSumsOfStoredBytesAreAskedForAgain(t *testing.T) {
	s := newSummed(t)
	for range 10 {
		s.note("a", "acme", 10)
		if _, err := Stored(t.Context(), s.records, s.c.at, "acme"); err != nil {
			t.Fatal(err)
		}
		s.meter()
		s.want("acme", 10)
		s.c.at = s.c.at.Add(20 * time.Hour)
	}
	for range 2 {
		if got, err := Stored(t.Context(), s.records, s.c.at, "acme"); err != nil || got != 10 {
			t.Errorf("got %d, %v", got, err)
		}
		s.c.at = s.c.at.Add(20 * time.Hour)
	}
	if got, err := Stored(t.Context(), s.records, s.c.at, "acme"); err == nil || got != 0 {
		t.Errorf("got %d, %v from metering that does not run", got, err)
	}
}

// Metering writes the sums of many namespaces, and asking at the same time loses nothing.
func TestManySums(t *testing.T) {
	s := newSummed(t)
	const namespaces = page + 20
	for i := range namespaces {
		name := string(rune('a' + i))
		s.note(name, name, int64(i))
		s.want(name, 0)
	}
	s.meter()
	for i := range namespaces {
		s.want(string(rune('a'+i)), int64(i))
	}
}
