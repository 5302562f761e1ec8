package maintain_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/jobs/usage"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
)

// bytesOf returns the size in the statistics of the table.
func (h *house) bytesOf(t *testing.T) int64 {
	t.Helper()
	bytes, err := tables.Read(t.Context(), h.tables.Open(table, ""), nil, func(_ context.Context, v tables.Version) (int64, error) { return v.Stats().Bytes, nil })
	if err != nil || bytes == 0 {
		t.Fatalf("got %d bytes, %v", bytes, err)
	}
	return bytes
}

// indexed makes an index, and returns the size of its files.
func (h *house) indexed(t *testing.T) int64 {
	t.Helper()
	_, err := h.tables.Open(table, "").Commit(t.Context(), func(at tables.Table) (engine.Written, error) {
		return indices.Create(t.Context(), at.Table, indexbuild.Index{Name: "x", Column: "id", Kind: indexmeta.BTree})
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := h.tables.Names.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	x, err := enginetest.Index(t.Context(), h.tables.At(found), "x")
	if err != nil || x.Bytes <= 0 {
		t.Fatalf("got an index of %d bytes, %v", x.Bytes, err)
	}
	return x.Bytes
}

// Each visit of a table notes its size, also if its maintenance is switched off. Without metering none does.
func TestVisitsNoteTheSizesOfTables(t *testing.T) {
	for name, c := range map[string]struct {
		metered    bool
		properties map[string]string
	}{
		"metered": {true, nil}, "maintenance is off": {true, map[string]string{"maintenance": "off"}}, "not metered": {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := openWith(t, memstore.New(), c.metered)
				h.create(t, nil, c.properties)
				visit := func() {
					t.Helper()
					if err := h.keeper.SuggestAll(t.Context()); err != nil {
						t.Fatal(err)
					}
					h.work(t, time.Hour)
				}
				want := func(sums map[string]int64) {
					t.Helper()
					if !c.metered {
						sums = map[string]int64{}
					}
					got, err := usage.ReadStored(t.Context(), h.tables.Records)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(sums, got); diff != "" {
						t.Error(diff)
					}
				}
				visit()
				first := h.bytesOf(t)
				want(map[string]int64{"ns": first})
				h.insert(t, 1, 4)
				visit()
				if h.bytesOf(t) <= first {
					t.Error("the table has not grown")
				}
				want(map[string]int64{"ns": h.bytesOf(t)})
				size := h.indexed(t)
				visit()
				want(map[string]int64{"ns": h.bytesOf(t) + size})
				if _, err := h.tables.Names.DropTable(t.Context(), table); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * 24 * time.Hour)
				visit()
				want(map[string]int64{})
			})
		})
	}
}

// Maintenance that a client requests notes the new size at once, without a visit.
func TestMaintenanceNotesTheNewSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openWith(t, memstore.New(), true)
		h.create(t, nil, nil)
		h.insert(t, 1, 5)
		before := h.bytesOf(t)
		h.begin(t, maintain.Order{Compact: true})
		h.work(t, time.Hour)
		got, err := usage.ReadStored(t.Context(), h.tables.Records)
		if after := h.bytesOf(t); err != nil || after >= before || got["ns"] != after {
			t.Errorf("noted %v, %v; the size was %d and is %d", got, err, before, after)
		}
	})
}

// A table without rows and files is visited, too.
func TestVisitsOfDeclaredTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openWith(t, memstore.New(), true)
		if _, err := h.tables.Names.Namespaces.Create(t.Context(), table[:1], nil, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := h.tables.Names.CreateTable(t.Context(), table, h.tables.Names.Places.New(table), 0, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := h.keeper.Kind().Poll(t.Context(), table); err != nil {
			t.Error(err)
		}
	})
}

// Metering adds few requests to the visit of a table whose size has not changed since the last one, some hours before: it
// reads one record, and writes none. Requests that confirm the version of the table vary, because they run beside others.
func TestSizesCostFewRequestsAVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := map[bool]map[string]int{}
		for _, metered := range []bool{false, true} {
			store := faultstore.New(memstore.New(), nil)
			h := openWith(t, store, metered)
			h.create(t, nil, nil)
			h.insert(t, 1, 5)
			poll := func() {
				if _, err := h.keeper.Kind().Poll(t.Context(), table); err != nil {
					t.Fatal(err)
				}
			}
			poll()
			time.Sleep(time.Hour)
			got := requestsOf(store)
			poll()
			synctest.Wait() // what confirms the version of the table may end later
			counts[metered] = got
		}
		want := counts[false]
		want["records get"]++
		delete(want, "table range")
		delete(counts[true], "table range")
		if diff := cmp.Diff(want, counts[true]); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}
