package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestNamespacesCreateLetsOneOfManyWin(t *testing.T) {
	c := open(t, memstore.New())
	mustCreate(t, c, "p")
	for round := range 20 {
		id := []string{"p", fmt.Sprint(round)}
		var wins sync.Map
		var group sync.WaitGroup
		for i := range 32 {
			group.Go(func() {
				if _, err := c.Namespaces.Create(t.Context(), id, map[string]string{"by": fmt.Sprint(i)}, namespaces.FailIfExists); err == nil {
					wins.Store(i, true)
				} else if code(err) != "NamespaceAlreadyExists" {
					t.Error(err)
				}
			})
		}
		group.Wait()
		var winners []string
		wins.Range(func(k, _ any) bool { winners = append(winners, fmt.Sprint(k)); return true })
		there, err := c.Namespaces.Get(t.Context(), id)
		if err != nil || len(winners) != 1 || there.Properties["by"] != winners[0] {
			t.Fatalf("round %d: winners %v, there %+v, %v", round, winners, there, err)
		}
	}
}

func TestDropMeetsCreateInside(t *testing.T) {
	ctx := t.Context()
	c := open(t, memstore.New())
	for round := range 200 {
		parent := []string{fmt.Sprintf("p%d", round)}
		mustCreate(t, c, parent[0])
		var created, dropped error
		var group sync.WaitGroup
		group.Go(func() {
			_, created = c.CreateTable(ctx, keys.Child(parent, "t"), c.Places.New([]string{"t"}), 0, nil)
		})
		group.Go(func() { _, dropped = c.Namespaces.Drop(ctx, parent, false) })
		group.Wait()
		_, parentErr := c.Namespaces.Get(ctx, parent)
		var record stored.Table
		_, childErr := c.store.Read(ctx, keys.Table(keys.Child(parent, "t")), &record)
		switch {
		case created == nil && (parentErr != nil || childErr != nil):
			t.Fatalf("round %d: the create succeeded, but the parent is %v and the child %v (drop: %v)", round, parentErr, childErr, dropped)
		case created != nil && childErr == nil:
			t.Fatalf("round %d: the create failed (%v), but the child is there", round, created)
		case dropped == nil && parentErr == nil:
			t.Fatalf("round %d: the drop succeeded, but the parent is there", round)
		}
	}
}

func TestAbandonedDropIsForgotten(t *testing.T) {
	ctx := t.Context()
	inner := memstore.New()
	mustCreate(t, open(t, inner), "p")
	// The dropper dies after its mark.
	faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		return faultstore.Fault{Crash: call.Kind == faultstore.List}
	})
	if _, err := open(t, faulty).Namespaces.Drop(ctx, []string{"p"}, false); !errors.Is(err, faultstore.ErrCrashed) {
		t.Fatalf("drop by a dying process: %v", err)
	}
	c := open(t, inner)
	_, err := c.CreateTable(ctx, []string{"p", "t"}, c.Places.New([]string{"t"}), 0, nil)
	wantCode(t, "create while the mark holds", err, "ConcurrentModification")
	c.names.Now = func() time.Time { return time.Now().Add(namespaces.DropLease + time.Second) }
	_, err = c.CreateTable(ctx, []string{"p", "t"}, c.Places.New([]string{"t"}), 0, nil)
	wantCode(t, "create after the mark has run out", err, "")
	_, err = c.Namespaces.Drop(ctx, []string{"p"}, false)
	wantCode(t, "drop after that", err, "NamespaceNotEmpty")
}

