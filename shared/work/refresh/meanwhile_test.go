package refresh_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A view whose rows a compaction moves before any request of its refresh shows each row of its source once.
func TestViewMayBeCompactedMeanwhile(t *testing.T) {
	moved := 0
	for n, more := 1, true; more && !t.Failed(); n++ {
		synctest.Test(t, func(t *testing.T) {
			inner := memstore.New()
			other := open(t, inner)
			other.source(t, true)
			first := must[string](t)(other.create(t.Context(), query))
			other.serve(t)
			other.done(t, first)
			other.alter(t)
			more = false
			p := open(t, faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
				if call.N == n {
					more = true
					if err := other.compact(t, "v"); err != nil {
						t.Error(err)
					}
				}
				return faultstore.Fault{}
			}))
			id := other.refresh(t, viewapi.RefreshRequest{})
			p.send(t, id)
			p.serve(t)
			last := open(t, inner)
			result := last.done(t, id)
			if got := last.ids(t, "v"); !cmp.Equal(got, altered) {
				t.Errorf("request %d: rows are %v, want %v; the result is %s", n, got, altered, result)
			}
			if more {
				moved++
			}
		})
	}
	if moved < 10 {
		t.Errorf("the view was compacted before %d requests, want more", moved)
	}
}
