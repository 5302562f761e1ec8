package catalog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/ledger"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/result"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestSweepTakesResultsAfterTheirTime(t *testing.T) {
	store := memstore.New()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://lake", Store: store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(t.Context(), result.Folder+"caller/answer.arrow", []byte("rows"), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	sweepAt(t, roots, result.Lifetime-time.Minute, 0)
	sweepAt(t, roots, result.Lifetime+time.Minute, 1)
}

// sweepAt sweeps some time from now on.
func sweepAt(t *testing.T, roots *objectstore.Roots, later time.Duration, want int) {
	t.Helper()
	c := Open(roots, func() time.Time { return time.Now().Add(later) })
	if deleted, err := c.Sweeper.Sweep(t.Context(), 0); err != nil || deleted != want {
		t.Errorf("after %s a sweep takes %d objects, %v; want %d", later, deleted, err, want)
	}
}

// One record that cannot be read keeps a sweep from what it may refer to, and from nothing else.
func TestSweepGoesOnPastUnreadableRecords(t *testing.T) {
	const (
		function = "the record of a function"
		orphan   = "the record of an orphan"
		decision = "the decision of a batch"
		parent   = "the record of a namespace"
		dropped  = "the record of a dropped table"
	)
	long := strings.Repeat("long", 60) // whose folder is hashed, so that a record in it tells its name
	for _, unreadable := range []string{function, orphan, decision, parent, dropped} {
		t.Run(unreadable, func(t *testing.T) {
			store := memstore.New()
			c := open(t, store)
			mustCreate(t, c, "kept", "gone", long, "kept/in")
			mustTable(t, c, "gone/t", "gone/u", "kept/t", "kept/in/t", long+"/t")
			put := func(key, text string) {
				t.Helper()
				if _, err := store.Put(t.Context(), key, []byte(text), objectstore.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
			for _, id := range []string{"gone", long} {
				if err := store.Delete(t.Context(), keys.Namespace([]string{id}), objectstore.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
			artifact, copied, call, results := "_functions/artifacts/"+"unnamed", ledger.CopiesPrefix+"old", functions.CallsFolder+"old", result.Folder+"caller/a.arrow"
			for _, key := range []string{artifact, copied, call, results} {
				put(key, "x")
			}
			broken := map[string]string{
				function: keys.Functions.Children([]string{"kept"}) + "f", orphan: keys.Table(split(long + "/t")), decision: stored.BatchesPrefix + "b",
				parent: keys.Namespace(split("kept/in")), dropped: keys.Table(keys.DroppedID("20200101t000000zx")),
			}[unreadable]
			put(broken, "{")
			c.names.Now = func() time.Time { return time.Now().Add(48 * time.Hour) }
			_, err := c.Sweeper.Sweep(t.Context(), 0)
			var left *objects.Unswept
			if unreadable != parent && (!errors.As(err, &left) || len(left.Errors) != 1 || !strings.Contains(err.Error(), "decode")) {
				t.Errorf("got %v, want one error of the record", err)
			}
			for key, want := range map[string]bool{
				broken: true, artifact: unreadable == function, copied: unreadable == decision, call: false, results: false,
				keys.Table(split("gone/t")): false, keys.Table(split("gone/u")): false, keys.Table(split(long + "/t")): unreadable == orphan,
				keys.Table(split("kept/t")): true, keys.Table(split("kept/in/t")): true,
			} {
				if _, _, err := store.Get(t.Context(), key); (err == nil) != want {
					t.Errorf("%s is there: %v (%v), want %v", key, err == nil, err, want)
				}
			}
		})
	}
}
