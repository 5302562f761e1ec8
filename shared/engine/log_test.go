package engine

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine/merge"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/objectstore/memstore"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
)

// The table has a log that pylance 14.0.2 made. What is in it is not read, so reads need to say that they do
// without, and nothing is written, not even where no row fits a condition.
func TestReadsOfATableWithALogSayThatTheyDoWithout(t *testing.T) {
	ctx, table := t.Context(), nativeTable(t, "testdata/memwal/t.lance", Limits{})
	yes, no := true, false
	for _, c := range []struct {
		log  *bool
		want protocol.Code
	}{
		{nil, protocol.Unsupported}, {&yes, protocol.Unsupported},
	} {
		at, all := AsOf{Log: c.log}, new(query.Query)
		_, err := table.Query(ctx, at, all)
		wantCode(t, "query", err, c.want)
		_, err = table.Explain(ctx, at, all, false)
		wantCode(t, "explain", err, c.want)
		_, err = table.Analyze(ctx, at, all)
		wantCode(t, "analyze", err, c.want)
		_, err = table.Count(ctx, at, "")
		wantCode(t, "count", err, c.want)
	}
	alone := AsOf{Log: &no}
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
	if n, err := table.Count(ctx, AsOf{Version: &before}, ""); err != nil || n.Rows != 1 {
		t.Errorf("the version before the log: got %v and error %v, want 1 row", n, err)
	}
	for what, write := range map[string]func() error{
		"delete": func() error { _, err := table.Delete(ctx, "id > 5"); return err },
		"update": func() error {
			_, err := table.Update(ctx, []Assignment{{Column: "id", SQL: "7"}}, "id > 5")
			return err
		},
		"merge": func() error {
			ids := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
			_, err := table.Merge(ctx, rowsJSON(t, ids, `[{"id":9}]`), merge.Spec{On: []string{"id"}, UpdateAll: true})
			return err
		},
		"a copy": func() error { _, err := tableIn(memstore.New(), Limits{}).CreateFrom(ctx, table); return err },
	} {
		wantCode(t, what, write(), protocol.Unsupported)
	}
	spec, err := table.LogSpec(ctx)
	want := &dataapi.LSMWriteSpec{Sharding: dataapi.LSMSharding{Mode: "unsharded"}, WriterConfigDefaults: map[string]string{}}
	if diff := cmp.Diff(want, spec); diff != "" || err != nil {
		t.Errorf("specification: error %v (-want +got)\n%s", err, diff)
	}
}

func TestReadsThatInsistOnALogNeedOne(t *testing.T) {
	ctx, table, yes := t.Context(), created(t, numbered(0, 3, 1), false), true
	_, err := table.Query(ctx, AsOf{Log: &yes}, new(query.Query))
	wantCode(t, "query", err, protocol.InvalidInput)
	wantCode(t, "write", table.CheckLog(ctx, &yes), protocol.InvalidInput)
	if spec, err := table.LogSpec(ctx); spec != nil || err != nil {
		t.Errorf("got %+v and error %v, want no specification", spec, err)
	}
}
