package stored_test

import (
	"encoding/json"
	"testing"

	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// Records are stored in these forms: a record must be read as what it was written as, and a LIST
// must show each that does not stand for its table.
func TestStatesOfStoredRecords(t *testing.T) {
	for text, want := range map[string]stored.State{
		`{"id":["t"],"uid":"1","location":"t.lance","created_at":"2026-01-02T03:04:05Z"}`:                                                                            stored.Standing,
		`{"id":["t"],"uid":"1","location":"t.lance","created_at":"2026-01-02T03:04:05Z","renamed_from":["s"]}`:                                                       stored.Standing,
		`{"id":["t"],"uid":"1","location":"t.lance","created_at":"2026-01-02T03:04:05Z","renamed_from":["s"],"arriving":{"uid":"0","until":"2026-01-02T03:04:35Z"}}`: stored.Arriving,
		`{"id":["t"],"uid":"1","location":"t.lance","created_at":"2026-01-02T03:04:05Z","moved":{"to":["u"],"uid":"2"}}`:                                             stored.Moved,
		`{"id":["t"],"uid":"1","location":"t.lance","created_at":"2026-01-02T03:04:05Z","pending":{"batch":"b","until":"2026-01-02T03:04:35Z"}}`:                     stored.Standing,
		`{"id":["t"],"uid":"1","location":"t.lance","created_at":"2026-01-02T03:04:05Z","pending":{"batch":"b","until":"2026-01-02T03:04:35Z","new":true}}`:          stored.Making,
		`{"id":["t"],"uid":"1","location":"t.lance","created_at":"2026-01-02T03:04:05Z","pending":{"batch":"b","until":"2026-01-02T03:04:35Z","gone":true}}`:         stored.Departing,
	} {
		record := new(stored.Table)
		if err := json.Unmarshal([]byte(text), record); err != nil {
			t.Fatal(err)
		}
		if got := record.State(); got != want {
			t.Errorf("%s has the state %d, want %d", text, got, want)
		}
		store := objects.Store{Store: memstore.New()}
		if _, err := store.Write(t.Context(), "_catalog/$/t/t", record, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		page, err := store.List(t.Context(), objectstore.ListOptions{Prefix: "_catalog/", Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got := objects.Marked(page.Objects[0]); got != (want != stored.Standing) || stored.InDoubt(page.Objects[0]) != got {
			t.Errorf("a list shows %s as marked: %v", text, got)
		}
	}
}
