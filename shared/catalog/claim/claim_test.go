package claim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A land is a home root and a second root, with the names and places of a catalog over them.
type land struct {
	*claim.Places
	names *naming.Registry
	roots *objectstore.Roots
	now   time.Time
}

func newLand(t interface{ Fatal(...any) }) *land {
	roots, err := objectstore.NewRoots(
		objectstore.Root{URI: "memory://home", Store: memstore.New()},
		objectstore.Root{URI: "memory://other/x", Store: memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	l := &land{roots: roots, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	l.names = naming.New(roots, func() time.Time { return l.now }, func([]string) {})
	l.Places = l.names.Places
	return l
}

func (l *land) at(t *testing.T, named string) objectstore.Location {
	t.Helper()
	at, err := l.roots.Resolve(named)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// own is a folder as the catalog makes it for a table.
const own = "orders-0123456789abcdef01234567.lance"

// settle takes a place for a table and puts its record, which holds the claim.
func (l *land) settle(t *testing.T, name, place string, joins bool) (*stored.Table, error) {
	t.Helper()
	taken, err := l.Take(t.Context(), []string{name}, l.at(t, place), joins, false)
	if err != nil {
		return nil, err
	}
	record := &stored.Table{ID: []string{name}, UID: "uid of " + name, Location: taken.Place, Claim: taken.UID, Created: l.now}
	l.put(t, record)
	return record, nil
}

func (l *land) put(t *testing.T, record *stored.Table) {
	t.Helper()
	if _, err := l.names.Store.Write(t.Context(), keys.Table(record.ID), record, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
}

// claimants returns the names of the tables that have claims about a place.
func (l *land) claimants(t *testing.T, place string) (names []string) {
	t.Helper()
	found, err := l.About(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range found {
		for _, id := range one.Names {
			names = append(names, strings.Join(id, "/"))
		}
	}
	slices.Sort(names)
	return names
}

func wantCode(t *testing.T, what string, err error, code protocol.Code) {
	t.Helper()
	if !protocol.HasCode(err, code) {
		t.Errorf("%s: got %v, want code %d", what, err, code)
	}
}

func TestPlacesAreWrittenAsRecordsHaveThem(t *testing.T) {
	l := newLand(t)
	for named, want := range map[string]string{"a/b": "a/b", "memory://home/a/b": "a/b", "memory://other/x/a": "memory://other/x/a"} {
		at := l.at(t, named)
		if got := l.Place(at); got != want || l.IsHome(at) == strings.Contains(want, "://") {
			t.Errorf("%s: got place %s, at home %v; want %s", named, got, l.IsHome(at), want)
		}
	}
	for place, want := range map[string][2]bool{ // of the catalog, inside one of the catalog
		own: {true, false}, own + "/tree": {false, true}, "land/" + own: {false, false}, "orders.lance": {false, false},
	} {
		if got := [2]bool{claim.IsOwn(place), claim.InsideOwn(place)}; got != want {
			t.Errorf("%s: got %v, want %v", place, got, want)
		}
	}
}

func TestTakeGivesAPlaceToOneTable(t *testing.T) {
	cases := []struct {
		there, named string
		free         bool
	}{
		{"land/a", "land/a", false},
		{"land/a", "land/a/b/c", false},
		{"land/a", "land", false},
		{"land/a", "land/ab", true},
		{"land/a", "memory://other/x/land/a", true},
		{"memory://other/x/a", "memory://other/x/a/b", false},
		{"memory://other/x/a", "memory://other/x/b", true},
		{strings.Repeat("é", 90) + "/a", strings.Repeat("é", 90), false},
	}
	for _, c := range cases {
		l := newLand(t)
		if _, err := l.settle(t, "first", c.there, false); err != nil {
			t.Fatal(err)
		}
		_, err := l.settle(t, "second", c.named, false)
		if c.free && err != nil || !c.free && !protocol.HasCode(err, protocol.InvalidInput) {
			t.Errorf("%s beside %s: got %v, free should be %v", c.named, c.there, err, c.free)
		}
		if got := l.claimants(t, c.named); !c.free && !slices.Equal(got, []string{"first"}) {
			t.Errorf("%s: claims of %q are left, want only that of the first table", c.named, got)
		}
	}
}

// Claims about a place are those on the folders of its path and below it, whatever the names are.
func TestClaimsAboutAPlaceOverlapIt(t *testing.T) {
	components := rapid.SampledFrom([]string{"a", "b", "A", "a$", "=a", "é", "a b"})
	rapid.Check(t, func(rt *rapid.T) {
		l := newLand(rt)
		place := func(label string) string {
			return strings.Join(rapid.SliceOfN(components, 1, 3).Draw(rt, label), "/")
		}
		first, second := place("first"), place("second")
		at, err := l.roots.Resolve(first)
		if err != nil {
			rt.Fatal(err)
		}
		if _, err := l.Take(t.Context(), []string{"t"}, at, false, false); err != nil {
			rt.Fatal(err)
		}
		found, err := l.About(t.Context(), second)
		if want := objectstore.Holds(first, second) || objectstore.Holds(second, first); err != nil || (len(found) == 1) != want {
			rt.Errorf("a claim on %s is about %s: got %d claims, %v; overlap is %v", first, second, len(found), err, want)
		}
	})
}

func TestTablesShareAPlaceIfBothJoin(t *testing.T) {
	l := newLand(t)
	for _, name := range []string{"one", "two"} {
		if _, err := l.settle(t, name, "land/a", true); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.claimants(t, "land/a"); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("claims of %q, want both", got)
	}
	_, err := l.settle(t, "three", "land/a/inside", true)
	wantCode(t, "a place inside a shared one", err, protocol.InvalidInput)
}

// A claim whose maker died counts until its lease runs out; then the next caller deletes it.
func TestClaimThatIsAbandonedGivesWay(t *testing.T) {
	l := newLand(t)
	left, err := l.Take(t.Context(), []string{"dead"}, l.at(t, "land/a"), false, false)
	if err != nil {
		t.Fatal(err)
	}
	if still, err := l.StillHeld(t.Context(), left); err != nil || !still {
		t.Errorf("a new claim is held: %v, %v", still, err)
	}
	l.now = l.now.Add(time.Hour)
	if _, err := l.settle(t, "living", "land/a", false); err != nil {
		t.Fatal(err)
	}
	if still, err := l.StillHeld(t.Context(), left); err != nil || still {
		t.Errorf("an abandoned claim is held: %v, %v", still, err)
	}
	if got := l.claimants(t, "land/a"); !slices.Equal(got, []string{"living"}) {
		t.Errorf("claims of %q, want that of the living table", got)
	}
}

func TestReleaseOfFreesThePlace(t *testing.T) {
	l := newLand(t)
	record, err := l.settle(t, "t", "land/a", false)
	if err != nil {
		t.Fatal(err)
	}
	l.ReleaseOf(t.Context(), record)
	l.ReleaseOf(t.Context(), nil)
	if got := l.claimants(t, "land/a"); len(got) != 0 {
		t.Errorf("claims of %q are left", got)
	}
}

func TestClaimLeadsToItsTableThroughARename(t *testing.T) {
	l := newLand(t)
	record, err := l.settle(t, "old", "land/a", false)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time, the name is there
		if err := l.AddName(t.Context(), record, []string{"new"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.claimants(t, "land/a"); !slices.Equal(got, []string{"new", "old"}) {
		t.Fatalf("claims of %q, want both names", got)
	}
	renamed := *record
	renamed.ID = []string{"new"}
	l.put(t, &renamed)
	if err := l.names.Store.Delete(t.Context(), keys.Table(record.ID), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	l.now = l.now.Add(time.Hour)
	about, err := l.About(t.Context(), "land/a")
	if err != nil {
		t.Fatal(err)
	}
	owner, wait, err := l.Owner(t.Context(), about[0])
	if err != nil || wait || owner == nil || owner.ID[0] != "new" {
		t.Errorf("the owner is %+v, wait %v, %v; want the renamed table", owner, wait, err)
	}
}

// While the data of a table is being deleted, its place is not free.
func TestMarkGoingKeepsThePlaceTaken(t *testing.T) {
	l := newLand(t)
	record, err := l.settle(t, "going", "land/a", false)
	if err != nil {
		t.Fatal(err)
	}
	going, err := l.MarkGoing(t.Context(), record)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.names.Store.Delete(t.Context(), keys.Table(record.ID), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	if still, err := l.StillHeld(t.Context(), going); err != nil || still {
		t.Errorf("a going claim is held: %v, %v", still, err)
	}
	if _, err := l.settle(t, "next", "land/a", false); err == nil {
		t.Error("the place of a table that is going was taken")
	}
	l.Release(t.Context(), going)
	if _, err := l.settle(t, "next", "land/a", false); err != nil {
		t.Errorf("the place of a table that is gone: %v", err)
	}
}

// A drop and a registration at a place that the catalog made decide by one note.
func TestNoteDecidesBetweenDropAndRegistration(t *testing.T) {
	l := newLand(t)
	if free, err := l.MayDelete(t.Context(), own); err != nil || !free {
		t.Fatalf("the first may delete: %v, %v", free, err)
	}
	_, err := l.settle(t, "late", own, true)
	wantCode(t, "a registration after the drop", err, protocol.ConcurrentModification)
	l.DeleteNote(t.Context(), own)
	if _, err := l.settle(t, "late", own, true); err != nil {
		t.Fatalf("a registration after the files are gone: %v", err)
	}
	if free, err := l.MayDelete(t.Context(), own); err != nil || free {
		t.Errorf("a drop after a registration may delete: %v, %v", free, err)
	}
	l.now = l.now.Add(2 * claim.GoingLease)
	other := "other-0123456789abcdef01234567.lance"
	if _, err := l.MayDelete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	l.now = l.now.Add(2 * claim.GoingLease)
	if _, err := l.settle(t, "after", other, true); err != nil {
		t.Errorf("a registration after the lease of a drop: %v", err)
	}
}

// A second name at the place of a table that needed no claim gives that table one.
func TestClaimOfASecondNameGivesTheOwnerOne(t *testing.T) {
	l := newLand(t)
	l.put(t, &stored.Table{ID: []string{"owner"}, UID: "u", Location: own, Claim: stored.OwnPlace, Created: l.now})
	if _, err := l.settle(t, "second", own, true); err != nil {
		t.Fatal(err)
	}
	if got := l.claimants(t, own); !slices.Equal(got, []string{"owner", "second"}) {
		t.Errorf("claims of %q, want both names", got)
	}
	record, _, err := l.names.Table(t.Context(), []string{"owner"})
	if err != nil || !record.HasClaim() {
		t.Errorf("the owner's record has claim %q, %v", record.Claim, err)
	}
	_, err = l.settle(t, "inside", own+"/tree", true)
	wantCode(t, "a place inside a folder of the catalog", err, protocol.InvalidInput)
}

// Records that are older than claims get theirs before the first place is taken.
func TestOldRecordsGetClaims(t *testing.T) {
	l := newLand(t)
	l.put(t, &stored.Table{ID: []string{"old"}, UID: "u", Location: "land/a", Created: l.now})
	l.put(t, &stored.Table{ID: []string{"plain"}, UID: "v", Location: own, Created: l.now})
	_, err := l.settle(t, "new", "land/a/b", false)
	wantCode(t, "a place inside that of an old record", err, protocol.InvalidInput)
	if got := l.claimants(t, "land/a"); !slices.Equal(got, []string{"old"}) {
		t.Errorf("claims of %q, want that of the old record", got)
	}
	if got := l.claimants(t, own); len(got) != 0 {
		t.Errorf("claims of %q on a folder of the catalog, want none", got)
	}
}
