package transaction

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
)

// seen lets references be compared.
var seen = cmp.AllowUnexported(Ref{}, Unit{}, madeChange{})

const uuid = "9b2e7c1a-0000-4abc-8def-001122334455"

func TestIDsOfCommitsNameTableBranchAndVersion(t *testing.T) {
	hex := strings.Repeat("0af9", 8)
	commit, ok := CommitID([]string{"ns", "a table"}, Commit{Version: 12, UUID: uuid})
	if !ok {
		t.Fatal("a commit of a table of ordinary name has no id")
	}
	onBranch, ok := CommitID([]string{"ns", "t"}, Commit{Branch: "dev/one", Version: 3, UUID: uuid})
	if !ok {
		t.Fatal("a commit of a branch of ordinary name has no id")
	}
	table := []string{"ns", "t"}
	for _, test := range []struct {
		id   []string
		want Ref
	}{
		{[]string{hex}, Ref{Unit: Unit{Job: hex}}},
		{[]string{"ns", "t", hex}, Ref{Unit: Unit{Job: hex}}},
		{[]string{"c" + hex}, Ref{record: hex}},
		{[]string{commit}, Ref{Table: []string{"ns", "a table"}, Version: 12, UUID: uuid}},
		{[]string{"ns", "a table", commit}, Ref{Table: []string{"ns", "a table"}, Version: 12, UUID: uuid}},
		{[]string{onBranch}, Ref{Table: table, Branch: "dev/one", Version: 3, UUID: uuid}},
		{[]string{"ns", "t", "12"}, Ref{Table: table, Version: 12}},
		{[]string{"ns", "t", uuid}, Ref{Table: table, UUID: uuid}},
	} {
		got, err := ParseID(test.id)
		if err != nil {
			t.Errorf("%q: %v", test.id, err)
		}
		if diff := cmp.Diff(test.want, got, seen); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.id, diff)
		}
	}
	for _, id := range [][]string{
		{"12"}, {uuid}, {"nothing"}, {"t", "0"}, {"t", "-1"}, {"t", "99999999999999999999"}, {hex + "0"}, {"C" + hex}, {"v"}, {"v12"},
		{strings.Replace(commit, "v12", "v0", 1)}, {strings.Replace(commit, "9b", "9B", 1)}, {commit + "="}, {commit + "!"}, {commit[:len(commit)-1]},
		{"v1-" + strings.Repeat("0", 32) + "-"}, {"v1-" + strings.Repeat("0", 32) + "-" + base64.RawURLEncoding.EncodeToString([]byte("t\x00"))},
	} {
		if got, err := ParseID(id); err == nil || protocol.CodeOf(err) != protocol.TransactionNotFound {
			t.Errorf("%q: got %+v, %v; want TransactionNotFound", id, got, err)
		}
	}
	if _, err := ParseID(nil); protocol.CodeOf(err) != protocol.InvalidInput {
		t.Errorf("no id: got %v, want InvalidInput", err)
	}
}

func TestLongNamesHaveNoCommitID(t *testing.T) {
	for length, want := range map[int]bool{1: true, 100: true, 200: false, 256: false} {
		id, ok := CommitID([]string{strings.Repeat("n", length)}, Commit{Version: 1<<63 - 1, UUID: uuid})
		if ok != want || len(id) > protocol.MaxIDComponentBytes {
			t.Errorf("name of %d bytes: got %q, %v; want %v", length, id, ok, want)
		}
	}
	for _, foreign := range []string{"", "not a uuid", strings.ToUpper(uuid)} {
		if id, ok := CommitID([]string{"t"}, Commit{Version: 1, UUID: foreign}); ok {
			t.Errorf("a commit of UUID %q has the id %q, want none", foreign, id)
		}
	}
}

func TestNewestJobsAreFirstByName(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	last := ""
	for range 100 {
		now = now.Add(-time.Hour)
		id := newJobID(now)
		if !IsJobID(id) || id <= last {
			t.Fatalf("id %q of %v is no job's, or not behind %q of an hour later", id, now, last)
		}
		last = id
	}
}

