package result_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/catalog/result"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

var ada = result.Owner{Principal: "iss#ada", Table: []string{"shop", "orders"}}

// A clock is set by hand.
type clock struct{ now time.Time }

func open(t *testing.T, store objectstore.Store, most int64) (*result.Store, *clock) {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://lake", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{time.Now()}
	return result.Open(roots, func() time.Time { return c.now }, most), c
}

func keep(t *testing.T, s *result.Store, owner result.Owner, text string) result.Result {
	t.Helper()
	w, err := s.Create(t.Context(), owner, result.File)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	made, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func disk(t *testing.T) objectstore.Store {
	store, err := diskstore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func TestReadGivesAResultToItsCallerAlone(t *testing.T) {
	for name, store := range map[string]objectstore.Store{"memory": memstore.New(), "disk": disk(t)} {
		s, clock := open(t, store, 1000)
		made := keep(t, s, ada, "rows of ada")
		if !strings.HasPrefix(made.Location, "memory://lake/_results/") || made.Size != 11 || made.Kind != result.File {
			t.Errorf("%s: made %+v", name, made)
		}
		found, err := s.Find(t.Context(), ada, made.ID)
		if err != nil || found.Size != 11 || found.Location != made.Location {
			t.Fatalf("%s: found %+v, %v; want %+v", name, found, err, made)
		}
		if text, err := s.Read(t.Context(), found, 8, 3); err != nil || string(text) != "ada" {
			t.Errorf("%s: read %q, %v", name, text, err)
		}
		if url, _, err := s.URL(t.Context(), found, "text/x"); err != nil || url != "" {
			t.Errorf("%s: a store that signs nothing has the URL %q, %v", name, url, err)
		}
		folder := strings.TrimPrefix(made.Location, "memory://lake/_results/")
		for _, other := range []struct {
			owner result.Owner
			id    string
		}{
			{result.Owner{Principal: "iss#eve", Table: ada.Table}, made.ID},
			{result.Owner{Principal: ada.Principal, Table: []string{"shop"}}, made.ID},
			{ada, strings.Repeat("0", 32) + ".arrow"},
			{ada, strings.ToUpper(made.ID)}, {ada, made.ID + "s"}, {ada, ""}, {ada, "."}, {ada, "../" + folder}, {ada, folder},
		} {
			if _, err := s.Find(t.Context(), other.owner, other.id); !errors.Is(err, result.ErrNotFound) {
				t.Errorf("%s: %s finds %q: %v", name, other.owner.Principal, other.id, err)
			}
		}
		clock.now = clock.now.Add(result.Lifetime + time.Minute)
		if _, err := s.Find(t.Context(), ada, made.ID); !errors.Is(err, result.ErrNotFound) {
			t.Errorf("%s: found after its time: %v", name, err)
		}
	}
}

func TestResultsOfACallerAreBounded(t *testing.T) {
	s, clock := open(t, memstore.New(), 10)
	keep(t, s, ada, "123456")
	keep(t, s, result.Owner{Principal: "iss#eve"}, "123456789")
	w, err := s.Create(t.Context(), ada, result.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("7890")); err != nil {
		t.Fatal(err)
	}
	var tooLarge *protocol.Error
	if _, err := w.Write([]byte("1")); !errors.As(err, &tooLarge) || !tooLarge.TooLarge {
		t.Errorf("one byte more: %v, want that it is too large", err)
	}
	w.Abort()
	keep(t, s, ada, "7890")
	if _, err := s.Create(t.Context(), ada, result.File); !errors.As(err, &tooLarge) || !tooLarge.TooLarge {
		t.Errorf("another result: %v, want that there is no room", err)
	}
	clock.now = clock.now.Add(result.Lifetime + time.Minute)
	keep(t, s, ada, "1234567890") // those of yesterday count no more
}

func TestThereAreNotMoreThanAThousand(t *testing.T) {
	s, _ := open(t, memstore.New(), 1<<40)
	for range result.MaxKept {
		keep(t, s, ada, "x")
	}
	if _, err := s.Create(t.Context(), ada, result.File); err == nil {
		t.Error("there is one more")
	}
}

// Whichever call to the store fails, an answer is complete or nothing of it can be seen.
func TestAbandonedResultsLeaveNothing(t *testing.T) {
	for n := 0; n < 6; n++ {
		store := memstore.New()
		calls := 0
		broken := faultstore.New(store, func(faultstore.Call) faultstore.Fault {
			calls++
			return faultstore.Fault{Err: map[bool]error{true: errors.New("broken")}[calls == n]}
		})
		s, _ := open(t, broken, 1000)
		w, err := s.Create(t.Context(), ada, result.File)
		if err == nil {
			if _, err = w.Write([]byte("half an")); err == nil && n > 0 {
				_, err = w.Commit()
			}
			w.Abort()
		}
		page, listErr := store.List(t.Context(), objectstore.ListOptions{})
		if listErr != nil {
			t.Fatal(listErr)
		}
		if complete := n > 0 && err == nil; complete != (len(page.Objects) == 1) {
			t.Errorf("call %d fails: %v, and there are %d objects", n, err, len(page.Objects))
		}
	}
}
