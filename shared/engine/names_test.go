package engine_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore/memstore"
)

// Native Lance 14 cannot read a table with a column of one of these names.
func TestWritesNeedColumnNamesThatNativeLanceReads(t *testing.T) {
	ctx := t.Context()
	for _, name := range append(schema.RowColumns(), "a.b", "a`b") {
		of := func(name string) *arrow.Schema {
			return arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
		}
		table := enginetest.Create(t, of("id"), `[{"id":1}]`)
		rows := dataset.Rows{Schema: of(name), Batches: enginetest.Rows(t, of("id"), `[{"id":1}]`).Batches}
		for how, attempt := range map[string]func() error{
			"create": func() error {
				_, err := enginetest.Table(memstore.New(), engine.Limits{}).Create(ctx, rows)
				return err
			},
			"create as": func() error {
				_, err := enginetest.Table(memstore.New(), engine.Limits{}).CreateAs(ctx, rows, dataset.CreateOptions{StableRowIDs: true})
				return err
			},
			"overwrite": func() error { _, err := table.Overwrite(ctx, rows); return err },
			"a part":    func() error { _, err := table.WritePart(ctx, rows, true); return err },
		} {
			if err := attempt(); !protocol.HasCode(err, protocol.TableSchemaValidationError) {
				t.Errorf("%s with %q: got %v, want %v", how, name, err, protocol.TableSchemaValidationError)
			}
		}
		if newest, err := table.Newest(ctx); err != nil || newest != 1 {
			t.Errorf("%q: version %d and error %v, want 1", name, newest, err)
		}
	}
}
