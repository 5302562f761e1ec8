package objectstore_test

import (
	"context"
	"testing"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/objectstore/storetest"
)

func TestUsageCountsWhatWasReadInItsContext(t *testing.T) {
	ctx := t.Context()
	store := objectstore.Counting(objectstore.Counting(memstore.New()))
	if _, err := store.Put(ctx, "a", []byte("0123456789"), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	var outer, inner objectstore.Usage
	read := func(ctx context.Context, ranges ...objectstore.Range) {
		t.Helper()
		if _, _, err := store.GetRanges(ctx, "a", ranges...); err != nil {
			t.Fatal(err)
		}
	}
	around := objectstore.WithUsage(ctx, &outer)
	if _, _, err := store.Get(around, "a"); err != nil {
		t.Fatal(err)
	}
	read(around)
	read(objectstore.WithUsage(around, &inner), objectstore.Range{Offset: 1, Length: 3}, objectstore.Range{Offset: -2})
	read(ctx, objectstore.Range{Offset: 1, Length: 3})
	if outer.Requests() != 2 || outer.Bytes() != 10 {
		t.Errorf("outer usage is %d requests, %d bytes; want 2, 10", outer.Requests(), outer.Bytes())
	}
	if inner.Requests() != 2 || inner.Bytes() != 5 {
		t.Errorf("inner usage is %d requests, %d bytes; want 2, 5", inner.Requests(), inner.Bytes())
	}
}

// Counting preserves the optional abilities of a store.
func TestCountingStoresCopy(t *testing.T) {
	inner := memstore.New()
	store := objectstore.Counting(inner)
	info, err := store.Put(t.Context(), "a", []byte("0123"), objectstore.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	var usage objectstore.Usage
	if err := objectstore.CopyWithin(objectstore.WithUsage(t.Context(), &usage), store, info, store, "b"); err != nil {
		t.Fatal(err)
	}
	if usage.Writes() != 1 || usage.Requests() != 0 {
		t.Errorf("a copy took %d writes and %d reads, want 1 and 0", usage.Writes(), usage.Requests())
	}
	if objectstore.Innermost(store) != objectstore.Store(inner) {
		t.Error("the store within, which may sign URLs, is not found")
	}
}

func TestCountingStoreIsAStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) objectstore.Store { return objectstore.Counting(memstore.New()) })
}

func TestUsageCountsWritesAndTotals(t *testing.T) {
	var total, inner objectstore.Usage
	ctx := objectstore.WithTotal(t.Context(), &total)
	store := objectstore.Counting(memstore.New())
	if _, err := store.Put(ctx, "a", []byte("0123"), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	w, err := store.Create(objectstore.WithUsage(ctx, &inner), "b")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := w.Write([]byte("012")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.List(ctx, objectstore.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(ctx, "a", objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	if total.Writes() != 3 || total.Written() != 10 || total.Requests() != 1 {
		t.Errorf("total is %d writes of %d bytes, %d reads; want 3, 10, 1", total.Writes(), total.Written(), total.Requests())
	}
	if inner.Writes() != 1 || inner.Written() != 6 || inner.Requests() != 0 {
		t.Errorf("inner usage is %d writes of %d bytes, %d reads; want 1, 6, 0", inner.Writes(), inner.Written(), inner.Requests())
	}
}