// Each change is tried with a crash, and with a lost answer, at each of its requests. The state
// afterwards is that before or that after the change, and a repetition leads to the state after it.
func TestChangesSurviveACrashAnywhere(t *testing.T) {
	prepare := func(t *testing.T, store objectstore.Store) {
		c := open(t, store)
		mustCreate(t, c, "p", "p/empty", "p/full")
		mustTable(t, c, "p/full/t", "p/u")
	}
	changes := []struct {
		name string
		do   func(context.Context, *Catalog) error
		done []string // codes that a second try may answer when the first took place
	}{
		{"create namespace", func(ctx context.Context, c *Catalog) error {
			_, err := c.Namespaces.Create(ctx, []string{"p", "new"}, nil, namespaces.FailIfExists)
			return err
		}, []string{"NamespaceAlreadyExists"}},
		{"create namespace in one that was seen", func(ctx context.Context, c *Catalog) error {
			if _, err := c.Namespaces.Get(ctx, []string{"p"}); err != nil {
				return err
			}
			_, err := c.Namespaces.Create(ctx, []string{"p", "new"}, nil, namespaces.FailIfExists)
			return err
		}, []string{"NamespaceAlreadyExists"}},
		{"drop namespace", func(ctx context.Context, c *Catalog) error {
			_, err := c.Namespaces.Drop(ctx, []string{"p", "empty"}, false)
			return err
		}, []string{"NamespaceNotFound"}},
		{"cascading drop", func(ctx context.Context, c *Catalog) error {
			_, err := c.Namespaces.Drop(ctx, []string{"p", "full"}, true)
			return err
		}, []string{"NamespaceNotFound"}},
		{"create table", func(ctx context.Context, c *Catalog) error {
			id := []string{"p", "v"}
			_, err := c.CreateTable(ctx, id, c.Places.New(id), 0, nil)
			return err
		}, []string{"TableAlreadyExists"}},
		{"drop table", func(ctx context.Context, c *Catalog) error {
			_, err := c.DropTable(ctx, []string{"p", "u"})
			return err
		}, []string{"TableNotFound"}},
	}
	for _, change := range changes {
		t.Run(change.name, func(t *testing.T) {
			for n := 1; ; n++ {
				var reached atomic.Bool
				for _, fault := range []faultstore.Fault{{Crash: true}, {Crash: true, Lost: true}, {Lost: true}} {
					inner := memstore.New()
					prepare(t, inner)
					faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
						if call.N != n {
							return faultstore.Fault{}
						}
						reached.Store(true)
						return fault
					})
					first := change.do(t.Context(), open(t, faulty))
					c := open(t, inner)
					c.names.Now = func() time.Time { return time.Now().Add(namespaces.DropLease + time.Second) }
					second := change.do(t.Context(), c)
					if second != nil && (code(second) != change.done[0]) {
						t.Errorf("request %d, %+v: first %v, second %v", n, fault, first, second)
					}
					if first == nil && second == nil {
						t.Errorf("request %d, %+v: both tries say that they made the change", n, fault)
					}
				}
				if !reached.Load() {
					return
				}
			}
		})
	}
}

// A put that was sent and has not arrived may still arrive. It counts neither as success nor as
// another writer's record. Another writer's record does not settle it either, because that record
// may be deleted again.
func TestPutThatIsNotThereIsNotTakenForAnothers(t *testing.T) {
	creations := []struct {
		name string
		do   func(context.Context, *Catalog) error
	}{
		{"namespace", func(ctx context.Context, c *Catalog) error {
			_, err := c.Namespaces.Create(ctx, []string{"n"}, nil, namespaces.FailIfExists)
			return err
		}},
		{"namespace that may exist", func(ctx context.Context, c *Catalog) error {
			_, err := c.Namespaces.Create(ctx, []string{"n"}, nil, namespaces.KeepIfExists)
			return err
		}},
		{"table", func(ctx context.Context, c *Catalog) error {
			_, err := c.CreateTable(ctx, []string{"t"}, c.Places.New([]string{"t"}), 0, nil)
			return err
		}},
	}
	for _, creation := range creations {
		for _, taken := range []bool{false, true} {
			inner := memstore.New()
			if taken {
				mustCreate(t, open(t, inner), "n")
				mustTable(t, open(t, inner), "t")
			}
			faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
				if call.Kind == faultstore.PutIfAbsent {
					return faultstore.Fault{Err: objectstore.ErrUnknownOutcome}
				}
				return faultstore.Fault{}
			})
			what := fmt.Sprintf("create %s whose put was lost on its way (the name is taken: %v)", creation.name, taken)
			wantCode(t, what, creation.do(t.Context(), open(t, faulty)), "ServiceUnavailable")
		}
	}
}

