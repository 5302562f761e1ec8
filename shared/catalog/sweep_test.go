package catalog

import (
	"testing"
	"time"

	"tiltyard/shared/objectstore"
	"tiltyard/shared/objectstore/memstore"
	"tiltyard/shared/result"
)

func TestASweepTakesResultsAfterTheirTime(t *testing.T) {
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
	if deleted, err := c.Sweep(t.Context(), 0); err != nil || deleted != want {
		t.Errorf("after %s a sweep takes %d objects, %v; want %d", later, deleted, err, want)
	}
}
