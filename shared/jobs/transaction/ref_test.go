package transaction

import (
	"strings"
	"testing"

	"tiltyard/shared/storage/record"
)

// The keys and the ids are those of stored records, and of clients that keep ids.
func TestRefsHaveTheKeysAndIDsOfRecords(t *testing.T) {
	job := strings.Repeat("0af9", 8)
	for _, test := range []struct {
		ref     Ref
		key, id string
	}{
		{Ref{Unit: Unit{Job: job}}, "job/" + job, job},
		{Ref{Unit: Unit{Job: job, Stage: "rows", Part: 7}}, "part/" + job + "/rows/0007", job + "/rows/0007"},
		{Ref{Unit: Unit{Job: job, Stage: "rows", Part: 7}.Whole()}, "job/" + job, job},
		{Ref{Unit: PollOf("maintain", []string{"ns", "t"})}, "look/cd09fe520e5cfc04e806c671ccf0b6c8", "look/cd09fe520e5cfc04e806c671ccf0b6c8"},
		{refOf(t, "c"+job), "commit/" + job, "c" + job},
		{Ref{Table: []string{"ns", "t"}, Version: 7, UUID: uuid}.recorded(), "commit/be2e1a5d11510e7ef991fe611845ffee", "cbe2e1a5d11510e7ef991fe611845ffee"},
		{Ref{change: &madeChange{id: "x01"}}.recorded(), "commit/0efd272cef5d92f275c116876eb954c5", "c0efd272cef5d92f275c116876eb954c5"},
	} {
		if key, id := test.ref.key(), test.ref.id(); key != test.key || id != test.id || !test.ref.IsRecorded() || test.ref.IsChange() {
			t.Errorf("%+v: got the key %s and the id %s, want %s and %s", test.ref, key, id, test.key, test.id)
		}
		if err := record.CheckKey(test.ref.key()); err != nil {
			t.Error(err)
		}
	}
}

// Records hold the id that their key stands for, also those of parts and polls.
func TestRecordsHoldTheIDsOfTheirRefs(t *testing.T) {
	f := open()
	job := f.begin(t)
	if _, err := f.change(t.Context(), Ref{Unit: Unit{Job: job.ID}}, nil, func(j *Transaction) error {
		j.Work = &Work{Stage: "rows", Parts: 2}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, unit := range []Unit{{Job: job.ID, Stage: "rows", Part: 2}, PollOf("maintain", []string{"t"})} {
		taken, _, err := f.Take(t.Context(), unit, "w", Retention)
		if err != nil {
			t.Fatal(err)
		}
		ref := Ref{Unit: unit}
		stored, err := f.records.Get(t.Context(), ref.key())
		if want := `{"id":"` + ref.id() + `",`; err != nil || taken.ID != ref.id() || !strings.HasPrefix(string(stored.Value), want) {
			t.Errorf("%v: the record is %s, error %v; want it to begin with %s", unit, stored.Value, err, want)
		}
	}
}
