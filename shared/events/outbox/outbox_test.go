package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// thing is an object whose number of changes grows; each change is an event.
type thing struct {
	name    string
	mu      sync.Mutex
	changes int
}

func (o *thing) key() string { return "event-mark/" + o.name }

func (o *thing) change() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changes++
}

// news announces the changes since the mark, some at a time.
func (o *thing) news(text json.RawMessage) (News, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	done := 0
	if text != nil {
		if err := json.Unmarshal(text, &done); err != nil {
			return News{}, err
		}
	}
	var news News
	for n := done + 1; n <= o.changes && len(news.Events) < 3; n++ {
		news.Events = append(news.Events, eventapi.Event{ID: fmt.Sprintf("%s/%d", o.name, n), Type: eventapi.TableCommitted, Data: eventapi.Data{ID: []string{o.name}}})
		news.Mark = n
	}
	return news, nil
}

// all reads the log from the beginning, in pages of a size.
func all(t *testing.T, l *Log, limit int) []string {
	t.Helper()
	var ids []string
	var at Cursor
	for {
		page, err := l.Read(t.Context(), at, limit, func(*eventapi.Event) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			ids = append(ids, e.ID)
		}
		if at = page.Next; !page.More {
			return ids
		}
	}
}

// complete announces what is left, without faults.
func complete(t *testing.T, at place, things ...*thing) {
	t.Helper()
	for _, o := range things {
		for {
			wrote, err := process(at, time.Now).Announce(t.Context(), o.key(), o.news)
			if err != nil {
				t.Fatal(err)
			}
			if wrote == 0 {
				break
			}
		}
	}
}

// checkOnce checks that the log holds each change of each thing once, those of a thing in their order.
func checkOnce(t *testing.T, ids []string, things ...*thing) {
	t.Helper()
	next := map[string]int{}
	for _, id := range ids {
		for _, o := range things {
			if id == fmt.Sprintf("%s/%d", o.name, next[o.name]+1) {
				next[o.name]++
				id = ""
				break
			}
		}
		if id != "" {
			t.Fatalf("%s comes twice or too early in %v", id, ids)
		}
	}
	for _, o := range things {
		if next[o.name] != o.changes {
			t.Fatalf("the log has %d of the %d changes of %s", next[o.name], o.changes, o.name)
		}
	}
}

var errCrashed = errors.New("the process has crashed")

// crashing lets a process die at its request n: before it, or after it and before the answer.
func crashing(inner place, n int, after bool) place {
	calls := 0
	return inner.with(func(write bool) faultstore.Fault {
		calls++
		switch {
		case calls < n:
			return faultstore.Fault{}
		case calls == n && after && write:
			return faultstore.Fault{Lost: true}
		}
		return faultstore.Fault{Err: errCrashed}
	})
}

// A process dies at each of its requests in turn. Another object announces something between the two writes that
// the process might have left, so that its position may be taken.
func TestOutboxLosesAndRepeatsNoEventAfterACrash(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			for n, crashed := 1, true; crashed; n++ {
				for _, after := range []bool{false, true} {
					for _, between := range []bool{false, true} {
						objects := open(t)
						a, b := &thing{name: "a"}, &thing{name: "b"}
						a.changes, b.changes = 2, 1
						complete(t, objects, a, b)
						a.change()
						_, err := process(crashing(objects, n, after), time.Now).Announce(t.Context(), a.key(), a.news)
						crashed = err != nil
						if between {
							b.change()
							complete(t, objects, b)
						}
						a.change()
						complete(t, objects, a, b)
						for _, limit := range []int{1, 2, 100} {
							checkOnce(t, all(t, process(objects, time.Now).Log, limit), a, b)
						}
					}
				}
			}
		})
	}
}

// Several processes announce the same objects at the same time, and lose requests and answers, while a reader
// follows the log. The reader sees each event once, without a look back.
func TestOutboxAnnouncesOnceFromManyProcesses(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			seeds := uint64(8)
			if name != "memory" { // which waits for nobody
				seeds = 2
			}
			for seed := range seeds {
				objects := open(t)
				things := []*thing{{name: "a"}, {name: "b"}, {name: "c"}}
				var writers, reader sync.WaitGroup
				for p := range uint64(4) {
					writers.Go(func() { wander(t.Context(), objects, rand.New(rand.NewPCG(seed, p)), things) })
				}
				var followed []string
				stop := make(chan struct{})
				reader.Go(func() { followed = follow(t, objects, stop) })
				writers.Wait()
				complete(t, objects, things...)
				close(stop)
				reader.Wait()
				checkOnce(t, followed, things...)
				checkOnce(t, all(t, process(objects, time.Now).Log, 7), things...)
			}
		})
	}
}

