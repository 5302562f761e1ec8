package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// at returns the location that a client names.
func at(t *testing.T, c *Catalog, named string) objectstore.Location {
	t.Helper()
	location, err := c.Places.Planned(t.Context(), []string{"x"}, named)
	if err != nil {
		t.Fatalf("location %s: %v", named, err)
	}
	return location
}

// fill puts what a table at a place has, and returns the keys.
func fill(t *testing.T, store objectstore.Store, place string) []string {
	t.Helper()
	var keys []string
	for _, name := range []string{"_versions/1.manifest", "data/a.lance", "data/a/1.blob", "_refs/tags/x.json", "tree/b/_versions/1.manifest"} {
		key := place + "/" + name
		if _, err := store.Put(t.Context(), key, []byte(key), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	return keys
}

func present(t *testing.T, store objectstore.Store, keys []string) (n int) {
	t.Helper()
	for _, key := range keys {
		if _, _, err := store.Get(t.Context(), key); err == nil {
			n++
		}
	}
	return n
}

func TestPlacesThatOverlapAreRefused(t *testing.T) {
	cases := []struct {
		there, named string
		free         bool
	}{
		{"land/orders", "land/orders", false},
		{"land/orders", "land/orders/", false},
		{"land/orders", "memory://test/land/orders", false},
		{"land/orders", "MEMORY://test/land/%6frders", false},
		{"land/orders", "land/orders/data", false},
		{"land/orders", "land/orders/a/b/c", false},
		{"land/orders", "land", false},
		{"land/a/b/c/orders", "land/a", false},
		{"land/orders", "land/orders2", true},
		{"land/orders", "land/order", true},
		{"land/orders", "land/Orders", true},
		{"land/orders", "land2", true},
		{"land/orders", "orders", true},
		{"land/or$ders", "land/or$ders/x", false},
		{"memory://other/x/l/orders", "memory://other/x/l", false},
		{"memory://other/x/orders", "memory://other/x/orders/y", false},
		{"memory://other/x/orders", "memory://other/y/orders", true},
		{"memory://other/x/orders", "x/orders", true},
	}
	for _, tc := range cases {
		for _, joins := range []bool{false, true} {
			c := openTwo(t, memstore.New(), memstore.New())
			first := at(t, c, tc.there)
			if _, err := c.RegisterTable(t.Context(), []string{"first"}, Registration{Location: first, Joins: true}); err != nil {
				t.Fatal(err)
			}
			second := at(t, c, tc.named)
			_, err := c.RegisterTable(t.Context(), []string{"second"}, Registration{Location: second, Joins: joins})
			want := "InvalidInput"
			if tc.free || joins && first.URI == second.URI {
				want = ""
			}
			wantCode(t, fmt.Sprintf("%s beside %s, joins %v", tc.named, tc.there, joins), err, want)
			// And it is free once the first is gone, also by another name.
			if _, err := c.RenameTable(t.Context(), []string{"first"}, []string{"other"}); err != nil {
				t.Fatal(err)
			}
			_, err = c.RegisterTable(t.Context(), []string{"third"}, Registration{Location: at(t, c, tc.there)})
			wantCode(t, "the place of a table that was renamed", err, "InvalidInput")
			if _, err := c.DeregisterTable(t.Context(), []string{"other"}); err != nil {
				t.Fatal(err)
			}
			if want != "" {
				_, err = c.RegisterTable(t.Context(), []string{"second"}, Registration{Location: second, Joins: joins})
				wantCode(t, "the place of a table that is gone", err, "")
			}
		}
	}
}

// openTwo returns a catalog with a second root.
func openTwo(t *testing.T, home, other objectstore.Store) *Catalog {
	t.Helper()
	roots, err := objectstore.NewRoots(
		objectstore.Root{URI: "memory://test", Store: home}, objectstore.Root{URI: "memory://other/x", Store: other},
		objectstore.Root{URI: "memory://other/y", Store: other}, objectstore.Root{URI: "memory://other", Store: other},
	)
	if err != nil {
		t.Fatal(err)
	}
	return Open(roots, time.Now)
}

func TestPlacesAroundAndInsideOfOthers(t *testing.T) {
	c := openTwo(t, memstore.New(), memstore.New())
	made := mustMake(t, c, "t")
	for named, want := range map[string]string{
		made.Location.URI + "/data":       "InvalidInput",
		made.Location.URI + "/x/y":        "InvalidInput",
		made.Location.URI:                 "InvalidInput", // by a declaration
		"_places/x":                       "InvalidInput",
		"_catalog":                        "InvalidInput",
		"memory://test/%5fcatalog/$/t/t":  "InvalidInput",
		"memory://other/x":                "InvalidInput", // is a root
		"memory://other/z":                "",
		"_catalog/../t":                   "InvalidInput",
		made.Location.URI + "/../t.lance": "InvalidInput",
		made.Location.URI + "/%2e%2e/t":   "InvalidInput",
	} {
		location, err := c.Places.Planned(t.Context(), []string{"x"}, named)
		if err == nil {
			_, err = c.RegisterTable(t.Context(), []string{"x"}, Registration{Location: location})
		}
		wantCode(t, named, err, want)
		_, _ = c.DeregisterTable(t.Context(), []string{"x"})
	}
}

// If several registrations claim overlapping locations at the same time, exactly one wins.
func TestRegisterTableLetsOneOfManyClaimsWin(t *testing.T) {
	places := []string{"a/b/c", "a/b", "a/b/c/d", "a", "a/b/c/d/e", "a/b/c"}
	for round := range 40 {
		store := memstore.New()
		var mu sync.Mutex
		var won []string
		var group sync.WaitGroup
		for i, place := range places {
			c := open(t, store)
			group.Go(func() {
				_, err := c.RegisterTable(t.Context(), []string{fmt.Sprint(i)}, Registration{Location: c.roots.Join(place)})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, place)
				} else if got := code(err); got != "InvalidInput" && got != "ConcurrentModification" {
					t.Errorf("round %d: claim of %s: %v", round, place, err)
				}
			})
		}
		group.Wait()
		names, _, err := open(t, store).Lists.Names(t.Context(), lists.Tables, nil, "", lists.NoLimit)
		if err != nil || len(won) != 1 || len(names) != 1 {
			t.Fatalf("round %d: %v won, %v are there (%v), want one", round, won, names, err)
		}
	}
}

