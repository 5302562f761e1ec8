package tags_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/tags"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestTagsAreMadeMovedAndRemoved(t *testing.T) {
	table := datasettest.TableIn(memstore.New())
	datasettest.Create(t, table, 1)
	if _, err := table.Append(t.Context(), datasettest.RowsOf(2)); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	steps := []struct {
		name string
		do   func() error
		want error
	}{
		{"version that is not", func() error { return tags.Create(ctx, table, "a", "", 9) }, dataset.ErrNoVersion},
		{"branch that is not", func() error { return tags.Create(ctx, table, "a", "b", 1) }, refs.ErrNoBranch},
		{"bad name", func() error { return tags.Create(ctx, table, "a/b", "", 1) }, refs.ErrName},
		{"create", func() error { return tags.Create(ctx, table, "a", "main", 1) }, nil},
		{"create again", func() error { return tags.Create(ctx, table, "a", "", 2) }, refs.ErrExists},
		{"create another", func() error { return tags.Create(ctx, table, "é", "", 2) }, nil},
		{"update", func() error { return tags.Update(ctx, table, "a", "", 2) }, nil},
		{"update to what is not", func() error { return tags.Update(ctx, table, "a", "", 3) }, dataset.ErrNoVersion},
		{"update what is not", func() error { return tags.Update(ctx, table, "b", "", 2) }, refs.ErrNoTag},
		{"delete", func() error { return tags.Delete(ctx, table, "é") }, nil},
		{"delete again", func() error { return tags.Delete(ctx, table, "é") }, refs.ErrNoTag},
	}
	for _, s := range steps {
		if err := s.do(); !errors.Is(err, s.want) {
			t.Errorf("%s: got %v, want %v", s.name, err, s.want)
		}
	}
	tags, _, err := table.Refs().Tags(ctx, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(tags) != 1 || tags["a"].Version != 2 || tags["a"].Branch != nil {
		t.Errorf("tags: got %+v, want a of version 2", tags)
	}
}

func TestTagsAreListedByPages(t *testing.T) {
	table := datasettest.TableIn(memstore.New())
	datasettest.Create(t, table, 1)
	for _, name := range []string{"a", "a.b", "b", "c"} {
		if err := tags.Create(t.Context(), table, name, "", 1); err != nil {
			t.Fatal(err)
		}
	}
	first, next, err := table.Refs().Tags(t.Context(), "", 3)
	if err != nil || next != "b" || len(first) != 3 {
		t.Fatalf("first page: got %v, next %q, error %v, want 3 of 4", first, next, err)
	}
	second, next, err := table.Refs().Tags(t.Context(), "b", 3)
	if err != nil || next != "" || len(second) != 1 {
		t.Fatalf("second page: got %v, next %q, error %v, want c", second, next, err)
	}
}

// Listing unchanged tags is one request. A changed tag is read again, whoever changed it.
func TestTagsAreReadOncePerContent(t *testing.T) {
	store := objectstore.Counting(memstore.New())
	at := objectstore.Location{URI: "memory://test/t.lance", Store: store, Prefix: "t.lance"}
	later := func() time.Time { return time.Now().Add(time.Hour) }
	ours, others := dataset.NewSession(0, later).Table(at, 0), dataset.NewSession(0, time.Now).Table(at, 0)
	datasettest.Create(t, ours, 1)
	if _, err := ours.Append(t.Context(), datasettest.RowsOf(2)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := tags.Create(t.Context(), others, name, "", 1); err != nil {
			t.Fatal(err)
		}
	}
	list := func(requests int64, versions map[string]uint64) {
		t.Helper()
		var usage objectstore.Usage
		tags, _, err := ours.Refs().Tags(objectstore.WithUsage(t.Context(), &usage), "", 0)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]uint64{}
		for name, tag := range tags {
			got[name] = tag.Version
		}
		if diff := cmp.Diff(versions, got); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
		if usage.Requests() != requests {
			t.Errorf("got %d requests, want %d", usage.Requests(), requests)
		}
	}
	list(4, map[string]uint64{"a": 1, "b": 1, "c": 1})
	list(1, map[string]uint64{"a": 1, "b": 1, "c": 1})
	if err := tags.Update(t.Context(), others, "b", "", 2); err != nil {
		t.Fatal(err)
	}
	list(2, map[string]uint64{"a": 1, "b": 2, "c": 1})
	if err := tags.Delete(t.Context(), others, "a"); err != nil {
		t.Fatal(err)
	}
	if err := tags.Create(t.Context(), others, "a", "", 2); err != nil {
		t.Fatal(err)
	}
	list(2, map[string]uint64{"a": 2, "b": 2, "c": 1})
	list(1, map[string]uint64{"a": 2, "b": 2, "c": 1})
}

// A tag is stored as native Lance stores it.
func TestTagsAreWrittenInTheFormat(t *testing.T) {
	store := memstore.New()
	at := objectstore.Location{URI: "memory://test/t.lance", Store: store, Prefix: "t.lance"}
	now := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC) }
	table := dataset.NewSession(0, now).Table(at, 0)
	datasettest.Create(t, table, 1)
	if err := tags.Create(t.Context(), table, "é", "", 1); err != nil {
		t.Fatal(err)
	}
	data, _, err := store.Get(t.Context(), "t.lance/_refs/tags/%C3%A9.json")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	size := got["manifestSize"]
	want := map[string]any{
		"branch": nil, "version": 1.0, "createdAt": "2026-01-02T03:04:05.0000006Z",
		"updatedAt": "2026-01-02T03:04:05.0000006Z", "manifestSize": size, "metadata": map[string]any{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tag (-want +got):\n%s", diff)
	}
}
