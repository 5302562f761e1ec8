package engine_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/engine/merge"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

func TestWritesRefuseValuesOfComputedColumns(t *testing.T) {
	_, table := enginetest.CreateComputed(t)
	both := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "double", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	declared := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true, Metadata: arrow.MetadataFrom(map[string]string{"computed_column.kind": "sql"})},
	}, nil)
	rows := func(s *arrow.Schema) dataset.Rows { return enginetest.Rows(t, s, `[{"id":7}]`) } // null counts as a value
	writes := map[string]func() (engine.Written, error){
		"insert":    func() (engine.Written, error) { return table.Insert(t.Context(), rows(both)) },
		"overwrite": func() (engine.Written, error) { return table.OverwriteRows(t.Context(), rows(both)) },
		"declare":   func() (engine.Written, error) { return table.OverwriteRows(t.Context(), rows(declared)) },
		"merge": func() (engine.Written, error) {
			return table.Merge(t.Context(), rows(both), merge.Spec{On: []string{"id"}, UpdateAll: true, InsertAll: true})
		},
		"part": func() (engine.Written, error) {
			_, err := table.WritePart(t.Context(), rows(both), false)
			return engine.Written{}, err
		},
		"part of an overwrite": func() (engine.Written, error) {
			_, err := table.WritePart(t.Context(), rows(declared), true)
			return engine.Written{}, err
		},
	}
	for name, write := range writes {
		before, err := table.Newest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = write()
		if protocol.CodeOf(err) != protocol.InvalidInput {
			t.Errorf("%s: got %v, want InvalidInput", name, err)
		}
		if after, err := table.Newest(t.Context()); err != nil || after != before {
			t.Errorf("%s: made version %d of %d, %v", name, after, before, err)
		}
	}
	// The column is dropped and then exists again as a plain one.
	_, table = enginetest.CreateComputed(t)
	if _, err := evolution.DropColumns(t.Context(), table, []string{"double"}); err != nil {
		t.Fatal(err)
	}
	if _, err := evolution.AddNullColumns(t.Context(), table, arrow.NewSchema(both.Fields()[1:], nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Insert(t.Context(), rows(both)); err != nil {
		t.Errorf("a column that is not computed any more: %v", err)
	}
}
