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
)

var insert = Upload{Principal: "p", Operation: "InsertIntoTable", Target: "/v1/table/t/insert?"}

// read opens an upload and reads it to its end.
func read(u *Uploads, upload Upload, body string) (*Stream, error) {
	s := u.Open(context.Background(), upload, strings.NewReader(body))
	_, err := io.Copy(io.Discard, s)
	return s, err
}

// mustRead is read of an upload that has to be made.
func mustRead(t *testing.T, u *Uploads, upload Upload, body string) *Stream {
	t.Helper()
	s, err := read(u, upload, body)
	if err != nil {
		t.Fatalf("upload: got %v, want it to be made", err)
	}
	return s
}

// mustRepeat is read of an upload that has been made.
func mustRepeat(t *testing.T, u *Uploads, upload Upload, body string) *Stream {
	t.Helper()
	s, err := read(u, upload, body)
	var before *Repeated
	if !errors.As(err, &before) {
		t.Fatalf("upload: got %v, want the answer of before", err)
	}
	if diff := cmp.Diff(done, before.Answer); diff != "" {
		t.Fatalf("answer (-want +got):\n%s", diff)
	}
	return s
}

func TestEqualUploadsWithAnswersAllCount(t *testing.T) {
	u := OpenUploads(time.Now)
	for range 3 {
		mustRead(t, u, insert, "rows").Answered(done)
	}
	one, two := mustRead(t, u, insert, "rows"), mustRead(t, u, insert, "rows") // side by side
	one.Answered(done)
	two.Answered(done)
}

func TestOneUploadTakesTheAnswerThatWasLost(t *testing.T) {
	u := OpenUploads(time.Now)
	mustRead(t, u, insert, "rows").Lost(done)
	for _, other := range []Upload{
		{Principal: "q", Operation: insert.Operation, Target: insert.Target},
		{Principal: "p", Operation: "MergeInsertIntoTable", Target: insert.Target},
		{Principal: "p", Operation: insert.Operation, Target: insert.Target + "mode=overwrite"},
	} {
		mustRead(t, u, other, "rows").Answered(done)
	}
	mustRead(t, u, insert, "other rows").Answered(done)
	mustRepeat(t, u, insert, "rows").Answered(done)
	mustRead(t, u, insert, "rows").Answered(done)
}

func TestAsManyUploadsAreLeftOutAsAnswersWereLost(t *testing.T) {
	u := OpenUploads(time.Now)
	mustRead(t, u, insert, "rows").Lost(done)
	mustRead(t, u, Upload{Principal: "q"}, "rows").Lost(done)
	mustRepeat(t, u, insert, "rows").Lost(done) // lost once more
	mustRepeat(t, u, insert, "rows").Answered(done)
	mustRead(t, u, insert, "rows").Answered(done)
}

func TestLostAnswersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := OpenUploads(time.Now)
		mustRead(t, u, insert, "rows").Lost(done)
		time.Sleep(Window + 1)
		mustRead(t, u, insert, "rows").Answered(done)
		if len(u.lost)+len(u.requests)+len(u.aged) > 0 {
			t.Errorf("%d lost, %d requests, %d aged are remembered, want none", len(u.lost), len(u.requests), len(u.aged))
		}
	})
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	u := OpenUploads(time.Now)
	for i := range maxRemembered + 100 {
		id := insert
		id.ID = time.Duration(i).String()
		mustRead(t, u, id, "rows").Answered(done)
	}
	if n := len(u.requests); n > maxRemembered+1 {
		t.Errorf("%d requests are remembered, want at most %d", n, maxRemembered)
	}
}

// An upload that nobody knows the outcome of is attempted again under its id.
func TestUnsettledUploadIsResumed(t *testing.T) {
	u := OpenUploads(time.Now)
	first := mustRead(t, u, insert, "rows")
	id, since := first.Attempt().Carry()()
	if !since.IsZero() {
		t.Errorf("the first attempt says that it began before, at %v", since)
	}
	first.Failed(true)
	for _, end := range []func(*Stream){
		func(s *Stream) { s.Failed(false) }, // refused for another reason: still unsettled
		func(s *Stream) { s.Failed(true) },
		func(s *Stream) { s.Answered(done) },
	} {
		again := mustRead(t, u, insert, "rows")
		if got, since := again.Attempt().Carry()(); got != id || !since.Equal(first.began) {
			t.Errorf("attempt again: got %s since %v, want %s since %v", got, since, id, first.began)
		}
		end(again)
	}
	if got, since := mustRead(t, u, insert, "rows").Attempt().Carry()(); got == id || !since.IsZero() {
		t.Errorf("after it was settled: got %s since %v, want a new one", got, since)
	}
}

func TestFailedUploadsLeaveNothing(t *testing.T) {
	u := OpenUploads(time.Now)
	for _, unsettled := range []bool{false, true} { // unsettled by other things than its change
		mustRead(t, u, insert, "rows").Failed(unsettled)
		if len(u.lost) > 0 {
			t.Errorf("unsettled %v: something is remembered of it", unsettled)
		}
	}
	s := u.Open(t.Context(), insert, strings.NewReader("not read"))
	s.Attempt().Carry()
	s.Failed(true)
	if len(u.lost) > 0 {
		t.Error("something is remembered of an upload that was not read")
	}
}

// A request of one id that comes several times is made once, also while it is being made.
func TestRequestThatComesTwiceIsMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := OpenUploads(time.Now)
		named := insert
		named.ID = "7c9e"
		var made atomic.Int64
		send := func() {
			s, err := read(u, named, "rows")
			if err == nil {
				time.Sleep(time.Second)
				made.Add(1)
			}
			s.Answered(done)
		}
		for range 4 {
			go send()
		}
		time.Sleep(2 * time.Second)
		send()
		if made.Load() != 1 {
			t.Errorf("it was made %d times, want once", made.Load())
		}
		mustRead(t, u, named, "other rows").Answered(done)
		time.Sleep(Window + 1)
		mustRead(t, u, named, "rows").Answered(done)
	})
}

func TestRequestIsMadeByTheNextWhenTheFirstFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := OpenUploads(time.Now)
		named := insert
		named.ID = "7c9e"
		first := mustRead(t, u, named, "rows")
		go func() {
			time.Sleep(time.Second)
			first.Close()
		}()
		mustRead(t, u, named, "rows").Answered(done)
	})
}

func TestWaitingForTheSameRequestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := OpenUploads(time.Now)
		named := insert
		named.ID = "7c9e"
		first := mustRead(t, u, named, "rows")
		defer first.Close()
		if _, err := read(u, named, "rows"); !errors.Is(err, ErrInFlight) {
			t.Errorf("got %v, want ErrInFlight", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := io.ReadAll(u.Open(ctx, named, strings.NewReader("rows"))); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want it cancelled", err)
		}
	})
}
