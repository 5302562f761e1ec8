package idempotency

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
)

func open() *Ledger { return Open(objectrecord.Open(memstore.New(), time.Now), time.Now) }

var (
	request = Request{Principal: "p", Operation: "DeleteFromTable", Object: "ns$t", Key: "k", Body: [32]byte{1}, Lease: time.Minute}
	done    = Answer{Status: 200, Header: json.RawMessage(`{"X":"1"}`), Body: json.RawMessage(`{"version":7}`)}
)

// begin notes a request that is not noted.
func begin(t *testing.T, l *Ledger, r Request) *Note {
	t.Helper()
	answer, note, err := l.Begin(t.Context(), r)
	if answer != nil || note == nil || err != nil {
		t.Fatalf("Begin: got %+v, %v, %v; want a note", answer, note, err)
	}
	return note
}

func TestBeginAnswersARepeatWithTheFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open()
		if err := begin(t, l, request).Finish(t.Context(), done); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			answer, note, err := l.Begin(t.Context(), request)
			if note != nil || err != nil {
				t.Fatalf("got note %v, %v; want an answer", note, err)
			}
			if diff := cmp.Diff(&done, answer); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		}
		time.Sleep(Retention)
		begin(t, l, request)
	})
}

func TestRequestsThatDifferHaveNotesOfTheirOwn(t *testing.T) {
	l := open()
	begin(t, l, request)
	for _, change := range []func(*Request){
		func(r *Request) { r.Principal = "other" },
		func(r *Request) { r.Operation = "UpdateTable" },
		func(r *Request) { r.Object = "ns$u" },
		func(r *Request) { r.Key = "other" },
		func(r *Request) { r.Object, r.Key = "ns$tk", "" },
	} {
		other := request
		change(&other)
		begin(t, l, other)
	}
}

func TestBeginTakesAKeyForOneBody(t *testing.T) {
	l := open()
	note := begin(t, l, request)
	other := request
	other.Body[0]++
	for range 2 {
		if _, _, err := l.Begin(t.Context(), other); !errors.Is(err, ErrOtherRequest) {
			t.Errorf("another body: got %v, want ErrOtherRequest", err)
		}
		_ = note.Finish(t.Context(), done)
	}
}

func TestBeginWaitsForTheFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open()
		note := begin(t, l, request)
		go func() {
			time.Sleep(5 * time.Second)
			if err := note.Finish(t.Context(), done); err != nil {
				t.Errorf("Finish: %v", err)
			}
		}()
		answer, _, err := l.Begin(t.Context(), request)
		if err != nil || answer == nil || answer.Status != done.Status {
			t.Errorf("got %+v, %v; want the first answer", answer, err)
		}
	})
}

func TestBeginDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open()
		begin(t, l, request)
		start := time.Now()
		if _, _, err := l.Begin(t.Context(), request); !errors.Is(err, ErrInFlight) {
			t.Errorf("got %v, want ErrInFlight", err)
		}
		if took := time.Since(start); took < maxWait || took > maxWait+time.Second {
			t.Errorf("waited for %v, want %v", took, maxWait)
		}
	})
}

// A process that died during a request holds it up for its lease and no longer. The process that
// takes over knows the id of its changes.
func TestNoteThatNobodyEndsRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open()
		dead := begin(t, l, request)
		id, began := dead.attempt.id, time.Now()
		time.Sleep(request.Lease)
		alive := begin(t, l, request)
		if got, since := alive.Attempt().Carry(nil)(); got != id || !since.Equal(began) {
			t.Errorf("attempt: got %s since %v, want %s since %v", got, since, id, began)
		}
		if err := dead.Finish(t.Context(), done); err == nil {
			t.Error("the note that ran out is finished, want an error")
		}
		if err := alive.Finish(t.Context(), done); err != nil {
			t.Errorf("Finish: %v", err)
		}
	})
}

// A failure does not delete a note that was taken over, because the change of the first process may
// exist. Only one of several processes takes it over at a time.
func TestNoteOfAnUnsettledRequestIsLeftToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open()
		note := begin(t, l, request)
		id, _ := note.Attempt().Carry(nil)()
		for _, unsettled := range []bool{true, false, true} {
			if ok, err := note.Failed(t.Context(), unsettled); !ok || err != nil {
				t.Fatalf("Failed(%v): got %v, %v; want it left", unsettled, ok, err)
			}
			note = begin(t, l, request)
			if got, since := note.Attempt().Carry(nil)(); got != id || since.IsZero() {
				t.Errorf("attempt: got %s since %v, want %s again", got, since, id)
			}
			if _, _, err := l.Begin(t.Context(), request); !errors.Is(err, ErrInFlight) {
				t.Errorf("another attempt meanwhile: got %v, want ErrInFlight", err)
			}
		}
	})
}

