package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func versionOf(digest string, proved bool) stored.FunctionVersion {
	return stored.FunctionVersion{Digest: digest, Definition: json.RawMessage(`{"runtime":{"kind":"sql"}}`), Proved: proved}
}

func TestFunctionsHaveVersions(t *testing.T) {
	c := open(t, memstore.New())
	mustCreate(t, c, "n")
	mustTable(t, c, "n/f") // names of functions are their own
	ctx, id := t.Context(), split("n/f")

	_, _, err := c.Functions.Version(ctx, id, 1)
	wantKind(t, "a missing function", err, protocol.TableNotFound, protocol.FunctionNotFound)
	wantKind(t, "drop a missing function", c.Functions.Drop(ctx, id), protocol.TableNotFound, protocol.FunctionNotFound)
	_, _, err = c.Functions.Add(ctx, split("m/f"), versionOf("a", true))
	wantCode(t, "create without a parent", err, "NamespaceNotFound")

	for _, step := range []struct {
		digest         string
		proved, proven bool // what is given, and what is there then
		number         int
	}{
		{"a", false, false, 1}, {"b", true, true, 2}, {"a", false, false, 1}, {"a", true, true, 1}, {"a", false, true, 1}, {"c", false, false, 3},
	} {
		record, number, err := c.Functions.Add(ctx, id, versionOf(step.digest, step.proved))
		if err != nil || number != step.number || record.Versions[number-1].Proved != step.proven {
			t.Errorf("%+v: got version %d of %+v, %v", step, number, record, err)
		}
	}
	record, v, err := c.Functions.Version(ctx, id, 2)
	if err != nil || v.Digest != "b" || len(record.Versions) != 3 {
		t.Errorf("got %+v of %+v, %v", v, record, err)
	}
	_, _, err = c.Functions.Version(ctx, id, 4)
	wantKind(t, "a missing version", err, protocol.TableNotFound, protocol.FunctionNotFound)
	if _, err := c.DropTable(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Namespaces.Drop(ctx, split("n"), false); !protocol.HasCode(err, protocol.NamespaceNotEmpty) {
		t.Errorf("drop of a namespace with a function: got %v, want NamespaceNotEmpty", err)
	}
	if _, err := c.Namespaces.Drop(ctx, split("n"), true); err != nil {
		t.Error(err)
	}
	mustCreate(t, c, "n")
	if again, number, err := c.Functions.Add(ctx, id, versionOf("b", true)); err != nil || number != 1 || again.UID == record.UID {
		t.Errorf("after a drop: got version %d of %+v, %v", number, again, err)
	}
}

// Creators at once make one function, and a version for each definition.
func TestCreatorsAtOnceMakeOneFunction(t *testing.T) {
	c := open(t, memstore.New())
	const creators, definitions = 8, 3
	numbers := make([]int, creators)
	var group sync.WaitGroup
	for i := range creators {
		group.Go(func() {
			var err error
			for tries := 0; ; tries++ {
				if _, numbers[i], err = c.Functions.Add(t.Context(), split("f"), versionOf(fmt.Sprint(i%definitions), true)); err == nil {
					return
				}
				if !protocol.HasCode(err, protocol.ConcurrentModification) || tries == 100 {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	record, err := c.Functions.Get(t.Context(), split("f"))
	if err != nil || len(record.Versions) != definitions {
		t.Fatalf("got %+v, %v; want %d versions", record, err, definitions)
	}
	for i, number := range numbers {
		if got := record.Versions[number-1].Digest; got != fmt.Sprint(i%definitions) {
			t.Errorf("creator %d got version %d, which is %s", i, number, got)
		}
	}
}

func TestFunctionsAreListedByThemselves(t *testing.T) {
	c := open(t, memstore.New())
	mustCreate(t, c, "n")
	mustTable(t, c, "n/table")
	want := []string{"A", "a", "a.b", "b"}
	for _, name := range want {
		if _, _, err := c.Functions.Add(t.Context(), []string{"n", name}, versionOf("v", true)); err != nil {
			t.Fatal(err)
		}
	}
	for limit := lists.NoLimit; limit <= len(want)+1; limit++ {
		if limit == 0 {
			continue
		}
		var got []string
		for after := ""; ; {
			page, next, err := c.Functions.List(t.Context(), split("n"), after, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, record := range page {
				got = append(got, record.ID[1])
			}
			if after = next; after == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("by %d: got %q, want %q", limit, got, want)
		}
	}
	_, _, err := c.Functions.List(t.Context(), split("m"), "", lists.NoLimit)
	wantCode(t, "a missing namespace", err, "NamespaceNotFound")
}

// A sweep removes artifacts that no record names, once no job can name them any more.
func TestSweepTakesUnnamedArtifactsAway(t *testing.T) {
	store := memstore.New()
	c := open(t, store)
	ctx := t.Context()
	digest := functionapi.DigestOf([]byte("code"))
	put := func() string {
		t.Helper()
		key, err := c.Functions.PutArtifact(ctx, digest, []byte("code"))
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	named, unnamed, dropped := put(), put(), put()
	for id, key := range map[string]string{"kept": named, "gone": dropped} {
		v := versionOf(digest, true)
		v.Artifact = key
		if _, _, err := c.Functions.Add(ctx, split(id), v); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Functions.Drop(ctx, split("gone")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(ctx, functions.CallsFolder+"rows", []byte("rows"), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	content, came, err := c.Functions.Artifact(ctx, named, digest)
	if err != nil || string(content) != "code" || !c.Functions.MayName(came) {
		t.Errorf("got %q, %v", content, err)
	}
	if _, _, err := c.Functions.Artifact(ctx, named, functionapi.DigestOf(nil)); !protocol.HasCode(err, protocol.InvalidTableState) {
		t.Errorf("content with another digest: got %v", err)
	}
	if deleted, err := c.Sweeper.Sweep(ctx, 0); err != nil || deleted != 0 {
		t.Errorf("a sweep took %d young artifacts (%v)", deleted, err)
	}
	c.names.Now = func() time.Time { return time.Now().Add(2 * objects.MinSweepAge) }
	if c.Functions.MayName(came) {
		t.Error("an artifact that a sweep may take can still be named")
	}
	if deleted, err := c.Sweeper.Sweep(ctx, 0); err != nil || deleted != 3 {
		t.Errorf("a sweep took %d objects (%v), want 2 artifacts and the rows of a call", deleted, err)
	}
	page, err := store.List(ctx, objectstore.ListOptions{Prefix: "_functions/artifacts/"})
	if err != nil || len(page.Objects) != 1 || page.Objects[0].Key != named {
		t.Errorf("left are %v, %v; want %s", page.Objects, err, named)
	}
	_, _, err = c.Functions.Artifact(ctx, unnamed, digest)
	wantKind(t, "an artifact that is gone", err, protocol.TableNotFound, protocol.FunctionNotFound)
}
