// Package recordtest tests the contract of record.Store; every implementation runs it. Its keys are new in
// each run, so the store may have other users.
package recordtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tiltyard/shared/storage/record"
)

// Run tests the stores that open returns, each with the given clock.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) record.Store) {
	tests := []struct {
		name string
		run  func(*testing.T, *kit)
	}{
		{"CreateAndReplace", createAndReplace},
		{"EachWriteIsAnotherVersion", eachWriteIsAnotherVersion},
		{"Delete", deletes},
		{"Expiry", expiry},
		{"ListPages", listPages},
		{"ListLeavesOutWhatExpired", listLeavesOutWhatExpired},
		{"Mistakes", mistakes},
		{"LargestValue", largestValue},
		{"OneCreatorWins", oneCreatorWins},
		{"NoUpdateIsLost", noUpdateIsLost},
		{"CancelledContext", cancelledContext},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			k := &kit{folder: "test-" + strings.ToLower(strings.NewReplacer("/", "-", "#", "-").Replace(t.Name())) + fmt.Sprintf("-%d", time.Now().UnixNano())}
			k.clock.Store(time.Now().Unix())
			k.Store = open(t, func() time.Time { return time.Unix(k.clock.Load(), 0) })
			test.run(t, k)
		})
	}
}

// kit is a store with an adjustable clock and a folder for one test.
type kit struct {
	record.Store
	folder string
	clock  atomic.Int64 // seconds
}

func (k *kit) key(name string) string { return k.folder + "/" + name }

func (k *kit) in(seconds int64) time.Time { return time.Unix(k.clock.Load()+seconds, 0) }

func (k *kit) put(t *testing.T, name, value, version string, expires time.Time) string {
	t.Helper()
	got, err := k.Put(t.Context(), record.Record{Key: k.key(name), Value: json.RawMessage(value), Version: version, Expires: expires})
	if err != nil {
		t.Fatalf("Put(%s): %v", name, err)
	}
	return got
}

func (k *kit) want(t *testing.T, name, value, version string) {
	t.Helper()
	got, err := k.Get(t.Context(), k.key(name))
	if err != nil {
		t.Fatalf("Get(%s): %v", name, err)
	}
	if got.Key != k.key(name) || string(got.Value) != value || got.Version != version {
		t.Fatalf("Get(%s): got %s %s at %q, want %s at %q", name, got.Key, got.Value, got.Version, value, version)
	}
}

func (k *kit) refuse(t *testing.T, name, version string, want error) {
	t.Helper()
	_, err := k.Put(t.Context(), record.Record{Key: k.key(name), Value: json.RawMessage(`"refused"`), Version: version})
	if !errors.Is(err, want) {
		t.Fatalf("Put(%s) over version %q: got %v, want %v", name, version, err, want)
	}
}

func createAndReplace(t *testing.T, k *kit) {
	if _, err := k.Get(t.Context(), k.key("a")); !errors.Is(err, record.ErrNotExist) {
		t.Fatalf("Get before anything was put: got %v, want ErrNotExist", err)
	}
	k.refuse(t, "a", "never was", record.ErrConflict)
	first := k.put(t, "a", `{"n":1}`, "", time.Time{})
	k.want(t, "a", `{"n":1}`, first)
	k.refuse(t, "a", "", record.ErrConflict)
	k.want(t, "a", `{"n":1}`, first)
	second := k.put(t, "a", `{"n":2,"s":"é<&>"}`, first, time.Time{})
	k.refuse(t, "a", first, record.ErrConflict)
	k.want(t, "a", `{"n":2,"s":"é<&>"}`, second)
}

func eachWriteIsAnotherVersion(t *testing.T, k *kit) {
	seen := map[string]bool{}
	version := ""
	for range 5 {
		version = k.put(t, "a", `"the same"`, version, time.Time{})
		if seen[version] || version == "" {
			t.Fatalf("version %q was there before", version)
		}
		seen[version] = true
	}
}

