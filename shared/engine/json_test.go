package engine_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/merge"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/jsonb"
)

func TestJSONIsWrittenAndAnsweredAsText(t *testing.T) {
	documents := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "j", Type: arrow.BinaryTypes.String, Nullable: true, Metadata: arrow.MetadataFrom(map[string]string{"ARROW:extension:name": "arrow.json"})},
	}, nil)
	table := enginetest.Create(t, documents, `[{"id": 1, "j": "{\"b\": 1, \"a\": []}"}, {"id": 2}, {"id": 3, "j": "3"}]`)
	if _, err := table.Insert(t.Context(), enginetest.Rows(t, documents, `[{"id": 4, "j": "[ 4 ]"}]`)); err != nil {
		t.Fatal(err)
	}
	upsert := merge.Spec{On: []string{"id"}, UpdateAll: true, InsertAll: true}
	if _, err := table.Merge(t.Context(), enginetest.Rows(t, documents, `[{"id": 3, "j": "{\"three\": 3}"}, {"id": 5, "j": "\"five\""}]`), upsert); err != nil {
		t.Fatal(err)
	}
	for sql, id := range map[string]int{`'{"u" : true}'`: 1, `id`: 2} {
		if _, err := table.Update(t.Context(), []engine.Assignment{{"j", sql}}, fmt.Sprintf("id = %d", id)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := table.Update(t.Context(), []engine.Assignment{{"j", `'{'`}}, "id = 1"); !errors.Is(err, jsonb.ErrSyntax) {
		t.Errorf("update to what is not JSON: got error %v, want ErrSyntax", err)
	}
	got := map[string]bool{}
	for _, line := range enginetest.Show(t, table, &query.Query{Filter: "j is not null"}) {
		got[line] = true
	}
	want := map[string]bool{`id=1 j={"u":true}`: true, `id=2 j=2`: true, `id=3 j={"three":3}`: true, `id=4 j=[4]`: true, `id=5 j="five"`: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	rows, err := table.Query(t.Context(), engine.AsOf{}, &query.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if !rows.Schema.Equal(documents) {
		t.Errorf("got schema %v, want %v", rows.Schema, documents)
	}
}
