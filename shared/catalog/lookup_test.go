package catalog

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"tiltyard/shared/catalog/batch"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// near is a store that is as near as a disk.
type near struct{ objectstore.Store }

func (near) ReadGap() int64 { return objectstore.DefaultReadGap - 1 }

// Storage that is near is asked at each lookup whether the record is still the same, and is not read
// again as long as it is.
func TestLookupsOnADiskReadARecordAgainOnlyWhenItChanged(t *testing.T) {
	ctx, id := t.Context(), []string{"t"}
	inner := memstore.New()
	counted := faultstore.New(inner, nil)
	c, elsewhere := open(t, near{counted}), open(t, near{inner}) // two processes
	mustTable(t, elsewhere, "t")
	location := func() string {
		t.Helper()
		found, err := c.Lookup(ctx, id)
		if err != nil || !found.Confirmed() {
			t.Fatalf("got %+v, %v; want a table that is confirmed", found, err)
		}
		return found.Table.Location.URI
	}
	first := location()
	counted.Recorder.Reset()
	for range 3 {
		if got := location(); got != first {
			t.Errorf("read of a table that did not change: got %s, want %s", got, first)
		}
	}
	if got := counted.Recorder.Snapshot(); got.Requests != 3 || got.ReadBytes != 0 {
		t.Errorf("3 lookups of a record that did not change: %d requests for %d bytes, want 3 for none", got.Requests, got.ReadBytes)
	}
	other, err := elsewhere.RegisterTable(ctx, id, Registration{Location: c.Places.New(id), Replace: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := location(); got != other.Location.URI {
		t.Errorf("read of a table that moved: got %s, want %s", got, other.Location.URI)
	}
	if _, err := elsewhere.DropTable(ctx, id); err != nil {
		t.Fatal(err)
	}
	_, err = c.Lookup(ctx, id)
	wantCode(t, "read of a dropped table", err, "TableNotFound")
}

// The record of a table in an undecided batch stays the same when the batch is decided, so each lookup
// looks at the decision.
func TestLookupsOnADiskSeeThatABatchWasDecided(t *testing.T) {
	ctx, id := t.Context(), []string{"b"}
	inner := memstore.New()
	prepareBatch(t)(open(t, inner))
	deregister := []batch.Operation{{ID: id, Deregister: true}, {ID: []string{"a"}, Deregister: true}}
	dead := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		return faultstore.Fault{Crash: strings.HasPrefix(call.Key, stored.BatchesPrefix)}
	})
	if _, err := commit(ctx, open(t, dead), deregister); err == nil {
		t.Fatal("the maker of the batch lives")
	}
	c := open(t, near{inner})
	if _, err := c.Lookup(ctx, id); err != nil {
		t.Fatal(err)
	}
	record, _, err := c.names.Table(ctx, id)
	if err != nil || record.Pending == nil {
		t.Fatalf("record %+v, %v; want one in a batch", record, err)
	}
	if _, err := open(t, inner).names.Decide(ctx, record.Pending.Batch, stored.Decision{Outcome: stored.Committed}); err != nil {
		t.Fatal(err)
	}
	_, err = c.Lookup(ctx, id)
	wantCode(t, "lookup of a table that a batch has deregistered", err, "TableNotFound")
}

// What a catalog remembers of tables is bounded in bytes, and not only in number.
func TestRememberedRecordsTakeBoundedMemory(t *testing.T) {
	store := memstore.New()
	writer, reader := open(t, store), open(t, store)
	properties := map[string]string{}
	for i := range protocol.MaxProperties {
		properties[fmt.Sprint(i)] = strings.Repeat("x", protocol.MaxPropertyBytes)
	}
	const tables = 100
	for i := range tables {
		id := []string{fmt.Sprint("t", i)}
		if _, err := writer.CreateTable(t.Context(), id, writer.Places.New(id), 0, properties); err != nil {
			t.Fatal(err)
		}
	}
	for i := range tables {
		if _, err := reader.Lookup(t.Context(), []string{fmt.Sprint("t", i)}); err != nil {
			t.Fatal(err)
		}
	}
	heap := heapBytes()
	runtime.KeepAlive(reader)
	kept := heap - heapBytes()
	runtime.KeepAlive(store)
	if kept > 2*maxLookupBytes {
		t.Errorf("a catalog of %d tables keeps %d bytes", tables, kept)
	}
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
