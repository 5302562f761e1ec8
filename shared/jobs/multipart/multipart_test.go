package multipart_test

import (
	"testing"
	"time"

	"tiltyard/shared/jobs/multipart"
	"tiltyard/shared/lance/dataset/part"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
)

var (
	target = multipart.Target{Table: "uid", Principal: "ann"}
	rows   = multipart.Contents{Rows: 7, Sum: "05"}
)

// A clock is set by hand.
type clock struct{ now time.Time }

func open(store objectstore.Store) (*multipart.Uploads, *clock) {
	c := &clock{time.Unix(1_800_000_000, 0)}
	now := func() time.Time { return c.now }
	return multipart.OpenUploads(objectrecord.Open(store, now), now), c
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// fixed returns an upload whose commit is fixed.
func fixed(t *testing.T, u *multipart.Uploads, contents multipart.Contents, since uint64) *multipart.Upload {
	t.Helper()
	ok := must[*multipart.Upload](t)
	up := ok(u.Begin(t.Context(), target))
	up = ok(u.Close(t.Context(), up))
	return ok(u.Fix(t.Context(), up, contents, since))
}

func TestUploadFixesItsCommitOnce(t *testing.T) {
	u, _ := open(memstore.New())
	first := fixed(t, u, rows, 3)
	again := must[*multipart.Upload](t)(u.Close(t.Context(), first))
	again, err := u.Fix(t.Context(), again, multipart.Contents{Rows: 8}, 9)
	if err != nil || *again.Commit != *first.Commit || again.Commit.Since != 3 || *again.Contents != rows {
		t.Errorf("got %+v, error %v; want that of before, %+v", again, err, first)
	}
	if err := u.Done(t.Context(), first, 4); err != nil {
		t.Fatal(err)
	}
	first = must[*multipart.Upload](t)(u.Find(t.Context(), first.ID, target))
	if done, err := u.Abort(t.Context(), first); err != nil || done.State != multipart.Committed || done.Version != 4 {
		t.Errorf("got %+v, error %v; want it committed as version 4", done, err)
	}
}

func TestUploadThatIsAbortedInTimeIsNeverCommitted(t *testing.T) {
	u, _ := open(memstore.New())
	ok := must[*multipart.Upload](t)
	up := ok(u.Begin(t.Context(), target))
	closed := ok(u.Close(t.Context(), up))
	if up = ok(u.Abort(t.Context(), up)); up.State != multipart.Aborted {
		t.Fatalf("got the state %s, want aborted", up.State)
	}
	if _, err := u.Fix(t.Context(), closed, rows, 1); protocol.CodeOf(err) != protocol.InvalidInput {
		t.Errorf("got error %v, want InvalidInput", err)
	}
	if other := fixed(t, u, rows, 1); other.Commit.ID == "" {
		t.Error("a new upload has no commit id")
	}
}

func TestMarksAreForTheRetriesOfAnUpload(t *testing.T) {
	for name, c := range map[string]struct {
		contents multipart.Contents
		after    time.Duration
		takes    bool
	}{
		"at once":            {rows, 0, true},
		"within the window":  {rows, multipart.Window - time.Second, true},
		"after the window":   {rows, multipart.Window + time.Second, false},
		"other rows":         {multipart.Contents{Rows: 7, Sum: "06"}, 0, false},
		"another mode":       {multipart.Contents{Rows: 7, Sum: "05", Overwrite: true}, 0, false},
		"more rows of a sum": {multipart.Contents{Rows: 8, Sum: "05"}, 0, false},
	} {
		u, clock := open(memstore.New())
		first := fixed(t, u, rows, 3)
		early := must[*multipart.Upload](t)(u.Begin(t.Context(), target))
		clock.now = clock.now.Add(10 * time.Minute)
		if _, err := u.Abort(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		clock.now = clock.now.Add(c.after)
		retry := fixed(t, u, c.contents, 8)
		if got := *retry.Commit == *first.Commit; got != c.takes {
			t.Errorf("%s: takes the commit of before: %v, want %v", name, got, c.takes)
		}
		if c.takes {
			if third := fixed(t, u, c.contents, 9); *third.Commit == *first.Commit {
				t.Errorf("%s: a second retry takes the same commit", name)
			}
		}
		closed := must[*multipart.Upload](t)(u.Close(t.Context(), early))
		if up, err := u.Fix(t.Context(), closed, rows, 9); err != nil || *up.Commit == *first.Commit {
			t.Errorf("%s: an upload that was begun before the abort takes its commit, error %v", name, err)
		}
	}
}

func TestUploadsEnd(t *testing.T) {
	u, clock := open(memstore.New())
	first := fixed(t, u, rows, 3)
	began := must[*multipart.Upload](t)(u.Begin(t.Context(), target))
	clock.now = clock.now.Add(time.Hour)
	if _, err := u.Fix(t.Context(), first, rows, 3); protocol.CodeOf(err) != protocol.InvalidInput {
		t.Errorf("a commit whose version may be cleaned up: got error %v, want InvalidInput", err)
	}
	clock.now = clock.now.Add(part.Lifetime)
	if _, err := u.Find(t.Context(), began.ID, target); protocol.CodeOf(err) != protocol.InvalidInput {
		t.Errorf("an upload of yesterday: got error %v, want InvalidInput", err)
	}
}

// The storage loses the answer to one write after the other.
func TestLostAnswersLeaveOneCommit(t *testing.T) {
	for n := 1; n < 20; n++ {
		store := memstore.New()
		calls := 0
		broken := faultstore.New(store, func(faultstore.Call) faultstore.Fault {
			if calls++; calls == n {
				return faultstore.Fault{Lost: true}
			}
			return faultstore.Fault{}
		})
		u, _ := open(broken)
		up, err := u.Begin(t.Context(), target)
		if err != nil {
			continue
		}
		for range 3 {
			var closed *multipart.Upload
			if closed, err = u.Close(t.Context(), up); err == nil {
				if _, err = u.Fix(t.Context(), closed, rows, 3); err == nil {
					break
				}
			}
		}
		other, _ := open(store)
		found, failed := other.Find(t.Context(), up.ID, target)
		if err != nil || failed != nil || found.State != multipart.Committing || found.Commit.Since != 3 {
			t.Errorf("call %d: got %+v, errors %v and %v; want it committing", n, found, err, failed)
		}
	}
}