func deletes(t *testing.T, k *kit) {
	first := k.put(t, "a", "1", "", time.Time{})
	second := k.put(t, "a", "2", first, time.Time{})
	for _, version := range []string{first, "", "never was"} {
		if err := k.Delete(t.Context(), k.key("a"), version); !errors.Is(err, record.ErrConflict) {
			t.Fatalf("Delete of version %q: got %v, want ErrConflict", version, err)
		}
	}
	k.want(t, "a", "2", second)
	if err := k.Delete(t.Context(), k.key("a"), second); err != nil {
		t.Fatalf("Delete: %v", err)
	}
	if err := k.Delete(t.Context(), k.key("a"), second); !errors.Is(err, record.ErrConflict) {
		t.Fatalf("second Delete: got %v, want ErrConflict", err)
	}
	k.refuse(t, "a", second, record.ErrConflict)
	k.want(t, "a", "3", k.put(t, "a", "3", "", time.Time{}))
}

func expiry(t *testing.T, k *kit) {
	version := k.put(t, "a", "1", "", k.in(10))
	k.want(t, "a", "1", version)
	if got, _ := k.Get(t.Context(), k.key("a")); !got.Expires.Equal(k.in(10)) {
		t.Errorf("expires at %v, want %v", got.Expires, k.in(10))
	}
	k.refuse(t, "a", "", record.ErrConflict)
	k.clock.Add(10)
	if got, err := k.Get(t.Context(), k.key("a")); !errors.Is(err, record.ErrNotExist) {
		t.Fatalf("Get of what has expired: got %+v, %v; want ErrNotExist", got, err)
	}
	again := k.put(t, "a", "2", "", time.Time{})
	k.want(t, "a", "2", again)
	k.refuse(t, "a", version, record.ErrConflict)
}

