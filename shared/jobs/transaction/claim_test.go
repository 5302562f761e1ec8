package transaction

import (
	"testing"
	"time"

	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
)

func TestClaimGivesAThingToOneJobAtATime(t *testing.T) {
	s := Open(objectrecord.Open(memstore.New(), time.Now), time.Now)
	begin := func() string {
		begun, err := s.BeginWork(t.Context(), "k", []string{"t"}, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		return begun.ID
	}
	claim := func(job string, want bool) {
		t.Helper()
		if got, err := s.Claim(t.Context(), "thing", Unit{Job: job}); err != nil || got != want {
			t.Fatalf("got %v, %v; want %v", got, err, want)
		}
	}
	a, b, c := begin(), begin(), begin()
	claim(a, true)
	claim(b, false)
	claim(a, true)
	if _, err := s.Claim(t.Context(), "another thing", Unit{Job: b}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Pause(t.Context(), Unit{Job: a}); err != nil {
		t.Fatal(err)
	}
	claim(b, true)
	if _, err := s.Resume(t.Context(), Unit{Job: a}); err != nil {
		t.Fatal(err)
	}
	claim(a, false)
	if _, err := s.Advance(t.Context(), Unit{Job: b}, func(t *Transaction) { t.Status = transactionapi.Failed }); err != nil {
		t.Fatal(err)
	}
	claim(c, true)
	claim(a, false)
}
