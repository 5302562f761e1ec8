package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

var table = []string{"t"}

const none = protocol.Code(-1)

// manifestOf returns a manifest whose bytes are its source. No test parses them.
func manifestOf(version uint64, source string) ledger.Manifest {
	return ledger.Manifest{Version: version, Data: []byte(source), Source: source}
}

func placeIn(store objectstore.Store) objectstore.Location {
	return objectstore.Location{URI: "memory://test/t", Store: store, Prefix: "t"}
}

func put(t *testing.T, store objectstore.Store, key, data string) {
	t.Helper()
	if _, err := store.Put(t.Context(), key, []byte(data), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
}

// versions returns the manifests at a place, oldest first.
func versions(t *testing.T, at objectstore.Location) (found []string) {
	t.Helper()
	for version := uint64(1); ; version++ {
		data, _, err := at.Store.Get(t.Context(), ledger.Key(at, manifest.Name(version, manifest.V2)))
		if errors.Is(err, objectstore.ErrNotExist) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, string(data))
	}
}

func check(t *testing.T, at objectstore.Location, want ...string) {
	t.Helper()
	if got := versions(t, at); !slices.Equal(got, want) {
		t.Errorf("the versions are %q, want %q", got, want)
	}
}

func TestLedgerRemembersItsLastVersions(t *testing.T) {
	l := &ledger.Ledger{Batches: 3}
	for version := uint64(1); version <= 40; version++ {
		m := manifestOf(version, fmt.Sprint("source ", version))
		l = l.With(ledger.Entry{Version: version, Name: m.Name(), Source: m.Source, Copy: "copy"})
		if !l.Has(m) || l.Has(manifestOf(version, "another source")) || l.Has(manifestOf(version+1, m.Source)) {
			t.Fatalf("version %d: the ledger does not know exactly its entries", version)
		}
	}
	if len(l.Next) != 1 || len(l.Made) != 16 || l.Batches != 3 {
		t.Errorf("got %d next versions, %d made and %d batches; want 1, 16 and 3", len(l.Next), len(l.Made), l.Batches)
	}
	for _, e := range l.Made {
		if e.Copy != "" {
			t.Errorf("version %d, which was made, has a copy", e.Version)
		}
	}
	if l.Has(manifestOf(1, "source 1")) || !l.Has(manifestOf(24, "source 24")) {
		t.Error("the ledger keeps other versions than the last ones")
	}
}

func TestPropertiesAskForALedger(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "TRUE": true, "false": false, "yes": false, "": false} {
		if got := ledger.Wanted(map[string]string{ledger.ManagedProperty: value}); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
}

// A writer that dies after the entry leaves a copy, and the next writer makes the version from it.
func TestWriterMakesVersionsThatAreListed(t *testing.T) {
	home, at := memstore.New(), placeIn(memstore.New())
	w := &ledger.Writer{Home: objects.Store{Store: home}}
	l := &ledger.Ledger{}
	var copies []string
	for version, source := range []string{"one", "two", "three"} {
		m := manifestOf(uint64(version+1), source)
		key, err := w.PutCopy(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, key)
		l.Next = append(l.Next, ledger.Entry{Version: m.Version, Name: m.Name(), Source: m.Source, Copy: key})
	}
	for range 2 { // the second time, nothing is left to do
		newest, err := w.CatchUp(t.Context(), at, l)
		if err != nil || newest != 3 {
			t.Fatalf("caught up to version %d, %v; want 3", newest, err)
		}
		check(t, at, "one", "two", "three")
	}
	for _, key := range copies {
		if _, _, err := home.Get(t.Context(), key); !errors.Is(err, objectstore.ErrNotExist) {
			t.Errorf("copy %s of a version that was made: got %v, want ErrNotExist", key, err)
		}
	}
	for _, m := range []ledger.Manifest{manifestOf(2, "two"), {Version: 2, Source: "two"}} {
		if info, err := w.MadeBefore(t.Context(), at, table, l, m); err != nil || info.Key == "" {
			t.Errorf("a version that was made: got %+v, %v", info, err)
		}
	}
}