func listPages(t *testing.T, k *kit) {
	names := []string{"-", "0", "00", "1-a", "9", "_", "a", "aa", "z"}
	for _, name := range names {
		k.put(t, name, `"`+name+`"`, "", time.Time{})
	}
	k.put(t, "below/a", "1", "", time.Time{})
	if _, err := k.Put(t.Context(), record.Record{Key: k.folder + "x/a", Value: json.RawMessage("1")}); err != nil {
		t.Fatal(err)
	}
	for limit := 1; limit <= len(names)+1; limit++ {
		var got []string
		for after := ""; ; {
			page, err := k.List(t.Context(), k.folder, after, limit)
			if err != nil {
				t.Fatalf("List after %q: %v", after, err)
			}
			if len(page.Records) > limit {
				t.Fatalf("a page of %d records, want at most %d", len(page.Records), limit)
			}
			for _, r := range page.Records {
				_, name := record.SplitKey(r.Key)
				if string(r.Value) != `"`+name+`"` || r.Version == "" {
					t.Errorf("%s holds %s at %q, want its own name and a version", r.Key, r.Value, r.Version)
				}
				got = append(got, name)
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if strings.Join(got, " ") != strings.Join(names, " ") {
			t.Errorf("pages of %d: got %q, want %q", limit, got, names)
		}
	}
}

func listLeavesOutWhatExpired(t *testing.T, k *kit) {
	k.put(t, "a", "1", "", k.in(5))
	k.put(t, "b", "2", "", k.in(50))
	k.clock.Add(5)
	page, err := k.List(t.Context(), k.folder, "", 10)
	if err != nil || len(page.Records) != 1 || page.Records[0].Key != k.key("b") {
		t.Fatalf("List: got %+v, %v; want b alone", page, err)
	}
}

func mistakes(t *testing.T, k *kit) {
	for _, r := range []record.Record{
		{Key: "nofolder", Value: json.RawMessage("1")},
		{Key: "../a", Value: json.RawMessage("1")},
		{Key: k.key("UPPER"), Value: json.RawMessage("1")},
		{Key: k.key("a")},
		{Key: k.key("a"), Value: json.RawMessage("{")},
		{Key: k.key("a"), Value: json.RawMessage(`"` + strings.Repeat("x", record.MaxValueBytes) + `"`)},
	} {
		if _, err := k.Put(t.Context(), r); err == nil {
			t.Errorf("Put(%.80q, %.80q) is accepted", r.Key, r.Value)
		}
	}
	if _, err := k.Get(t.Context(), "nofolder"); err == nil || errors.Is(err, record.ErrNotExist) {
		t.Errorf("Get of what is no key: got %v, want another error", err)
	}
	if err := k.Delete(t.Context(), "nofolder", "v"); err == nil || errors.Is(err, record.ErrConflict) {
		t.Errorf("Delete of what is no key: got %v, want another error", err)
	}
	for _, limit := range []int{0, -1} {
		if _, err := k.List(t.Context(), k.folder, "", limit); err == nil {
			t.Errorf("List of %d records is accepted", limit)
		}
	}
}

func largestValue(t *testing.T, k *kit) {
	value := `"` + strings.Repeat("x", record.MaxValueBytes-2) + `"`
	version := k.put(t, strings.Repeat("k", record.MaxKeyBytes-len(k.folder)-1), value, "", time.Time{})
	k.want(t, strings.Repeat("k", record.MaxKeyBytes-len(k.folder)-1), value, version)
}

const (
	racers = 32
	rounds = 5
)

// race starts n goroutines together and waits for them.
func race(n int, run func(i int)) {
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		done.Go(func() {
			start.Wait()
			run(i)
		})
	}
	start.Done()
	done.Wait()
}

// If many writers create a record, or replace an expired one, exactly one succeeds.
func oneCreatorWins(t *testing.T, k *kit) {
	for round := range rounds {
		var wins atomic.Int64
		var winner atomic.Value
		race(racers, func(i int) {
			r := record.Record{Key: k.key("a"), Value: json.RawMessage(fmt.Sprint(i)), Expires: k.in(1)}
			version, err := k.Put(t.Context(), r)
			switch {
			case err == nil:
				wins.Add(1)
				winner.Store([2]string{string(r.Value), version})
			case !errors.Is(err, record.ErrConflict):
				t.Errorf("losing Put: got %v, want ErrConflict", err)
			}
		})
		if wins.Load() != 1 {
			t.Fatalf("round %d: got %d winners, want 1", round, wins.Load())
		}
		won := winner.Load().([2]string)
		k.want(t, "a", won[0], won[1])
		k.clock.Add(1)
	}
}

func noUpdateIsLost(t *testing.T, k *kit) {
	const each = 3
	k.put(t, "a", "0", "", time.Time{})
	race(racers/2, func(int) {
		for range each {
			if err := increment(t.Context(), k); err != nil {
				t.Errorf("increment: %v", err)
			}
		}
	})
	if got, _ := k.Get(t.Context(), k.key("a")); string(got.Value) != fmt.Sprint(racers/2*each) {
		t.Errorf("got %s increments, want %d", got.Value, racers/2*each)
	}
}

// increment adds one to the number in the record, and retries as often as necessary.
func increment(ctx context.Context, k *kit) error {
	for {
		r, err := k.Get(ctx, k.key("a"))
		if err != nil {
			return err
		}
		var n int
		if err := json.Unmarshal(r.Value, &n); err != nil {
			return err
		}
		r.Value = json.RawMessage(fmt.Sprint(n + 1))
		if _, err = k.Put(ctx, r); !errors.Is(err, record.ErrConflict) {
			return err
		}
	}
}

func cancelledContext(t *testing.T, k *kit) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.Get(ctx, k.key("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("Get: got %v, want context.Canceled", err)
	}
	if _, err := k.Put(ctx, record.Record{Key: k.key("a"), Value: json.RawMessage("1")}); !errors.Is(err, context.Canceled) {
		t.Errorf("Put: got %v, want context.Canceled", err)
	}
}
