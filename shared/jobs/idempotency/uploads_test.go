package idempotency

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
)

var insert = Upload{Principal: "p", Operation: "InsertIntoTable", Target: "/v1/table/t/insert?"}

// A fleet is a set of processes over one storage, and the sign that one of them has left.
type fleet struct {
	objects objectstore.Store
	signed  atomic.Bool
}

func (f *fleet) open() *process {
	return &process{f, OpenUploads(Open(objectrecord.Open(f.objects, time.Now), time.Now), time.Now)}
}

// newFleet returns processes over memory.
func newFleet() *fleet { return &fleet{objects: memstore.New()} }

type process struct {
	fleet *fleet
	*Uploads
}

// read opens an upload and reads it to its end, as a service that knows the sign does.
func (p *process) read(ctx context.Context, upload Upload, body string) (*Stream, error) {
	s := p.Open(ctx, upload, strings.NewReader(body))
	if p.fleet.signed.Load() {
		if err := s.Attempt().Recall(ctx); err != nil {
			return s, err
		}
	}
	s.Attempt().Carry(func(context.Context, time.Duration) error { p.fleet.signed.Store(true); return nil })
	_, err := io.Copy(io.Discard, s)
	return s, err
}

// make is read of an upload that has to be made: it returns the attempt, too.
func (p *process) make(t *testing.T, upload Upload, body string) (s *Stream, attempt string, again bool) {
	t.Helper()
	s, err := p.read(context.Background(), upload, body)
	if err != nil {
		t.Fatalf("upload: got %v, want it to be made", err)
	}
	id, since := s.attempt.current()
	return s, id, !since.IsZero()
}

// fresh is make of an upload that is to be one of its own.
func (p *process) fresh(t *testing.T, upload Upload, body string) (*Stream, string) {
	t.Helper()
	s, id, again := p.make(t, upload, body)
	if again {
		t.Errorf("the upload is taken for one before, want it to be its own")
	}
	return s, id
}

// again is make of an upload that is to be known as an earlier one.
func (p *process) again(t *testing.T, upload Upload, body, want string) *Stream {
	t.Helper()
	s, id, again := p.make(t, upload, body)
	if !again || id != want {
		t.Errorf("the upload is attempt %s (again: %v), want %s again", id, again, want)
	}
	return s
}

// end answers an upload; the sender has it, or not.
func end(t *testing.T, s *Stream, has bool) {
	t.Helper()
	if mine, err := s.Settle(has); !mine || err != nil {
		t.Fatalf("Settle: %v, %v", mine, err)
	}
	if has {
		s.Answered(done)
	} else if err := s.Lost(done); err != nil {
		t.Fatalf("Lost: %v", err)
	}
}

func TestEqualUploadsWithAnswersAllCount(t *testing.T) {
	p := newFleet().open()
	for range 3 {
		s, _ := p.fresh(t, insert, "rows")
		end(t, s, true)
	}
	one, _ := p.fresh(t, insert, "rows")
	two, _ := p.fresh(t, insert, "rows") // side by side
	end(t, one, true)
	end(t, two, true)
}

// Each upload whose answer was lost is recognized once, in whichever process its repetition
// arrives.
func TestUploadsTakeTheAnswersThatWereLost(t *testing.T) {
	f := newFleet()
	processes := []*process{f.open(), f.open(), f.open()}
	first, id := processes[0].fresh(t, insert, "rows")
	end(t, first, false)
	for _, other := range []Upload{
		{Principal: "q", Operation: insert.Operation, Target: insert.Target},
		{Principal: "p", Operation: "MergeInsertIntoTable", Target: insert.Target},
		{Principal: "p", Operation: insert.Operation, Target: insert.Target + "mode=overwrite"},
	} {
		s, _ := processes[1].fresh(t, other, "rows")
		end(t, s, true)
	}
	s, _ := processes[1].fresh(t, insert, "other rows")
	end(t, s, true)
	end(t, processes[1].again(t, insert, "rows", id), false) // lost once more
	second, other := processes[0].fresh(t, Upload{Principal: "q"}, "rows")
	end(t, second, false)
	end(t, processes[2].again(t, insert, "rows", id), true)
	end(t, processes[2].again(t, Upload{Principal: "q"}, "rows", other), true)
	for _, p := range processes {
		s, _ := p.fresh(t, insert, "rows")
		end(t, s, true)
	}
}

func TestUploadWithoutTroubleAsksNothingOfTheStorage(t *testing.T) {
	f := newFleet()
	f.objects = faultstore.New(f.objects, func(faultstore.Call) faultstore.Fault {
		return faultstore.Fault{Err: errors.New("nothing should be asked")}
	})
	p := f.open()
	for range 3 {
		s, _ := p.fresh(t, insert, "rows")
		end(t, s, true)
	}
}

func TestMarksAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet()
		p := f.open()
		s, _ := p.fresh(t, insert, "rows")
		end(t, s, false)
		time.Sleep(Window + 2*time.Second)
		for _, p := range []*process{p, f.open()} {
			s, _ := p.fresh(t, insert, "rows")
			end(t, s, true)
		}
		if len(p.leaving)+len(p.kept)+len(p.requests)+len(p.aged) > 0 {
			t.Errorf("%d departures, %d marks, %d requests, %d aged are remembered, want none", len(p.leaving), len(p.kept), len(p.requests), len(p.aged))
		}
	})
}

// A mark expires at its own time, even if another mark of the same content is left later.
func TestMarkIsForgottenByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet()
		one, two, three := f.open(), f.open(), f.open()
		first, _ := one.fresh(t, insert, "rows")
		second, id := two.fresh(t, insert, "rows")
		end(t, first, false)
		time.Sleep(Window - time.Second)
		end(t, second, false)
		time.Sleep(2 * time.Second)
		end(t, three.again(t, insert, "rows", id), true)
		s, _ := three.fresh(t, insert, "rows")
		end(t, s, true)
	})
}

func TestRememberedRequestsAreBounded(t *testing.T) {
	p := newFleet().open()
	for i := range maxRemembered + 100 {
		id := insert
		id.ID = time.Duration(i).String()
		s, _ := p.fresh(t, id, "rows")
		end(t, s, true)
	}
	if n := len(p.requests); n > maxRemembered+1 {
		t.Errorf("%d requests are remembered, want at most %d", n, maxRemembered)
	}
}

// An upload with an unknown outcome is attempted again under its id until the outcome is known, in
// any process.
func TestUnsettledUploadIsResumed(t *testing.T) {
	f := newFleet()
	first, id := f.open().fresh(t, insert, "rows")
	began := first.began
	if err := first.Failed(true); err != nil {
		t.Fatal(err)
	}
	for _, unsettled := range []bool{false, true} { // refused for another reason: still unsettled
		s := f.open().again(t, insert, "rows", id)
		if _, since := s.attempt.current(); !since.Equal(began) {
			t.Errorf("it is searched since %v, want %v", since, began)
		}
		if err := s.Failed(unsettled); err != nil {
			t.Fatal(err)
		}
	}
	end(t, f.open().again(t, insert, "rows", id), true)
	s, _ := f.open().fresh(t, insert, "rows")
	end(t, s, true)
}

func TestFailedUploadsLeaveNothing(t *testing.T) {
	f := newFleet()
	p := f.open()
	s, _ := p.fresh(t, insert, "rows")
	if err := s.Failed(false); err != nil {
		t.Fatal(err)
	}
	s = p.Open(context.Background(), insert, strings.NewReader("rows"))
	_, _ = io.Copy(io.Discard, s)
	if err := s.Failed(true); err != nil { // unsettled by other things than its change
		t.Fatal(err)
	}
	s = p.Open(context.Background(), insert, strings.NewReader("not read"))
	s.Attempt().Carry(nil)
	if err := s.Failed(true); err != nil {
		t.Fatal(err)
	}
	if f.signed.Load() || len(p.leaving) > 0 {
		t.Error("something is remembered of an upload that was not made")
	}
}

// If the records cannot be written, the process keeps the mark in its memory.
func TestMarksThatCannotBeStoredAreKept(t *testing.T) {
	for name, fault := range map[string]faultstore.Fault{
		"refused": {Err: errors.New("the storage is down")}, "unknown": {Err: objectstore.ErrUnknownOutcome}, "not answered": {Lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet()
			faulty := faultstore.New(f.objects, func(faultstore.Call) faultstore.Fault { return fault })
			f.objects = faulty
			p := f.open()
			s, id := p.fresh(t, insert, "rows")
			_ = s.Failed(true)
			_, err := p.read(t.Context(), insert, "rows")
			if fault.Err != nil && !errors.Is(err, ErrNotRecalled) {
				t.Errorf("while the storage is down: got %v, want ErrNotRecalled", err)
			}
			faulty.Inject(nil)
			end(t, p.again(t, insert, "rows", id), true)
			s, _ = p.fresh(t, insert, "rows")
			end(t, s, true)
		})
	}
}