// After a crash at any call the place is free, or the table is there: nothing blocks it, and no
// two tables overlap.
func TestClaimsSurviveCrashes(t *testing.T) {
	for n := 1; ; n++ {
		for _, after := range []bool{false, true} {
			inner := memstore.New()
			calls := 0
			dying := faultstore.New(inner, func(faultstore.Call) faultstore.Fault {
				calls++
				return faultstore.Fault{Crash: !after && calls == n || after && calls == n+1}
			})
			c := open(t, dying)
			_, first := c.RegisterTable(t.Context(), []string{"first"}, Registration{Location: c.roots.Join("p/q")})
			if first == nil {
				_, first = c.RenameTable(t.Context(), []string{"first"}, []string{"renamed"})
			}
			if first == nil {
				_, first = c.DropTable(t.Context(), []string{"renamed"})
			}
			c = open(t, inner)
			c.names.Now = func() time.Time { return time.Now().Add(claim.GoingLease) }
			_, second := c.RegisterTable(t.Context(), []string{"second"}, Registration{Location: c.roots.Join("p")})
			names, _, err := c.Lists.Names(t.Context(), lists.Tables, nil, "", lists.NoLimit)
			if err != nil || len(names) != 1 || (second == nil) != (names[0] == "second") {
				t.Fatalf("crash at call %d: tables %v (%v), second: %v", n, names, err, second)
			}
			if first == nil && calls < n {
				return
			}
		}
	}
}