func TestWriterKeepsAVersionOfAnotherWriter(t *testing.T) {
	home, at := memstore.New(), placeIn(memstore.New())
	w := &ledger.Writer{Home: objects.Store{Store: home}}
	m := manifestOf(1, "listed")
	key, err := w.PutCopy(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	entry := ledger.Entry{Version: 1, Name: m.Name(), Source: m.Source, Copy: key}
	put(t, at.Store, ledger.Key(at, m.Name()), "of another writer")
	if _, err := w.Make(t.Context(), at, entry, m.Data); !errors.Is(err, objectstore.ErrPrecondition) {
		t.Errorf("make: got %v, want ErrPrecondition", err)
	}
	l := (&ledger.Ledger{}).With(entry)
	if newest, err := w.CatchUp(t.Context(), at, l); err != nil || newest != 1 {
		t.Errorf("caught up to version %d, %v; want 1", newest, err)
	}
	if _, err := w.MadeBefore(t.Context(), at, table, l, m); !protocol.HasCode(err, protocol.ConcurrentModification) {
		t.Errorf("the listed version: got %v, want ConcurrentModification", err)
	}
	check(t, at, "of another writer")
}

// The answers to writes get lost, before or after the write took place.
func TestWriterMakesAVersionOnceDespiteLostAnswers(t *testing.T) {
	for _, happened := range []bool{false, true} {
		faulty := faultstore.New(memstore.New(), nil)
		at, w := placeIn(faulty), &ledger.Writer{Home: objects.Store{Store: memstore.New()}}
		lost := 0
		faulty.Inject(func(call faultstore.Call) faultstore.Fault {
			switch {
			case call.Kind != faultstore.PutIfAbsent || lost > 0:
				return faultstore.Fault{}
			case happened:
				lost++
				return faultstore.Fault{Lost: true}
			}
			lost++
			return faultstore.Fault{Err: objectstore.ErrUnknownOutcome}
		})
		m := manifestOf(1, "one")
		if _, err := w.Make(t.Context(), at, ledger.Entry{Version: 1, Name: m.Name()}, m.Data); err != nil || lost != 1 {
			t.Errorf("happened %v: got %v after %d lost answers", happened, err, lost)
		}
		check(t, at, "one")
	}
}

func TestWriterMakesTheNextVersionWithoutLedger(t *testing.T) {
	cases := []struct {
		name  string
		there []string
		first uint64
		m     ledger.Manifest
		code  protocol.Code // none: no error
		want  []string
	}{
		{"the first of a branch", nil, 1, manifestOf(1, "one"), none, []string{"one"}},
		{"any first", nil, 0, manifestOf(1, "one"), none, []string{"one"}},
		{"not the first", nil, 1, manifestOf(2, "two"), protocol.ConcurrentModification, nil},
		{"the next", []string{"one"}, 1, manifestOf(2, "two"), none, []string{"one", "two"}},
		{"a gap", []string{"one"}, 1, manifestOf(3, "three"), protocol.ConcurrentModification, []string{"one"}},
		{"taken", []string{"one", "two"}, 1, manifestOf(2, "other"), protocol.ConcurrentModification, []string{"one", "two"}},
		{"made before", []string{"one", "two"}, 1, manifestOf(2, "two"), none, []string{"one", "two"}},
		{"without a manifest", []string{"one"}, 1, ledger.Manifest{Version: 2, Source: "gone"}, protocol.InvalidInput, []string{"one"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			at := placeIn(memstore.New())
			for i, data := range c.there {
				put(t, at.Store, ledger.Key(at, manifest.Name(uint64(i+1), manifest.V2)), data)
			}
			info, err := ledger.PublishBranch(t.Context(), table, at, c.first, c.m)
			if c.code == none && (err != nil || info.ETag == "") || c.code != none && !protocol.HasCode(err, c.code) {
				t.Errorf("got %+v, %v; want code %d", info, err, c.code)
			}
			check(t, at, c.want...)
		})
	}
}

// A put that took longer than a listing may be trusted may have filled the place of a version that
// was deleted meanwhile. It is taken back.
func TestWriterTakesBackALatePutOfADeletedVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New()
		faulty := faultstore.New(inner, nil)
		at := placeIn(faulty)
		put(t, inner, ledger.Key(at, manifest.Name(1, manifest.V2)), "one")
		faulty.Inject(func(call faultstore.Call) faultstore.Fault {
			if call.Kind != faultstore.PutIfAbsent {
				return faultstore.Fault{}
			}
			return faultstore.Fault{Wait: func(context.Context) error {
				put(t, inner, ledger.Key(at, manifest.Name(3, manifest.V2)), "three") // 2 was made and deleted
				time.Sleep(manifest.FreshFor + time.Second)
				return nil
			}}
		})
		_, err := ledger.PutNext(t.Context(), table, at, 1, manifestOf(2, "late"))
		if !protocol.HasCode(err, protocol.ConcurrentModification) {
			t.Errorf("got %v, want ConcurrentModification", err)
		}
		check(t, at, "one")
	})
}
