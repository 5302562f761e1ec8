package usage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The sizes of tables are added up by namespace. A renamed table moves, and one that nobody visits any more is forgotten.
func TestStoredBytesAreThoseOfTheLastVisits(t *testing.T) {
	c := &clock{noon}
	records := newLossy(c)
	note := func(location, namespace string, bytes int64) {
		t.Helper()
		if err := NoteStored(t.Context(), records, c.at, location, namespace, bytes); err != nil {
			t.Fatal(err)
		}
	}
	want := func(sums map[string]int64) {
		t.Helper()
		got, err := ReadStored(t.Context(), records)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sums, got); diff != "" {
			t.Error(diff)
		}
	}
	want(map[string]int64{})
	note("a", "acme", 10)
	note("b", "acme", 5)
	note("c", "bolt", 7)
	note("d", "", 1)
	want(map[string]int64{"acme": 15, "bolt": 7, "": 1})
	note("a", "acme", 3)
	note("b", "bolt", 5)
	want(map[string]int64{"acme": 3, "bolt": 12, "": 1})
	c.at = c.at.Add(30 * time.Hour)
	note("a", "acme", 3)
	c.at = c.at.Add(30 * time.Hour)
	want(map[string]int64{"acme": 3})
}

// A table that many writes visit costs a read at each visit, and few writes.
func TestAnUnchangedSizeIsSeldomWritten(t *testing.T) {
	c := &clock{noon}
	records := newLossy(c)
	for range 4 * 24 {
		if err := NoteStored(t.Context(), records, c.at, "a", "acme", 10); err != nil {
			t.Fatal(err)
		}
		c.at = c.at.Add(15 * time.Minute)
	}
	if records.puts != 2 {
		t.Errorf("%d writes in a day, want 2", records.puts)
	}
}

// All sizes are read, however many there are.
func TestManySizes(t *testing.T) {
	c := &clock{noon}
	records := newLossy(c)
	const tables = 2*page + 50
	for i := range tables {
		if err := NoteStored(t.Context(), records, c.at, string(rune('a'+i)), "acme", 1); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadStored(t.Context(), records)
	if err != nil || got["acme"] != tables {
		t.Errorf("got %v, %v", got, err)
	}
}
