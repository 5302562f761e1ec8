// Package enginetest helps tests of the packages that work on tables: it makes tables in memory, opens tables that native
// Lance has made, and shows rows as text.
package enginetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// Table opens the table t in a store. Its engine has an empty cache, like that of a new process.
func Table(store objectstore.Store, limits engine.Limits) *engine.Table {
	at := objectstore.Location{URI: "memory://test/t.lance", Store: store, Prefix: "t.lance"}
	return engine.New(dataset.NewSession(64<<20, time.Now), limits).Table([]string{"t"}, at)
}

// Rows makes rows out of a JSON array of objects.
func Rows(t testing.TB, schema *arrow.Schema, text string) dataset.Rows {
	t.Helper()
	batch, _, err := array.RecordFromJSON(arrowmemory.DefaultAllocator, schema, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

// Create makes a table in memory out of a JSON array of objects.
func Create(t testing.TB, schema *arrow.Schema, text string) *engine.Table {
	t.Helper()
	return CreateOf(t, Rows(t, schema, text), dataset.CreateOptions{})
}

// CreateOf makes a table in memory.
func CreateOf(t testing.TB, rows dataset.Rows, opts dataset.CreateOptions) *engine.Table {
	t.Helper()
	table := Table(memstore.New(), engine.Limits{})
	if _, err := table.CreateAs(t.Context(), rows, opts); err != nil {
		t.Fatal(err)
	}
	return table
}

// Show runs a query on the newest version and returns its rows as text, one line each.
func Show(t testing.TB, table *engine.Table, q *query.Query) []string {
	t.Helper()
	rows, err := table.Query(t.Context(), engine.AsOf{}, q)
	if err != nil {
		t.Fatal(err)
	}
	return Lines(t, rows)
}

// Lines returns rows as text, one line each, in the form "id=1 name=a".
func Lines(t testing.TB, rows *protocol.Rows) []string {
	t.Helper()
	lines := []string{}
	for batch, err := range rows.Batches {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(batch.NumRows()) {
			var values []string
			for c, column := range batch.Columns() {
				values = append(values, fmt.Sprintf("%s=%s", batch.ColumnName(c), column.ValueStr(i)))
			}
			lines = append(lines, strings.Join(values, " "))
		}
	}
	return lines
}

// WantCode reports an error that lacks a code as a failure of the test.
func WantCode(t testing.TB, what string, err error, code protocol.Code) {
	t.Helper()
	if err == nil || protocol.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// Index returns an index of the newest version of a table.
func Index(ctx context.Context, t *engine.Table, name string) (snapshot.Index, error) {
	return engine.Read(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) (snapshot.Index, error) { return d.Index(name) })
}