func FuzzParseID(f *testing.F) {
	commit, _ := CommitID([]string{"ns", "t"}, Commit{Version: 12, UUID: uuid})
	for _, seed := range []string{commit, uuid, "7", strings.Repeat("0", 32), "c" + strings.Repeat("0", 32), "v1--"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		ref, err := ParseID([]string{"t", id})
		if err != nil {
			return
		}
		if (ref.IsRecorded() || ref.IsChange()) == (ref.Table != nil) {
			t.Fatalf("%q is both a record and a commit, or neither: %+v", id, ref)
		}
		if ref.Table == nil && ref.id() != id {
			t.Fatalf("%q is %+v, whose id is %q", id, ref, ref.id())
		}
		if ref.Table == nil || ref.Version == 0 || ref.UUID == "" {
			return
		}
		if again, ok := CommitID(ref.Table, Commit{Branch: ref.Branch, Version: ref.Version, UUID: ref.UUID}); ok {
			if back, err := ParseID([]string{again}); err != nil || !cmp.Equal(back, ref, seen) {
				t.Fatalf("%q is %+v, and again %+v, %v", id, ref, back, err)
			}
		}
	})
}

// An id of a commit can be read, and refers to that commit.
func FuzzCommitID(f *testing.F) {
	f.Add("t", "", uint64(1), uuid)
	f.Add("t", "dev/one", uint64(0), uuid)
	f.Add("", "", uint64(1), uuid)
	f.Add("a\x00b", "c", uint64(1), uuid)
	f.Add("a$b", "", uint64(7), "9B2e7c1a")
	f.Fuzz(func(t *testing.T, name, branch string, version uint64, uuid string) {
		for _, table := range [][]string{{name}, {"ns", name}, nil} {
			id, ok := CommitID(table, Commit{Branch: branch, Version: version, UUID: uuid})
			if !ok {
				continue
			}
			ref, err := ParseID([]string{id})
			digits := strings.ReplaceAll(uuid, "-", "")
			if err != nil || !slices.Equal(ref.Table, table) || ref.Branch != branch || ref.Version != version || strings.ReplaceAll(ref.UUID, "-", "") != digits {
				t.Fatalf("%q of %q, branch %q, version %d, UUID %q is read as %+v, error %v", id, table, branch, version, uuid, ref, err)
			}
		}
	})
}

func TestIDsOfChanges(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123).UTC()
	change := Change{Operation: "create-tag", Object: []string{"ns", "t"}, Properties: map[string]string{"tag": "ü"}}
	id, ok := ChangeID(change, at)
	if !ok {
		t.Fatal("a change of a table of ordinary name has no id")
	}
	got, ok := parseChangeID(id)
	if diff := cmp.Diff(&madeChange{change, id, at}, got, seen); !ok || diff != "" {
		t.Errorf("%s: %v (-want +got):\n%s", id, ok, diff)
	}
	for _, path := range [][]string{{id}, {"ns", "t", id}} {
		if ref, err := ParseID(path); err != nil || !ref.IsChange() || ref.id() != id {
			t.Errorf("%q: got %+v, %v", path, ref, err)
		}
	}
	other, _ := ChangeID(change, at)
	for _, wrong := range []string{id[:len(id)-1], id + "A", id[:changeHead], "y" + id[1:], strings.ToUpper(id), other[:changeHead] + id[changeHead:changeHead+3], "x" + other[1:13] + id[13:]} {
		if wrong == id || wrong == other {
			continue
		}
		if ref, err := ParseID([]string{wrong}); err == nil {
			t.Errorf("%q is taken for %+v", wrong, ref)
		}
	}
	if id, ok := ChangeID(Change{Operation: "drop-table", Object: []string{strings.Repeat("a", 200)}}, at); ok {
		t.Errorf("an id of %d bytes", len(id))
	}
}

func TestBeganReadsTheTimeOfAJobID(t *testing.T) {
	now := time.Date(2026, 11, 25, 18, 30, 0, 123e6, time.UTC)
	if got := Began(newJobID(now)); !got.Equal(now) {
		t.Errorf("got %v, want %v", got, now)
	}
	for _, id := range []string{"", "c5d1", "7"} {
		if got := Began(id); !got.IsZero() {
			t.Errorf("%q: got %v, want no time", id, got)
		}
	}
}