// A creator that cannot read the parent again does not take its record back, because other clients
// may have seen it.
func TestCreateTableKeepsItsRecordIfTheParentIsUnreadable(t *testing.T) {
	inner := memstore.New()
	mustCreate(t, open(t, inner), "n")
	looked := 0
	faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.Key == keys.Namespace([]string{"n"}) {
			looked++
		}
		if looked > 1 {
			return faultstore.Fault{Err: errors.New("the storage is down")}
		}
		return faultstore.Fault{}
	})
	c := open(t, faulty)
	_, err := c.CreateTable(t.Context(), []string{"n", "t"}, c.Places.New([]string{"n", "t"}), 0, nil)
	wantCode(t, "create of which nobody knows whether it may stay", err, "ServiceUnavailable")
	_, err = open(t, inner).Table(t.Context(), []string{"n", "t"})
	wantCode(t, "the table afterwards", err, "")
}

// A deletion whose answer was lost is settled by reading: a missing namespace was dropped. For a
// table it stays unknown which process removed the record, because that may have been a rename.
func TestLostAnswersOfDeletionsAreSettled(t *testing.T) {
	changes := []struct {
		name    string
		do      func(context.Context, *Catalog) error
		deleted string // the answer when it is not there
	}{
		{"drop table", func(ctx context.Context, c *Catalog) error {
			_, err := c.DropTable(ctx, []string{"t"})
			return err
		}, "ServiceUnavailable"},
		{"deregister table", func(ctx context.Context, c *Catalog) error {
			_, err := c.DeregisterTable(ctx, []string{"t"})
			return err
		}, "ServiceUnavailable"},
		{"drop namespace", func(ctx context.Context, c *Catalog) error {
			_, err := c.Namespaces.Drop(ctx, []string{"n"}, false)
			return err
		}, ""},
	}
	faults := []struct {
		name  string
		fault faultstore.Fault
		want  string
	}{
		{"deleted", faultstore.Fault{Lost: true}, ""},
		{"not deleted", faultstore.Fault{Err: objectstore.ErrUnknownOutcome}, "ServiceUnavailable"},
	}
	for _, change := range changes {
		faults[0].want = change.deleted
		for _, f := range faults {
			inner := memstore.New()
			mustTable(t, open(t, inner), "t")
			mustCreate(t, open(t, inner), "n")
			faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
				if call.Kind == faultstore.Delete {
					return f.fault
				}
				return faultstore.Fault{}
			})
			wantCode(t, change.name+", "+f.name, change.do(t.Context(), open(t, faulty)), f.want)
		}
	}
}

// storeWithTable has a table t, in which there is a file with the key.
func storeWithTable(t *testing.T) (store objectstore.Store, key string) {
	t.Helper()
	inner := memstore.New()
	mustTable(t, open(t, inner), "t")
	table, err := open(t, inner).Table(t.Context(), []string{"t"})
	if err != nil {
		t.Fatal(err)
	}
	key = table.Location.Prefix + "/data/x.lance"
	if _, err := inner.Put(t.Context(), key, []byte("x"), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	return inner, key
}

// A table that was renamed while it was dropped keeps its data, also when the storage did not
// answer the drop.
func TestDropSparesATableThatWasRenamed(t *testing.T) {
	inner, key := storeWithTable(t)
	faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.Kind != faultstore.Delete || call.Key != keys.Table([]string{"t"}) {
			return faultstore.Fault{}
		}
		if _, err := open(t, inner).RenameTable(t.Context(), []string{"t"}, []string{"u"}); err != nil {
			t.Error(err)
		}
		return faultstore.Fault{Err: objectstore.ErrUnknownOutcome}
	})
	_, err := open(t, faulty).DropTable(t.Context(), []string{"t"})
	wantCode(t, "drop of a table that was renamed meanwhile", err, "ServiceUnavailable")
	if _, _, err := inner.Get(t.Context(), key); err != nil {
		t.Errorf("data of the table under its new name: %v", err)
	}
}

// A deletion of data is repeated when its answer was lost, since no other table owns the data.
func TestDropTableDeletesDataInSpiteOfLostAnswers(t *testing.T) {
	inner, key := storeWithTable(t)
	lost := 0
	faulty := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
		if call.Kind != faultstore.Delete || call.Key != key {
			return faultstore.Fault{}
		}
		lost++
		if lost == 1 {
			return faultstore.Fault{Err: objectstore.ErrUnknownOutcome}
		}
		return faultstore.Fault{}
	})
	if _, err := open(t, faulty).DropTable(t.Context(), []string{"t"}); err != nil || lost != 2 {
		t.Errorf("drop = %v after %d deletions of the data; want success after two", err, lost)
	}
}
