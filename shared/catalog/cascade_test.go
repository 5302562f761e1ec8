package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// plant makes a namespace p with tables, secrets and namespaces in it, some levels deep.
func plant(t *testing.T, c *Catalog) (uid string) {
	t.Helper()
	ctx := context.Background()
	for _, id := range [][]string{{"p"}, {"p", "a"}, {"p", "b"}, {"p", "a", "x"}, {"q"}} {
		if _, err := c.Namespaces.Create(ctx, id, nil, namespaces.FailIfExists); err != nil {
			t.Fatal(err)
		}
		for n := range 2 {
			name := keys.Child(id, fmt.Sprintf("t%d", n))
			location := c.Places.New(name)
			if _, err := location.Store.Put(ctx, location.Prefix+"/_versions/1.manifest", []byte("x"), objectstore.Condition{}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.CreateTable(ctx, name, location, 0, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Secrets.Create(ctx, keys.Child(id, "t0"), secretbox.Sealed{Key: "k"}); err != nil { // a table has the name, too
			t.Fatal(err)
		}
	}
	namespace, err := c.Namespaces.Get(ctx, []string{"p"})
	if err != nil {
		t.Fatal(err)
	}
	return namespace.UID
}

// cascade does what a run of the job does.
func cascade(c *Catalog, uid, by string, step func(int) error) error {
	d, err := c.Namespaces.BeginCascade(context.Background(), []string{"p"}, uid, by)
	if protocol.HasCode(err, protocol.NamespaceNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.Run(context.Background(), step)
}

// wantNoOrphans checks that every record has a parent, and returns how many are below p.
func wantNoOrphans(t *testing.T, store objectstore.Store, where string) int {
	t.Helper()
	page, err := store.List(t.Context(), objectstore.ListOptions{Prefix: keys.Records})
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, object := range page.Objects {
		there[object.Key] = true
	}
	below := 0
	for key := range there {
		dir, _, _ := strings.Cut(strings.TrimPrefix(key, keys.Records), "/")
		parent, ok := keys.Path(dir)
		if !ok || len(parent) == 0 {
			continue
		}
		if !there[keys.Namespace(parent)] {
			t.Errorf("%s: %s is left without its namespace", where, key)
		}
		if parent[0] == "p" {
			below++
		}
	}
	return below
}

func TestCascadeDropsAllThereIs(t *testing.T) {
	store := memstore.New()
	c := open(t, store)
	uid := plant(t, c)
	steps := 0
	if err := cascade(c, uid, "job", func(int) error { steps++; wantNoOrphans(t, store, fmt.Sprint("step ", steps)); return nil }); err != nil {
		t.Fatal(err)
	}
	if left := wantNoOrphans(t, store, "the end"); left != 0 || steps < 8 {
		t.Errorf("%d records are left after %d steps", left, steps)
	}
	if _, err := c.Namespaces.Get(t.Context(), []string{"p"}); !protocol.HasCode(err, protocol.NamespaceNotFound) {
		t.Errorf("the namespace: got %v, want NamespaceNotFound", err)
	}
	if tables, _, err := c.Lists.Names(t.Context(), lists.Tables, []string{"q"}, "", lists.NoLimit); err != nil || len(tables) != 2 {
		t.Errorf("its neighbour holds %v, %v; want two tables", tables, err)
	}
	page, err := store.List(t.Context(), objectstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Objects) != 6 { // q, its tables and their data, and its secret
		t.Errorf("left: %v", page.Objects)
	}
}

func TestCascadeLetsNothingBeMade(t *testing.T) {
	c := open(t, memstore.New())
	uid := plant(t, c)
	makeOne := func() error {
		_, err := c.Namespaces.Create(t.Context(), []string{"p", "new"}, nil, namespaces.FailIfExists)
		return err
	}
	stop := errors.New("enough")
	if err := cascade(c, uid, "job", func(int) error { return stop }); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if err := makeOne(); !protocol.HasCode(err, protocol.ConcurrentModification) {
		t.Errorf("create: got %v, want ConcurrentModification", err)
	}
	if _, err := c.Namespaces.BeginCascade(t.Context(), []string{"p"}, uid, "another"); !protocol.HasCode(err, protocol.ConcurrentModification) {
		t.Errorf("another drop: got %v, want ConcurrentModification", err)
	}
	d, err := c.Namespaces.BeginCascade(t.Context(), []string{"p"}, uid, "job")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := makeOne(); err != nil {
		t.Errorf("create after the cascade was given up: %v", err)
	}
}

func TestCascadeSparesAnotherNamespaceOfTheName(t *testing.T) {
	c := open(t, memstore.New())
	uid := plant(t, c)
	if _, err := c.Namespaces.Create(t.Context(), []string{"p"}, nil, namespaces.ReplaceIfExists); err != nil {
		t.Fatal(err)
	}
	if err := cascade(c, uid, "job", func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Namespaces.Get(t.Context(), []string{"p"}); err != nil {
		t.Errorf("the new one: %v", err)
	}
}

// A cascade is killed at each of its requests. No object is ever left without a parent, and the
// next run drops the rest.
func TestCascadeSurvivesACrashAnywhere(t *testing.T) {
	for n := int32(1); ; n++ {
		reached := false
		for _, fault := range []faultstore.Fault{{Crash: true}, {Crash: true, Lost: true}, {Lost: true}, {Err: errors.New("500")}} {
			inner := memstore.New()
			uid := plant(t, open(t, inner))
			var calls atomic.Int32
			faulty := faultstore.New(inner, func(faultstore.Call) faultstore.Fault {
				if calls.Add(1) != n {
					return faultstore.Fault{}
				}
				return fault
			})
			where := fmt.Sprintf("request %d, %+v", n, fault)
			_ = cascade(open(t, faulty), uid, "job", func(int) error { return nil })
			reached = reached || calls.Load() >= n
			wantNoOrphans(t, inner, where)
			if err := cascade(open(t, inner), uid, "job", func(int) error { return nil }); err != nil {
				t.Errorf("%s: the next run: %v", where, err)
			}
			if left := wantNoOrphans(t, inner, where); left != 0 {
				t.Errorf("%s: %d records are left", where, left)
			}
		}
		if !reached {
			if n < 30 {
				t.Errorf("only %d requests were tried", n)
			}
			return
		}
	}
}

func TestCascadeRenewsItsMark(t *testing.T) {
	store := memstore.New()
	clock := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	c := open(t, store)
	c.names.Now = func() time.Time { return clock }
	uid := plant(t, c)
	err := cascade(c, uid, "job", func(int) error {
		clock = clock.Add(namespaces.CascadeLease * 3 / 4)
		_, err := c.Namespaces.Create(t.Context(), []string{"p", "new"}, nil, namespaces.FailIfExists)
		if !protocol.HasCode(err, protocol.ConcurrentModification) {
			t.Errorf("create: got %v, want ConcurrentModification", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNamespacesIsLargeBeyondItsLimit(t *testing.T) {
	c := open(t, memstore.New())
	plant(t, c)
	for limit, want := range map[int]bool{0: true, 5: true, 14: true, 15: false, 100: false} {
		got, err := c.Namespaces.IsLarge(t.Context(), []string{"p"}, limit)
		if err != nil || got != want {
			t.Errorf("more than %d: got %v, %v; want %v", limit, got, err, want)
		}
	}
}
