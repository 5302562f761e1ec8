package traced_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"tiltyard/shared/boot/traced"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/process/tracing"
	"tiltyard/shared/process/tracing/tracetest"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/objectstore/storetest"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/storage/record/recordtest"
)

func TestStoreSatisfiesTheContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) objectstore.Store { return traced.Store(memstore.New(), "memory://t") })
}

func TestTracedRecordsAreRecords(t *testing.T) {
	recordtest.Run(t, func(_ *testing.T, now func() time.Time) record.Store {
		return traced.Records(objectrecord.Open(memstore.New(), now))
	})
}

func TestStoreCallsHaveSpans(t *testing.T) {
	c := tracetest.NewCollector(t)
	tracer := tracing.Open(tracing.Options{Collector: c.URL, Share: 1, Logger: slog.New(slog.DiscardHandler)})
	ctx, request := tracer.Request(t.Context(), nil)
	inner := memstore.New()
	store := traced.Store(inner, "memory://t")
	if objectstore.Innermost(store) != objectstore.Store(inner) {
		t.Error("the store within is not found")
	}
	info, err := store.Put(ctx, "a", []byte("0123"), objectstore.Condition{IfAbsent: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.GetRanges(ctx, "a", objectstore.Range{Length: 2}, objectstore.Range{Offset: -1}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Get(ctx, "missing"); !errors.Is(err, objectstore.ErrNotExist) {
		t.Error(err)
	}
	if err := objectstore.CopyWithin(ctx, store, info, store, "b"); err != nil {
		t.Error(err)
	}
	w, err := store.Create(ctx, "c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("012")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if page, err := store.List(ctx, objectstore.ListOptions{}); err != nil || len(page.Objects) != 3 {
		t.Errorf("listed %v (%v), want 3 objects", page, err)
	}
	if err := store.Delete(ctx, "a", objectstore.Condition{}); err != nil {
		t.Error(err)
	}
	records := traced.Records(objectrecord.Open(inner, time.Now))
	if _, err := records.Get(ctx, "answer/secret"); !errors.Is(err, record.ErrNotExist) {
		t.Error(err)
	}
	if err := traced.Queue(new(memqueue.Queue)).Send(ctx, 0, jobs.Message{Kind: "maintain"}, jobs.Message{Kind: "refresh"}); err != nil {
		t.Error(err)
	}
	request.End()
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := c.ByName(t)
	for name, want := range map[string]map[string]string{
		"store put":        {"store.root": "memory://t", "store.key": "a", "store.bytes": "4"},
		"store get ranges": {"store.root": "memory://t", "store.key": "a", "store.ranges": "2", "store.bytes": "3"},
		"store get":        {"store.root": "memory://t", "store.key": "missing", "store.outcome": "missing", "store.bytes": "0"},
		"store copy":       {"store.root": "memory://t", "store.key": "b", "store.bytes": "4"},
		"store write":      {"store.root": "memory://t", "store.key": "c", "store.bytes": "3"},
		"store list":       {"store.root": "memory://t", "store.keys": "3"},
		"store delete":     {"store.root": "memory://t", "store.key": "a"},
		"records get":      {"record.kind": "answer", "record.outcome": "missing"},
		"queue send":       {"queue.messages": "2"},
	} {
		got, ok := spans[name]
		if !ok || got.Parent != spans["request"].ID || got.Status != 0 || len(got.Properties) != len(want) {
			t.Errorf("span %q is %+v, want %v below the request", name, got, want)
		}
		for key, value := range want {
			if got.Properties[key] != value {
				t.Errorf("span %q has %s = %q, want %q", name, key, got.Properties[key], value)
			}
		}
	}
}
