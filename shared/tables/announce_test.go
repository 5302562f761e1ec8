package tables_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/event"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/objectstore/faultstore"
	"tiltyard/shared/objectstore/memstore"
	"tiltyard/shared/protocol"
	"tiltyard/shared/record/objectrecord"
	"tiltyard/shared/tables"
)

// announcing returns the tables of a process that announces changes.
func announcing(t *testing.T, objects objectstore.Store) tables.Tables {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: root, Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	return tables.Open(tables.Stores{Objects: roots, Records: objectrecord.Open(objects, time.Now), Now: time.Now, CacheBytes: 1 << 20, EventSource: "urn:test"})
}

// A process dies at each request of a life of a table. Whatever it left, a later look announces each change that took
// place, once.
func TestACrashLosesNoAnnouncement(t *testing.T) {
	for n, crashed := 1, true; crashed; n++ {
		inner := memstore.New()
		if _, err := announcing(t, inner).Announcer.Outbox.Log.Since(t.Context()); err != nil {
			t.Fatal(err)
		}
		in := announcing(t, faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
			if call.N >= n {
				return faultstore.Fault{Err: errors.New("the process has crashed")}
			}
			return faultstore.Fault{}
		}))
		err := live(t, in)
		crashed = err != nil
		later := announcing(t, inner)
		_, there := later.Names.Table(t.Context(), []string{"t"})
		for range 2 {
			if _, err := later.Announcer.Table(t.Context(), []string{"t"}); err != nil {
				t.Fatal(err)
			}
			left, _, err := later.Announcer.Leaving(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			for _, lineage := range left {
				if err := later.Announcer.Left(t.Context(), lineage); err != nil {
					t.Fatal(err)
				}
			}
		}
		page, err := later.Announcer.Outbox.Log.Read(t.Context(), event.Cursor{}, 100, func(*protocol.Event) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range page.Events {
			_, change, _ := strings.Cut(e.ID, "/")
			got = append(got, change)
		}
		switch all := []string{"created", "version/1", "version/2", "dropped/1"}; {
		case there == nil && (len(got) < 2 || !slices.Equal(got, all[:len(got)]) || slices.Contains(got, "dropped/1")):
			t.Errorf("crash at %d, the table is there: got %v", n, got)
		case there != nil && len(got) > 0 && !slices.Equal(got, all), !crashed && len(got) != len(all):
			t.Errorf("crash at %d, the table is gone: got %v", n, got)
		}
	}
}

// live makes, changes and drops a table.
func live(t *testing.T, in tables.Tables) error {
	at := in.Names.NewLocation([]string{"t"})
	if _, err := in.Rows.Table([]string{"t"}, at, 0).Create(t.Context(), numbered(0)); err != nil {
		return err
	}
	if _, err := in.Names.CreateTable(t.Context(), []string{"t"}, at, 1, nil); err != nil {
		return err
	}
	if _, err := insert(t.Context(), in, "t", "", 1); err != nil {
		return err
	}
	_, err := in.Names.DropTable(t.Context(), []string{"t"})
	return err
}