// wander changes and announces things. Now and then the process is replaced by a new one, and some of its
// requests fail.
func wander(ctx context.Context, at place, dice *rand.Rand, things []*thing) {
	var mu sync.Mutex
	faulty := at.with(func(write bool) faultstore.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch roll := dice.IntN(30); {
		case roll == 0:
			return faultstore.Fault{Err: errCrashed}
		case roll == 1 && write:
			return faultstore.Fault{Lost: true}
		case roll == 2 && write:
			return faultstore.Fault{Err: objectstore.ErrUnknownOutcome}
		}
		return faultstore.Fault{}
	})
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return dice.IntN(n)
	}
	p := process(faulty, time.Now)
	for range 12 {
		o := things[roll(len(things))]
		o.change()
		if _, err := p.Announce(ctx, o.key(), o.news); err != nil || roll(4) == 0 {
			p = process(faulty, time.Now)
		}
	}
}

// follow reads the log to its end until stop is closed.
func follow(t *testing.T, in place, stop chan struct{}) (ids []string) {
	l := process(in, time.Now).Log
	var at Cursor
	for stopped := false; ; {
		page, err := l.Read(t.Context(), at, 5, func(*eventapi.Event) bool { return true })
		if err != nil {
			t.Error(err)
			return ids
		}
		for _, e := range page.Events {
			ids = append(ids, e.ID)
		}
		at = page.Next
		if page.More {
			continue
		}
		if stopped {
			return ids
		}
		select {
		case <-stop:
			stopped = true
		default:
		}
	}
}

func TestEventIsACloudEvent(t *testing.T) {
	objects := place{objects: memstore.New()}
	a := &thing{name: "a", changes: 1}
	complete(t, objects, a)
	page, err := process(objects, time.Now).Log.Read(t.Context(), Cursor{}, 10, func(*eventapi.Event) bool { return true })
	if err != nil || len(page.Events) != 1 {
		t.Fatalf("got %v, %v", page, err)
	}
	e := page.Events[0]
	if e.SpecVersion != "1.0" || e.Source != "urn:test" || e.DataContentType != "application/json" || e.ID != "a/1" || e.Time.IsZero() {
		t.Errorf("got %+v", e)
	}
}

// Old entries go. What is read after that says from where on events are kept, and no batch is repeated because its
// entry is gone.
func TestOldEventsExpire(t *testing.T) {
	objects := place{objects: memstore.New()}
	now := time.Now()
	clock := func() time.Time { return now }
	a, b := &thing{name: "a", changes: 3}, &thing{name: "b", changes: 3}
	complete(t, objects, a, b)
	now = now.Add(MinRetention / 2)
	if deleted, err := process(objects, clock).Expire(t.Context(), 0, 100); err != nil || deleted != 0 {
		t.Fatalf("deleted %d, %v, before the time", deleted, err)
	}
	now = now.Add(MinRetention)
	if deleted, err := process(objects, clock).Expire(t.Context(), 0, 1); err != nil || deleted != 1 {
		t.Fatalf("deleted %d, %v; want one", deleted, err)
	}
	var expired *ExpiredError
	_, err := process(objects, clock).Log.Read(t.Context(), Cursor{}, 100, func(*eventapi.Event) bool { return true })
	if !errors.As(err, &expired) || expired.Oldest.String() != "1" {
		t.Fatalf("got %v, want that the cursor 1 is the oldest", err)
	}
	if deleted, err := process(objects, clock).Expire(t.Context(), 0, 100); err != nil || deleted != 1 {
		t.Fatalf("deleted %d, %v; want the other one", deleted, err)
	}
	a.change()
	complete(t, objects, a, b)
	l := process(objects, clock).Log
	oldest, err := l.Oldest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := l.Read(t.Context(), oldest, 100, func(*eventapi.Event) bool { return true })
	if err != nil || len(page.Events) != 1 || page.Events[0].ID != "a/4" {
		t.Errorf("got %+v, %v; want a/4 alone", page.Events, err)
	}
}

// A process dies at each request of an expiry; the next one does the rest.
func TestExpiryDoesNoHarmWhenItCrashes(t *testing.T) {
	for n, crashed := 1, true; crashed; n++ {
		for _, after := range []bool{false, true} {
			objects := place{objects: memstore.New()}
			a, b := &thing{name: "a", changes: 1}, &thing{name: "b", changes: 1}
			complete(t, objects, a, b)
			// The record of b keeps its batch: nobody has looked since.
			b.change()
			if _, err := process(objects, time.Now).Announce(t.Context(), b.key(), b.news); err != nil {
				t.Fatal(err)
			}
			later := func() time.Time { return time.Now().Add(2 * MinRetention) }
			_, err := process(crashing(objects, n, after), later).Expire(t.Context(), 0, 100)
			crashed = err != nil
			if _, err := process(objects, later).Expire(t.Context(), 0, 100); err != nil {
				t.Fatal(err)
			}
			complete(t, objects, a, b)
			l := process(objects, time.Now).Log
			oldest, err := l.Oldest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			page, err := l.Read(t.Context(), oldest, 100, func(*eventapi.Event) bool { return true })
			if err != nil || len(page.Events) != 0 || page.More {
				t.Fatalf("crash at %d: got %+v, %v; want no event", n, page.Events, err)
			}
			if listed, err := objects.objects.List(t.Context(), objectstore.ListOptions{Prefix: logFolder}); err != nil || len(listed.Objects) != 0 {
				t.Fatalf("crash at %d: entries are left: %v, %v", n, listed.Objects, err)
			}
		}
	}
}