func TestDroppedTablesLeaveWhatIsOthers(t *testing.T) {
	ctx := t.Context()
	register := func(c *Catalog, name, place string) error {
		_, err := c.RegisterTable(ctx, []string{name}, Registration{Location: c.roots.Join(place), Joins: true})
		return err
	}
	t.Run("two names of one place", func(t *testing.T) {
		for _, order := range [][]string{{"made", "again"}, {"again", "made"}} {
			store := memstore.New()
			c := open(t, store)
			made := mustMake(t, c, "made")
			keys := fill(t, store, made.Location.Prefix)
			if err := register(c, "again", made.Location.Prefix); err != nil {
				t.Fatal(err)
			}
			for i, name := range order {
				if _, err := open(t, store).DropTable(ctx, []string{name}); err != nil {
					t.Fatal(err)
				}
				if got, want := present(t, store, keys), len(keys)*(1-i); got != want {
					t.Errorf("after the drop of %v: %d objects, want %d", order[:i+1], got, want)
				}
			}
		}
	})
	t.Run("a name that was taken away and given back", func(t *testing.T) {
		store := memstore.New()
		c := open(t, store)
		made := mustMake(t, c, "made")
		keys := fill(t, store, made.Location.Prefix)
		if _, err := c.DeregisterTable(ctx, []string{"made"}); err != nil {
			t.Fatal(err)
		}
		if err := register(c, "made", made.Location.Prefix); err != nil {
			t.Fatal(err)
		}
		if _, err := c.DropTable(ctx, []string{"made"}); err != nil || present(t, store, keys) != 0 {
			t.Errorf("drop: %v, %d objects are left", err, present(t, store, keys))
		}
	})
	t.Run("folders of nobody", func(t *testing.T) {
		store := memstore.New()
		c := open(t, store)
		made := mustMake(t, c, "made")
		keys := fill(t, store, made.Location.Prefix)
		others := fill(t, store, made.Location.Prefix+"/other")
		if _, err := c.DropTable(ctx, []string{"made"}); err != nil || present(t, store, keys) != 0 || present(t, store, others) != len(others) {
			t.Errorf("drop: %v, %d objects of the table are left, and %d of the folder in it", err, present(t, store, keys), present(t, store, others))
		}
	})
	// Records that are older than claims may overlap. They are read and dropped without harm.
	t.Run("records that overlap already", func(t *testing.T) {
		for _, doomed := range []string{"outer", "inner", "same"} {
			store := memstore.New()
			c := open(t, store)
			places := map[string]string{"outer": "p", "inner": "p/tree/x", "same": "p/tree/x", "far": "far"}
			keys := map[string][]string{}
			for name, place := range places {
				record := c.names.NewTable([]string{name}, c.roots.Join(place), 0, nil)
				record.Claim = ""
				if _, err := c.names.Put(ctx, record, false); err != nil {
					t.Fatal(err)
				}
				keys[name] = fill(t, store, place)
			}
			if _, err := c.DropTable(ctx, []string{doomed}); err != nil {
				t.Fatal(err)
			}
			for name := range places {
				if name != doomed && present(t, store, keys[name]) != len(keys[name]) {
					t.Errorf("the drop of %s took data of %s", doomed, name)
				}
			}
			_, err := open(t, store).RegisterTable(ctx, []string{"new"}, Registration{Location: c.roots.Join("far/in")})
			wantCode(t, "a place in that of an old record", err, "InvalidInput")
		}
	})
}

// A deregistered table is registered again at the location that was made for it. That takes as few
// requests among many tables as among few. A crash that prevents the note of the owner's end costs
// requests, and nothing else.
func TestRegisterAgainReadsNoOtherRecords(t *testing.T) {
	register := func(tables int, forget bool) int64 {
		store := objectstore.Counting(memstore.New())
		c := open(t, store)
		made := mustMake(t, c, "made")
		for n := range tables {
			mustTable(t, c, fmt.Sprintf("other%d", n))
		}
		if _, err := c.DeregisterTable(t.Context(), []string{"made"}); err != nil {
			t.Fatal(err)
		}
		if forget {
			if err := store.Delete(t.Context(), claim.OwnerlessKey(c.Places.Place(made.Location)), objectstore.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Places.EnsureKnown(t.Context()); err != nil {
			t.Fatal(err)
		}
		var usage objectstore.Usage
		ctx := objectstore.WithUsage(t.Context(), &usage)
		if _, err := c.RegisterTable(ctx, []string{"again"}, Registration{Location: made.Location, Joins: true}); err != nil {
			t.Fatal(err)
		}
		return usage.Requests() + usage.Writes()
	}
	few, many, forgotten := register(1, false), register(500, false), register(500, true)
	if few != many || forgotten <= many {
		t.Errorf("%d requests among few tables, %d among many, %d when all records have to be read", few, many, forgotten)
	}
}

// A registration of a location whose table is being dropped gets the table with all of its data, or
// an error.
func TestRegisterRacesWithDrop(t *testing.T) {
	for round := range 100 {
		store := memstore.New()
		made := mustMake(t, open(t, store), "made")
		keys := fill(t, store, made.Location.Prefix)
		if round%2 == 0 {
			mustRegister(t, open(t, store), "second", made.Location)
		}
		var group sync.WaitGroup
		var registered error
		dropper, registrar := open(t, store), open(t, store)
		names := []string{"made"}
		if round%2 == 0 {
			names = append(names, "second")
		}
		for _, name := range names {
			group.Go(func() { _, _ = dropper.DropTable(context.Background(), []string{name}) })
		}
		group.Go(func() {
			_, registered = registrar.RegisterTable(t.Context(), []string{"new"}, Registration{
				Location: made.Location, Joins: true,
				Look: func(ctx context.Context) (uint64, []objectstore.Location, error) {
					_, _, err := store.Get(ctx, keys[0])
					return 1, nil, err
				},
			})
		})
		group.Wait()
		left := present(t, store, keys)
		if registered == nil && left != len(keys) {
			t.Fatalf("round %d: registered, and %d of %d objects are left", round, left, len(keys))
		}
	}
}

// One of a drop and a registration at its location runs whole before a request of the other, for
// each request: whatever the order, a registration that succeeds has all of the data.
func TestRegisterBetweenRequestsOfDrop(t *testing.T) {
	drop := func(t *testing.T, c *Catalog, _ *Table, _ objectstore.Store, _ []string) error {
		_, err := c.DropTable(context.WithoutCancel(t.Context()), []string{"made"})
		return err
	}
	register := func(t *testing.T, c *Catalog, made *Table, store objectstore.Store, keys []string) error {
		_, err := c.RegisterTable(context.WithoutCancel(t.Context()), []string{"new"}, Registration{
			Location: made.Location, Joins: true,
			Look: func(ctx context.Context) (uint64, []objectstore.Location, error) {
				_, _, err := store.Get(ctx, keys[0])
				return 1, nil, err
			},
		})
		return err
	}
	type action = func(*testing.T, *Catalog, *Table, objectstore.Store, []string) error
	for name, actions := range map[string][2]action{"drop outside": {drop, register}, "registration outside": {register, drop}} {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				store := memstore.New()
				made := mustMake(t, open(t, store), "made")
				data := fill(t, store, made.Location.Prefix)
				var errs [2]error
				between := false
				outer := faultstore.New(store, func(call faultstore.Call) faultstore.Fault {
					if call.N != n {
						return faultstore.Fault{}
					}
					between = true
					return faultstore.Fault{Wait: func(context.Context) error {
						errs[1] = actions[1](t, open(t, store), made, store, data)
						return nil
					}}
				})
				errs[0] = actions[0](t, open(t, outer), made, outer, data)
				if !between {
					break
				}
				found, err := open(t, store).Table(t.Context(), []string{"new"})
				if left := present(t, store, data); err == nil && left != len(data) {
					t.Errorf("before request %d: registered at %s, and %d of %d objects are left (%v)", n, found.Location.URI, left, len(data), errs)
				}
			}
		})
	}
}

