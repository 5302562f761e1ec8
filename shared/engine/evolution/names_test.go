package evolution_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
)

// Native Lance 14 cannot read a table with a column of one of these names, although it allows some renames and new columns
// with them. Members of structs may have these names.
func TestNewColumnsNeedANameThatNativeLanceReads(t *testing.T) {
	ctx, number := t.Context(), arrow.PrimitiveTypes.Int64
	field := func(name string, of arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: of, Nullable: true}
	}
	for _, name := range append(schema.RowColumns(), "a.b", "a`b") {
		table := enginetest.Create(t, arrow.NewSchema([]arrow.Field{
			field("id", number), field("s", arrow.StructOf(field("m", number))),
		}, nil), `[{"id":1,"s":{"m":2}}]`)
		for how, attempt := range map[string]func() error{
			"null": func() error {
				_, err := evolution.AddNullColumns(ctx, table, arrow.NewSchema([]arrow.Field{field(name, number)}, nil))
				return err
			},
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
			t.Errorf("%q: version %d and error %v, want 1", name, newest, err)
		}
		for _, a := range []alter.Alteration{{Path: "s.m", Rename: name}, {Path: schema.FormatPath("s", name), Type: arrow.PrimitiveTypes.Int8}} {
			if _, err := evolution.AlterColumns(ctx, table, []alter.Alteration{a}); err != nil {
				t.Errorf("a member %q: %v", name, err)
			}
		}
	}
}
