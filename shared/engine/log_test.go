package engine_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/merge"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore/memstore"
)

// Reads of a table with a write-ahead log must ask to ignore it, because its rows are not read. Writes are refused, also if
// no row satisfies their condition.
func TestQueryRefusesATableWithALogUnlessItIsIgnored(t *testing.T) {
	ctx, table := t.Context(), enginetest.NativeTable(t, "wal/testdata/t.lance", engine.Limits{})
	yes, no := true, false
	for _, c := range []struct {
		log  *bool
		want protocol.Code
	}{
		{nil, protocol.Unsupported}, {&yes, protocol.Unsupported},
	} {
		at, all := engine.AsOf{Log: c.log}, new(query.Query)
		_, err := table.Query(ctx, at, all)
		enginetest.WantCode(t, "query", err, c.want)
		_, err = table.Explain(ctx, at, all, false)
		enginetest.WantCode(t, "explain", err, c.want)
		_, err = table.Analyze(ctx, at, all)
		enginetest.WantCode(t, "analyze", err, c.want)
		_, err = table.Count(ctx, at, "")
		enginetest.WantCode(t, "count", err, c.want)
	}
	alone := engine.AsOf{Log: &no}
	rows, err := table.Query(ctx, alone, new(query.Query))
	if err != nil {
		t.Fatal(err)
	}
	if got := enginetest.Lines(t, rows); !cmp.Equal(got, []string{"id=1"}) {
		t.Errorf("the table alone: got %v", got)
	}
	if n, err := table.Count(ctx, alone, ""); err != nil || n.Rows != 1 {
		t.Errorf("the rows of the table alone: got %v and error %v, want 1", n, err)
	}
	before := int64(1)
	if n, err := table.Count(ctx, engine.AsOf{Version: &before}, ""); err != nil || n.Rows != 1 {
		t.Errorf("the version before the log: got %v and error %v, want 1 row", n, err)
	}
	for what, write := range map[string]func() error{
		"delete": func() error { _, err := table.Delete(ctx, "id > 5"); return err },
		"update": func() error {
			_, err := table.Update(ctx, []engine.Assignment{{Column: "id", SQL: "7"}}, "id > 5")
			return err
		},
		"merge": func() error {
			ids := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
			_, err := table.Merge(ctx, enginetest.Rows(t, ids, `[{"id":9}]`), merge.Spec{On: []string{"id"}, UpdateAll: true})
			return err
		},
		"a copy": func() error {
			_, err := enginetest.Table(memstore.New(), engine.Limits{}).CreateFrom(ctx, table)
			return err
		},
	} {
		enginetest.WantCode(t, what, write(), protocol.Unsupported)
	}
}

func TestQueryRefusesToReadALogThatDoesNotExist(t *testing.T) {
	ctx, table, yes := t.Context(), enginetest.CreateOf(t, enginetest.Numbered(0, 3, 1), dataset.CreateOptions{}), true
	_, err := table.Query(ctx, engine.AsOf{Log: &yes}, new(query.Query))
	enginetest.WantCode(t, "query", err, protocol.InvalidInput)
}
