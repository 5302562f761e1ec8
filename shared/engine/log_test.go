package engine_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/merge"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/engine/wal"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/storage/objectstore/memstore"
)

// The table has a log that pylance 14.0.2 made. What is in it is not read, so reads need to say that they do
// without, and nothing is written, not even where no row fits a condition.
func TestReadsOfATableWithALogSayThatTheyDoWithout(t *testing.T) {
	ctx, table := t.Context(), nativeTable(t, "testdata/memwal/t.lance", engine.Limits{})
	yes, no := true, false
	for _, c := range []struct {
		log  *bool
		want protocol.Code
	}{
		{nil, protocol.Unsupported}, {&yes, protocol.Unsupported},
	} {
		at, all := engine.AsOf{Log: c.log}, new(query.Query)
		_, err := table.Query(ctx, at, all)
		wantCode(t, "query", err, c.want)
		_, err = table.Explain(ctx, at, all, false)
		wantCode(t, "explain", err, c.want)
		_, err = table.Analyze(ctx, at, all)
		wantCode(t, "analyze", err, c.want)
		_, err = table.Count(ctx, at, "")
		wantCode(t, "count", err, c.want)
	}
	alone := engine.AsOf{Log: &no}
	rows, err := table.Query(ctx, alone, new(query.Query))
	if err != nil {
		t.Fatal(err)
	}
	if got := lines(t, rows); !cmp.Equal(got, []string{"id=1"}) {
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
			_, err := table.Merge(ctx, rowsJSON(t, ids, `[{"id":9}]`), merge.Spec{On: []string{"id"}, UpdateAll: true})
			return err
		},
		"a copy": func() error { _, err := tableIn(memstore.New(), engine.Limits{}).CreateFrom(ctx, table); return err },
	} {
		wantCode(t, what, write(), protocol.Unsupported)
	}
	spec, err := engine.Read(ctx, table, nil, func(_ context.Context, d *dataset.Dataset) (*dataapi.LSMWriteSpec, error) { return wal.Spec(d) })
	want := &dataapi.LSMWriteSpec{Sharding: dataapi.LSMSharding{Mode: "unsharded"}, WriterConfigDefaults: map[string]string{}}
	if diff := cmp.Diff(want, spec); diff != "" || err != nil {
		t.Errorf("specification: error %v (-want +got)\n%s", err, diff)
	}
}

func TestReadsThatInsistOnALogNeedOne(t *testing.T) {
	ctx, table, yes := t.Context(), created(t, numbered(0, 3, 1), false), true
	_, err := table.Query(ctx, engine.AsOf{Log: &yes}, new(query.Query))
	wantCode(t, "query", err, protocol.InvalidInput)
	wantCode(t, "write", engine.Do(ctx, table, nil, func(_ context.Context, d *dataset.Dataset) error { return wal.Check(d, &yes) }), protocol.InvalidInput)
	if spec, err := engine.Read(ctx, table, nil, func(_ context.Context, d *dataset.Dataset) (*dataapi.LSMWriteSpec, error) { return wal.Spec(d) }); spec != nil || err != nil {
		t.Errorf("got %+v and error %v, want no specification", spec, err)
	}
}
