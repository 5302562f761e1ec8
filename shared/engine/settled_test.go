package engine_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// Work that commits is done once, on the newest version, also by a process that knows only an older one
// and whose storage is far: a table that is made of another one has the rows that others have added.
func TestWorkThatCommitsIsDoneOnceOnTheNewestVersion(t *testing.T) {
	store := memstore.New()
	far := struct{ objectstore.Store }{store}
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	source := enginetest.Table(far, engine.Limits{})
	if _, err := source.Create(t.Context(), enginetest.Rows(t, schema, `[{"id": 1}]`)); err != nil {
		t.Fatal(err)
	}
	if _, err := enginetest.Table(far, engine.Limits{}).Insert(t.Context(), enginetest.Rows(t, schema, `[{"id": 2}]`)); err != nil {
		t.Fatal(err)
	}
	runs := 0
	version, err := engine.Settled(t.Context(), source, nil, func(_ context.Context, d *dataset.Dataset) (uint64, error) {
		runs++
		return d.Version(), nil
	})
	if err != nil || runs != 1 || version != 2 {
		t.Errorf("the work was done %d times, last on version %d, %v; want once on version 2", runs, version, err)
	}
	made := source.Engine().Table([]string{"made"}, objectstore.Location{URI: "memory://test/made", Store: far, Prefix: "made"})
	if _, err := enginetest.Table(far, engine.Limits{}).Insert(t.Context(), enginetest.Rows(t, schema, `[{"id": 3}]`)); err != nil {
		t.Fatal(err)
	}
	if _, err := made.CreateFrom(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	if got := enginetest.Show(t, made, &query.Query{}); len(got) != 3 {
		t.Errorf("the table has the rows %q, want all three", got)
	}
}