// When the deadline passes or the client disconnects, the process leaves a mark while the upload
// still runs, because it may not live to its end.
func TestMarkIsLeftWhileTheUploadIsMade(t *testing.T) {
	for _, c := range []struct {
		name         string
		there, taken bool
		mine         bool // it may be answered
	}{
		{"time is up, and it was made in time after all", true, false, true},
		{"time is up, and it was sent again", true, true, false},
		{"the sender has gone, and sends again", false, true, true},
		{"the sender has gone", false, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet()
				ctx, cancel := context.WithCancel(t.Context())
				slow, err := f.open().read(ctx, insert, "rows")
				if err != nil {
					t.Fatal(err)
				}
				id := slow.id()
				cancel()
				synctest.Wait()
				if c.taken {
					end(t, f.open().again(t, insert, "rows", id), true)
				}
				mine, err := slow.Settle(c.there)
				if mine != c.mine || err != nil {
					t.Fatalf("Settle: got %v, %v, want %v", mine, err, c.mine)
				}
				switch {
				case !mine:
					slow.Close()
				case c.there:
					slow.Answered(done)
				default:
					if err := slow.Lost(done); err != nil {
						t.Fatal(err)
					}
				}
				if !c.there && !c.taken {
					end(t, f.open().again(t, insert, "rows", id), true)
				}
				s, _ := f.open().fresh(t, insert, "rows")
				end(t, s, true)
			})
		})
	}
}

// What is sent again at once, to the same process, waits until the mark is there.
func TestUploadsWaitForMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet()
		f.objects = faultstore.New(f.objects, faultstore.Latency(time.Second))
		p := f.open()
		ctx, cancel := context.WithCancel(t.Context())
		slow, err := p.read(ctx, insert, "rows")
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		time.Sleep(time.Millisecond)
		end(t, p.again(t, insert, "rows", slow.id()), true)
		slow.Close()
	})
}

// The sign may be seen after the upload has been read.
func TestMarksAreRecalledAfterTheEnd(t *testing.T) {
	f := newFleet()
	first, id := f.open().fresh(t, insert, "rows")
	second, _ := f.open().fresh(t, insert, "rows")
	end(t, first, false)
	for range 2 {
		if err := second.Attempt().Recall(t.Context()); err != nil {
			t.Fatal(err)
		}
		if second.id() != id {
			t.Errorf("the upload is attempt %s, want %s", second.id(), id)
		}
	}
	end(t, second, true)
}

// A request with an id that arrives several times is made once, even if the first is still running.
func TestRequestThatComesTwiceIsMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFleet().open()
		named := insert
		named.ID = "7c9e"
		var made atomic.Int64
		send := func() {
			s, err := p.read(t.Context(), named, "rows")
			var before *Repeated
			switch {
			case err == nil:
				time.Sleep(time.Second)
				made.Add(1)
			case !errors.As(err, &before):
				t.Errorf("got %v, want the answer of before", err)
			default:
				if diff := cmp.Diff(done, before.Answer); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
			}
			end(t, s, true)
		}
		for range 4 {
			go send()
		}
		time.Sleep(2 * time.Second)
		send()
		if made.Load() != 1 {
			t.Errorf("it was made %d times, want once", made.Load())
		}
		s, _ := p.fresh(t, named, "other rows")
		end(t, s, true)
		time.Sleep(Window + 1)
		s, _ = p.fresh(t, named, "rows")
		end(t, s, true)
	})
}

func TestRequestIsMadeByTheNextWhenTheFirstFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFleet().open()
		named := insert
		named.ID = "7c9e"
		first, _ := p.fresh(t, named, "rows")
		go func() {
			time.Sleep(time.Second)
			first.Close()
		}()
		s, _ := p.fresh(t, named, "rows")
		end(t, s, true)
	})
}

func TestWaitingForTheSameRequestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFleet().open()
		named := insert
		named.ID = "7c9e"
		first, _ := p.fresh(t, named, "rows")
		defer first.Close()
		if _, err := p.read(t.Context(), named, "rows"); !errors.Is(err, ErrInFlight) {
			t.Errorf("got %v, want ErrInFlight", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.read(ctx, named, "rows"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want it cancelled", err)
		}
	})
}

// Without records marks are known to one process.
func TestMarksWithoutRecords(t *testing.T) {
	p := &process{newFleet(), OpenUploads(nil, time.Now)}
	first, id := p.fresh(t, insert, "rows")
	end(t, first, false)
	end(t, p.again(t, insert, "rows", id), true)
	s, _ := p.fresh(t, insert, "rows")
	end(t, s, true)
}

// stuck is storage whose writes hang until their context ends.
type stuck struct{ objectstore.Store }

func (stuck) Put(ctx context.Context, _ string, _ []byte, _ objectstore.Condition) (objectstore.Info, error) {
	<-ctx.Done()
	return objectstore.Info{}, ctx.Err()
}

// A request whose time is over waits for its mark no longer than a second, whatever the storage does.
func TestMarksDoNotHoldARequestLongAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process := (&fleet{objects: stuck{memstore.New()}}).open()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		s, err := process.read(ctx, insert, "rows")
		if err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if err := s.Failed(true); err == nil {
			t.Error("got no error, want the one of the storage")
		}
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("the request took %v, want at most a second more than its ten", took)
		}
		s.Close()
	})
}
