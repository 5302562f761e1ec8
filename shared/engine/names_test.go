package engine_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore/memstore"
)

// Native Lance 14 cannot read a table with a column of one of these names, also where it lets a rename or
// a new column make one.
func TestColumnNamesAreThoseThatNativeLanceReads(t *testing.T) {
	number, ctx := arrow.PrimitiveTypes.Int64, t.Context()
	for _, name := range append(schema.RowColumns(), "a.b", "a`b") {
		of := func(name string) *arrow.Schema {
			return arrow.NewSchema([]arrow.Field{{Name: name, Type: number, Nullable: true}}, nil)
		}
		table := create(t, arrow.NewSchema([]arrow.Field{
			optional("id", number), optional("s", arrow.StructOf(optional("m", number))),
		}, nil), `[{"id":1,"s":{"m":2}}]`)
		rows := dataset.Rows{Schema: of(name), Batches: rowsJSON(t, of("id"), `[{"id":1}]`).Batches}
		for how, attempt := range map[string]func() error{
			"create": func() error { _, err := tableIn(memstore.New(), engine.Limits{}).Create(ctx, rows); return err },
			"create as": func() error {
				_, err := tableIn(memstore.New(), engine.Limits{}).CreateAs(ctx, rows, dataset.CreateOptions{StableRowIDs: true})
				return err
			},
			"overwrite": func() error { _, err := table.Overwrite(ctx, rows); return err },
			"a part":    func() error { _, err := table.WritePart(ctx, rows, true); return err },
			"null":      func() error { _, err := evolution.AddNullColumns(ctx, table, of(name)); return err },
			"SQL": func() error {
				_, err := evolution.AddColumns(ctx, table, []engine.Assignment{{Column: name, SQL: "id"}})
				return err
			},
			"rename": func() error {
				_, err := evolution.AlterColumns(ctx, table, []alter.Alteration{{Path: "id", Rename: name}})
				return err
			},
			"rename and cast": func() error {
				_, err := evolution.AlterColumns(ctx, table, []alter.Alteration{{Path: "id", Rename: name, Type: arrow.PrimitiveTypes.Int8}})
				return err
			},
		} {
			if err := attempt(); !protocol.HasCode(err, protocol.TableSchemaValidationError) {
				t.Errorf("%s with %q: got %v, want %v", how, name, err, protocol.TableSchemaValidationError)
			}
		}
		if newest, err := table.Newest(ctx); err != nil || newest != 1 {
			t.Errorf("%q: version %d and error %v, want 1: what is refused makes none", name, newest, err)
		}
		for _, a := range []alter.Alteration{{Path: "s.m", Rename: name}, {Path: schema.FormatPath("s", name), Type: arrow.PrimitiveTypes.Int8}} {
			if _, err := evolution.AlterColumns(ctx, table, []alter.Alteration{a}); err != nil {
				t.Errorf("a member %q: %v", name, err)
			}
		}
	}
}
