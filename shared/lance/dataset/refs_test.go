package dataset

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/objectstore/memstore"
)

func TestTagsAndBranchesOfNativeLanceAreRead(t *testing.T) {
	n := openNative(t)
	table := n.table(t, "main.lance")
	tags, next, err := table.Tags(t.Context(), "", 0)
	if err != nil || next != "" {
		t.Fatalf("next %q, error %v", next, err)
	}
	versions := map[string]uint64{}
	for name, tag := range tags {
		versions[name+" "+tag.BranchName()] = tag.Version
		if tag.Created == nil || tag.ManifestBytes == 0 {
			t.Errorf("tag %s: got %+v, want a time and a size", name, tag)
		}
	}
	if diff := cmp.Diff(map[string]uint64{"first ": 1, "on-branch dev/one": 4}, versions); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	for name, want := range map[string]int64{"first": 10, "on-branch": 11} {
		d, err := table.Tagged(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.CountRows(); got != want {
			t.Errorf("version of tag %s: got %d rows, want %d", name, got, want)
		}
	}
	branches, _, err := table.Branches(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	branch, ok := branches["dev/one"]
	if !ok || len(branches) != 1 {
		t.Fatalf("branches: got %v, want dev/one", branches)
	}
	if branch.Parent != nil || branch.ParentVersion != 2 || len(branch.Identifier.Forks) != 1 || branch.Identifier.Forks[0].Version != 2 {
		t.Errorf("branch: got %+v", branch)
	}
	on, err := table.OpenBranch(t.Context(), "dev/one")
	if err != nil {
		t.Fatal(err)
	}
	latest, err := on.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := latest.Version(), uint64(4); got != want {
		t.Errorf("latest of the branch: got version %d, want %d", got, want)
	}
}

func TestTagsAreMadeMovedAndRemoved(t *testing.T) {
	table := tableIn(memstore.New())
	mustCreate(t, table, 1)
	if _, err := table.Append(t.Context(), rowsOf(2)); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	steps := []struct {
		name string
		do   func() error
		want error
	}{
		{"version that is not", func() error { return table.CreateTag(ctx, "a", "", 9) }, ErrNoVersion},
		{"branch that is not", func() error { return table.CreateTag(ctx, "a", "b", 1) }, refs.ErrNoBranch},
		{"bad name", func() error { return table.CreateTag(ctx, "a/b", "", 1) }, refs.ErrName},
		{"create", func() error { return table.CreateTag(ctx, "a", "main", 1) }, nil},
		{"create again", func() error { return table.CreateTag(ctx, "a", "", 2) }, refs.ErrExists},
		{"create another", func() error { return table.CreateTag(ctx, "é", "", 2) }, nil},
		{"update", func() error { return table.UpdateTag(ctx, "a", "", 2) }, nil},
		{"update to what is not", func() error { return table.UpdateTag(ctx, "a", "", 3) }, ErrNoVersion},
		{"update what is not", func() error { return table.UpdateTag(ctx, "b", "", 2) }, refs.ErrNoTag},
		{"delete", func() error { return table.DeleteTag(ctx, "é") }, nil},
		{"delete again", func() error { return table.DeleteTag(ctx, "é") }, refs.ErrNoTag},
	}
	for _, s := range steps {
		if err := s.do(); !errors.Is(err, s.want) {
			t.Errorf("%s: got %v, want %v", s.name, err, s.want)
		}
	}
	tags, _, err := table.Tags(ctx, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(tags) != 1 || tags["a"].Version != 2 || tags["a"].Branch != nil {
		t.Errorf("tags: got %+v, want a of version 2", tags)
	}
}

func TestTagsAreListedByPages(t *testing.T) {
	table := tableIn(memstore.New())
	mustCreate(t, table, 1)
	for _, name := range []string{"a", "a.b", "b", "c"} {
		if err := table.CreateTag(t.Context(), name, "", 1); err != nil {
			t.Fatal(err)
		}
	}
	first, next, err := table.Tags(t.Context(), "", 3)
	if err != nil || next != "b" || len(first) != 3 {
		t.Fatalf("first page: got %v, next %q, error %v, want 3 of 4", first, next, err)
	}
	second, next, err := table.Tags(t.Context(), "b", 3)
	if err != nil || next != "" || len(second) != 1 {
		t.Fatalf("second page: got %v, next %q, error %v, want c", second, next, err)
	}
}

// Of tags that have not changed since they were read, a listing is one request; one that has
// is read again, whoever changed it.
func TestTagsAreReadOncePerContent(t *testing.T) {
	store := objectstore.Counting(memstore.New())
	at := objectstore.Location{URI: "memory://test/t.lance", Store: store, Prefix: "t.lance"}
	later := func() time.Time { return time.Now().Add(time.Hour) }
	ours, others := NewSession(0, later).Table(at, 0), NewSession(0, time.Now).Table(at, 0)
	mustCreate(t, ours, 1)
	if _, err := ours.Append(t.Context(), rowsOf(2)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := others.CreateTag(t.Context(), name, "", 1); err != nil {
			t.Fatal(err)
		}
	}
	list := func(requests int64, versions map[string]uint64) {
		t.Helper()
		var usage objectstore.Usage
		tags, _, err := ours.Tags(objectstore.WithUsage(t.Context(), &usage), "", 0)
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
	if err := others.UpdateTag(t.Context(), "b", "", 2); err != nil {
		t.Fatal(err)
	}
	list(2, map[string]uint64{"a": 1, "b": 2, "c": 1})
	if err := others.DeleteTag(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := others.CreateTag(t.Context(), "a", "", 2); err != nil {
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
	table := NewSession(0, now).Table(at, 0)
	mustCreate(t, table, 1)
	if err := table.CreateTag(t.Context(), "é", "", 1); err != nil {
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
