package history_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/history"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/lance/dataset/compaction"
	"tiltyard/shared/protocol"
)

// changed makes a table with five versions: two rows, a third one, one updated, one deleted, and all rows compacted.
func changed(t *testing.T) *engine.Table {
	t.Helper()
	table := enginetest.Create(t, enginetest.IDSchema(), `[{"id":1},{"id":2}]`)
	if _, err := table.Insert(t.Context(), enginetest.Rows(t, enginetest.IDSchema(), `[{"id":3}]`)); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Update(t.Context(), []engine.Assignment{{Column: "id", SQL: "10"}}, "id = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Delete(t.Context(), "id = 3"); err != nil {
		t.Fatal(err)
	}
	if _, err := maintenance.Compact(t.Context(), table, compaction.Options{}); err != nil {
		t.Fatal(err)
	}
	return table
}

// commits returns the commits after a version.
func commits(t *testing.T, table *engine.Table, after uint64) []history.Commit {
	t.Helper()
	var all []history.Commit
	if err := history.Commits(t.Context(), table, after, func(c history.Commit) bool { all = append(all, c); return true }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCommitsCountsAddedAndDeletedRows(t *testing.T) {
	want := []struct {
		operation string
		counts    history.RowCounts
	}{
		{"Overwrite", history.RowCounts{Rows: 2, Added: 2, Compared: true}},
		{"Append", history.RowCounts{Rows: 3, Added: 1, Compared: true}},
		{"Update", history.RowCounts{Rows: 3, Added: 1, Deleted: 1, Compared: true}},
		{"Delete", history.RowCounts{Rows: 2, Deleted: 1, Compared: true}},
		{"Rewrite", history.RowCounts{Rows: 2, Compared: true}},
	}
	table := changed(t)
	all := commits(t, table, 0)
	if len(all) != len(want) {
		t.Fatalf("got %d commits, want %d", len(all), len(want))
	}
	for i, c := range all {
		if c.Version != uint64(i+1) || c.Operation != want[i].operation || c.At.IsZero() {
			t.Errorf("got %+v, want version %d by %s", c, i+1, want[i].operation)
		}
		if diff := cmp.Diff(&want[i].counts, c.Counts); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", c.Version, diff)
		}
	}
	if diff := cmp.Diff(all[3:], commits(t, table, 3)); diff != "" {
		t.Errorf("after version 3 (-want +got):\n%s", diff)
	}
	seen := 0
	if err := history.Commits(t.Context(), table, 0, func(history.Commit) bool { seen++; return seen < 2 }); err != nil || seen != 2 {
		t.Errorf("got %d commits and error %v, want that the second one ends it", seen, err)
	}
}

// A cleanup waits for concurrent readers, so it runs on a clock of its own.
func TestCommitsNumbersVersionsThatWereCleanedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := changed(t)
		if _, err := maintenance.ExpireVersions(t.Context(), table, cleanup.Expiry{Before: time.Now().Add(time.Hour), Keep: 1}); err != nil {
			t.Fatal(err)
		}
		all := commits(t, table, 0)
		if len(all) != 5 || all[4].Counts == nil {
			t.Fatalf("got %+v, want 5 commits, the last with counts", all)
		}
		for i, c := range all[:4] {
			if diff := cmp.Diff(history.Commit{Transaction: history.Transaction{Version: uint64(i + 1)}}, c); diff != "" {
				t.Errorf("version %d (-want +got):\n%s", i+1, diff)
			}
		}
	})
}

func TestFindTransactionReturnsTheCommitOfAUUID(t *testing.T) {
	table := changed(t)
	for _, c := range commits(t, table, 0) {
		found, err := history.FindTransaction(t.Context(), table, c.UUID)
		if diff := cmp.Diff(c.Transaction, found); diff != "" || err != nil {
			t.Errorf("version %d: error %v (-want +got):\n%s", c.Version, err, diff)
		}
	}
	_, err := history.FindTransaction(t.Context(), table, "00000000-0000-0000-0000-000000000000")
	enginetest.WantCode(t, "an unknown UUID", err, protocol.TransactionNotFound)
	_, err = history.TransactionOf(t.Context(), table, 99)
	enginetest.WantCode(t, "an unknown version", err, protocol.TransactionNotFound)
}