// A process dies at each request of an expiry that deletes all there is; what another one announces then is read.
func TestAnnouncementsAfterACrashOfAnExpiry(t *testing.T) {
	for n, crashed := 1, true; crashed; n++ {
		objects := place{objects: memstore.New()}
		a, b := &thing{name: "a", changes: 8}, &thing{name: "b", changes: 8}
		complete(t, objects, a, b)
		later := func() time.Time { return time.Now().Add(2 * MinRetention) }
		_, err := process(crashing(objects, n, false), later).Expire(t.Context(), 0, 100)
		crashed = err != nil
		a.change()
		complete(t, objects, a, b)
		l := process(objects, time.Now).Log
		oldest, err := l.Oldest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		page, err := l.Read(t.Context(), oldest, 100, func(*eventapi.Event) bool { return true })
		if err != nil || len(page.Events) == 0 || page.Events[len(page.Events)-1].ID != "a/9" {
			t.Fatalf("crash at %d: got %+v, %v; want a/9 at the end", n, page.Events, err)
		}
	}
}

// Somebody deletes entries: in time the log goes on behind them.
func TestLostEntriesExpire(t *testing.T) {
	objects := place{objects: memstore.New()}
	a := &thing{name: "a", changes: 15}
	complete(t, objects, a) // five entries
	for _, lost := range []uint64{1, 3, 4} {
		if err := objects.objects.Delete(t.Context(), keyAt(lost), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	checkLost := func(want uint64) {
		t.Helper()
		if lost, err := process(objects, time.Now).Log.Lost(t.Context()); err != nil || lost != want {
			t.Errorf("lost is %d, %v; want %d", lost, err, want)
		}
	}
	checkLost(1)
	now := time.Now()
	clock := func() time.Time { return now }
	for _, c := range []struct {
		age    time.Duration
		oldest string
		lost   uint64
	}{{0, "1", 3}, {2 * MinRetention, "5", 0}, {0, "5", 0}} {
		now = now.Add(c.age)
		if _, err := process(objects, clock).Expire(t.Context(), 0, 100); err != nil {
			t.Fatal(err)
		}
		if oldest, err := process(objects, clock).Log.Oldest(t.Context()); err != nil || oldest.String() != c.oldest {
			t.Errorf("the oldest is %s, %v; want %s", oldest, err, c.oldest)
		}
		checkLost(c.lost)
	}
}

// The requests of an announcement; docs/events.md has them.
func TestRequestsOfAnAnnouncement(t *testing.T) {
	objects := place{objects: memstore.New()}
	counted := faultstore.New(objects.objects, nil)
	p := process(place{objects: counted}, time.Now)
	a := &thing{name: "a"}
	for _, step := range []struct {
		name    string
		changes int
		want    map[faultstore.Kind]int
	}{
		{"the first of all", 1, map[faultstore.Kind]int{faultstore.Get: 2, faultstore.List: 1, faultstore.PutIfAbsent: 2}},
		{"the next one", 1, map[faultstore.Kind]int{faultstore.Get: 2, faultstore.PutIfAbsent: 1, faultstore.PutIfMatch: 1}},
		{"a look that finds nothing", 0, map[faultstore.Kind]int{faultstore.Get: 2, faultstore.PutIfMatch: 1}},
		{"another one", 0, map[faultstore.Kind]int{faultstore.Get: 1}},
	} {
		a.changes += step.changes
		counted.Reset()
		if _, err := p.Announce(t.Context(), a.key(), a.news); err != nil {
			t.Fatal(err)
		}
		if got := counted.Snapshot().ByKind; fmt.Sprint(got) != fmt.Sprint(step.want) {
			t.Errorf("%s: got %v, want %v", step.name, got, step.want)
		}
	}
}

func FuzzParseCursor(f *testing.F) {
	for _, text := range []string{"0", "12", "12.3", "-1", "1.0", "9223372036854775807.2147483647", "", "1.", "latest"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCursor(text)
		if err == nil && c.String() != text || err != nil && protocol.CodeOf(err) != protocol.InvalidInput {
			t.Errorf("%q is read as %+v, %v", text, c, err)
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	f.Add([]byte(`{"batch":"b","key":"event-mark/a","events":[{"id":"a/1","time":"2026-01-02T03:04:05Z","data":{"id":["a"]}}]}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseEntry("fuzzed", data)
		if err != nil {
			return
		}
		again, err := json.Marshal(e)
		if err == nil {
			_, err = parseEntry("again", again)
		}
		if err != nil {
			t.Errorf("%s is read, and cannot be written and read again: %v", data, err)
		}
	})
}