// The changes of a request without an id could not be found again, so its note is not left.
func TestNoteWithoutIDOfChangesIsNotLeft(t *testing.T) {
	note := begin(t, open(), request)
	if ok, err := note.Failed(t.Context(), true); ok || err != nil {
		t.Errorf("got %v, %v; want the caller to note the failure", ok, err)
	}
}

func TestNoteOfARequestWithoutChangesIsStruckOut(t *testing.T) {
	l := open()
	for range 3 {
		note := begin(t, l, request)
		if ok, err := note.Failed(t.Context(), false); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if note.Attempt().again() {
			t.Error("what was struck out counts as tried before")
		}
	}
}

func TestBeginLetsOneOfManyAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open()
		var answered, repeated atomic.Int64
		var wait sync.WaitGroup
		for range 16 {
			wait.Go(func() {
				answer, note, err := l.Begin(t.Context(), request)
				switch {
				case err != nil:
					t.Errorf("Begin: %v", err)
				case answer != nil:
					repeated.Add(1)
				default:
					time.Sleep(time.Second)
					answered.Add(1)
					if err := note.Finish(t.Context(), done); err != nil {
						t.Errorf("Finish: %v", err)
					}
				}
			})
		}
		wait.Wait()
		if answered.Load() != 1 || repeated.Load() != 15 {
			t.Errorf("%d answered it and %d got the answer, want 1 and 15", answered.Load(), repeated.Load())
		}
	})
}

// streamed is a request whose body is a stream.
func streamed(body string) Request {
	r := request
	r.Stream = NewDigest(strings.NewReader(body))
	return r
}

// read reads the stream of a request as a service does, and returns the id of its change.
func read(t *testing.T, note *Note, r Request) (id string, since time.Time) {
	t.Helper()
	if err := r.Stream.ReadAll(); err != nil {
		t.Fatal(err)
	}
	return note.Attempt().Carry(nil)()
}

// A process may die before it has read the stream of a request. A request with the same stream is
// then the same attempt, and finds its changes; a request with another stream is a new attempt.
func TestStreamsOfProcessesThatDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open()
		r := streamed("rows")
		first, _ := read(t, begin(t, l, r), r)
		time.Sleep(request.Lease)
		r = streamed("other rows")
		other, since := read(t, begin(t, l, r), r)
		if other == first || since.IsZero() {
			t.Errorf("other rows are attempt %s since %s, the first was %s", other, since, first)
		}
		time.Sleep(request.Lease)
		r = streamed("rows")
		note := begin(t, l, r)
		again, since := read(t, note, r)
		if again != first || since.IsZero() {
			t.Errorf("the same rows are attempt %s since %s, want %s again", again, since, first)
		}
		if err := note.Finish(t.Context(), done); err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.Begin(t.Context(), streamed("other rows")); !errors.Is(err, ErrOtherRequest) {
			t.Errorf("other rows after the answer: got %v, want ErrOtherRequest", err)
		}
		if answer, _, err := l.Begin(t.Context(), streamed("rows")); answer == nil || err != nil {
			t.Errorf("the same rows after the answer: got %v, %v, want the answer", answer, err)
		}
	})
}

// Once the rows of an unsettled attempt are known, a request with other rows ends before it writes
// any.
func TestStreamsAfterAnUnsettledAttempt(t *testing.T) {
	l := open()
	r := streamed("rows")
	note := begin(t, l, r)
	read(t, note, r)
	if ended, err := note.Failed(t.Context(), true); !ended || err != nil {
		t.Fatal(ended, err)
	}
	other := streamed("other rows")
	note = begin(t, l, other)
	if err := other.Stream.ReadAll(); !errors.Is(err, ErrOtherRequest) {
		t.Errorf("the end of other rows: got %v, want ErrOtherRequest", err)
	}
	if _, err := note.Failed(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	r = streamed("rows")
	if _, since := read(t, begin(t, l, r), r); since.IsZero() {
		t.Error("the same rows are not taken for the attempt before")
	}
}
