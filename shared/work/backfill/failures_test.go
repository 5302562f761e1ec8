package backfill

import (
	"fmt"
	"strings"
	"testing"

	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/rowerror"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestFailuresAreStoredByFragment(t *testing.T) {
	area := rowerror.Area{Store: memstore.New(), Prefix: "t.lance"}
	f := failures{area: area, job: "j", column: "c"}
	fail := func(fragment uint64, offset uint32) {
		f.add(fill.RowFailure{Fragment: fragment, Offset: offset, Function: "f", Version: "1", Failure: udf.Failure{Type: "T", Message: "m"}})
	}
	told := func() string {
		found, err := area.List(t.Context(), rowerror.Query{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, u := range found.Units {
			for _, r := range u.Rows {
				fmt.Fprintf(&b, "%d:%d@%d ", u.Fragment, r.Offset, u.TableVersion)
			}
		}
		return strings.TrimSpace(b.String())
	}
	save := func(version int64, want string) {
		t.Helper()
		if err := f.save(t.Context(), version); err != nil {
			t.Fatal(err)
		}
		if got := told(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	save(1, "")
	fail(0, 3)
	fail(0, 5)
	save(1, "0:3@1 0:5@1")
	fail(2, 1)
	save(1, "0:3@1 0:5@1 2:1@1")
	fail(0, 7) // computed again after a conflict
	save(2, "0:7@2 2:1@1")
}