func mustRegister(t *testing.T, c *Catalog, name string, at objectstore.Location) {
	t.Helper()
	if _, err := c.RegisterTable(t.Context(), []string{name}, Registration{Location: at, Joins: true}); err != nil {
		t.Fatal(err)
	}
}

// mustMake makes a table at a place of its own.
func mustMake(t *testing.T, c *Catalog, name string) *Table {
	t.Helper()
	mustTable(t, c, name)
	made, err := c.Table(t.Context(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Equal catalogs send equal requests in the same order, so that a history can be repeated.
func TestClaimsForAllAreMadeInOrder(t *testing.T) {
	store := memstore.New()
	c := open(t, store)
	for i := range 40 {
		record := c.names.NewTable([]string{fmt.Sprint("t", i)}, c.roots.Join(fmt.Sprint("p", i/2)), 0, nil)
		record.Claim = ""
		if _, err := c.names.Put(t.Context(), record, false); err != nil {
			t.Fatal(err)
		}
	}
	var order []string
	watched := faultstore.New(store, func(call faultstore.Call) faultstore.Fault {
		if call.Kind == faultstore.PutIfMatch && strings.HasPrefix(call.Key, keys.Records) {
			order = append(order, call.Key)
		}
		return faultstore.Fault{}
	})
	if err := open(t, watched).Places.ClaimAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := slices.SortedFunc(slices.Values(order), func(a, b string) int {
		return cmp.Or(cmp.Compare(placeIn(t, store, a), placeIn(t, store, b)), cmp.Compare(a, b))
	}); len(order) != 40 || !slices.Equal(order, want) {
		t.Errorf("the records were given claims in the order %v, want %v", order, want)
	}
}

// placeIn returns the place of the table of a record.
func placeIn(t *testing.T, store objectstore.Store, key string) string {
	t.Helper()
	data, _, err := store.Get(t.Context(), key)
	var record stored.Table
	if err := errors.Join(err, json.Unmarshal(data, &record)); err != nil {
		t.Fatal(err)
	}
	return record.Location
}

// A table whose place the server was not given, as after an import, is refused with the setting that gives it.
func TestRegisterTableOutsideOfTheRootsNamesTheSetting(t *testing.T) {
	home := memstore.New()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: home}, objectstore.Root{URI: "memory://lake", Store: memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	at, err := roots.Resolve("memory://lake/t.lance")
	if err == nil {
		_, err = Open(roots, time.Now).RegisterTable(t.Context(), split("t"), Registration{Location: at})
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = open(t, home).Table(t.Context(), split("t"))
	var refusal *protocol.Error
	if !errors.As(err, &refusal) || refusal.Code != protocol.InvalidTableState || !strings.Contains(refusal.Detail, "memory://lake/t.lance") || !strings.Contains(refusal.Detail, "--allow-location") {
		t.Errorf("the error is %v with the detail %q", err, refusal.Detail)
	}
}
