package tables_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog/batch"
	"tiltyard/shared/jobs/usage"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

// A table that is dropped in any way no longer counts as stored. One that is renamed still does.
func TestDroppedTablesAreForgotten(t *testing.T) {
	id := []string{"ns", "t"}
	ways := map[string]func(ctx context.Context, in tables.Tables) error{
		"drop": func(ctx context.Context, in tables.Tables) error {
			_, err := in.Names.DropTable(ctx, id)
			return err
		},
		"drop for a time": func(ctx context.Context, in tables.Tables) error {
			in.Names.Drops.Retention = time.Hour
			_, err := in.Names.DropTable(ctx, id)
			return err
		},
		"deregister": func(ctx context.Context, in tables.Tables) error {
			_, err := in.Names.DeregisterTable(ctx, id)
			return err
		},
		"deregister in a batch": func(ctx context.Context, in tables.Tables) error {
			_, err := in.Names.CommitBatch(ctx, &batch.Batch{Request: []byte("{}"), Operations: []batch.Operation{{ID: id, Deregister: true}}})
			return err
		},
		"drop its namespace": func(ctx context.Context, in tables.Tables) error {
			_, err := in.Names.Namespaces.Drop(ctx, id[:1], true)
			return err
		},
		"rename": func(ctx context.Context, in tables.Tables) error {
			_, err := in.Names.RenameTable(ctx, id, []string{"u"})
			return err
		},
		"nothing": func(context.Context, tables.Tables) error { return nil },
	}
	for name, leave := range ways {
		for _, events := range []string{"", "//events"} {
			t.Run(name+events, func(t *testing.T) {
				objects := memstore.New()
				roots, err := objectstore.NewRoots(objectstore.Root{URI: root, Store: objects})
				if err != nil {
					t.Fatal(err)
				}
				in := tables.Open(tables.Stores{
					Objects: roots, Records: objectrecord.Open(objects, time.Now), Now: time.Now, CacheBytes: 1 << 20, Metered: true, EventSource: events,
				})
				at := in.Names.Places.New(id)
				_, made := in.Names.Namespaces.Create(t.Context(), id[:1], nil, 0)
				_, written := in.Rows.Table(id, at).Create(t.Context(), numbered(0))
				_, named := in.Names.CreateTable(t.Context(), id, at, 1, nil)
				found, err := in.Names.Table(t.Context(), id)
				if err := errors.Join(made, written, named, err); err != nil {
					t.Fatal(err)
				}
				if err := usage.NoteStored(t.Context(), in.Records, time.Now(), found.Location.URI, "ns", 7); err != nil {
					t.Fatal(err)
				}
				if err := leave(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				want := map[string]int64{}
				if name == "rename" || name == "nothing" {
					want["ns"] = 7
				}
				got, err := usage.ReadStored(t.Context(), in.Records)
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Error(diff, err)
				}
			})
		}
	}
}
