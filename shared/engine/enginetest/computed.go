package enginetest

import (
	"maps"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/storage/objectstore/memstore"
)

// IDSchema has the column id.
func IDSchema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
}

// CreateComputed makes a table in memory with the column id and the computed column double, which is id * 2 and null in
// all rows. It has three fragments with the ids 1 and 2, 3 and 4, 5 and null.
func CreateComputed(t testing.TB) (*memstore.Store, *engine.Table) {
	t.Helper()
	objects := memstore.New()
	table := Table(objects, engine.Limits{})
	if _, err := table.CreateAs(t.Context(), Rows(t, IDSchema(), `[{"id":1},{"id":2}]`), dataset.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{`[{"id":3},{"id":4}]`, `[{"id":5},{"id":null}]`} {
		if _, err := table.Insert(t.Context(), Rows(t, IDSchema(), more)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := evolution.AddComputedColumns(t.Context(), table, []engine.Assignment{{Column: "double", SQL: "id * 2"}}, computed.Schedule{}); err != nil {
		t.Fatal(err)
	}
	return objects, table
}

// VirtualColumns returns columns whose metadata carries a function of id. members maps each column to the member of the
// result that it holds, "" to the whole result. udf is the function, or the key of its file.
func VirtualColumns(udf string, members map[string]string) *arrow.Schema {
	var fields []arrow.Field
	for _, column := range slices.Sorted(maps.Keys(members)) {
		metadata := map[string]string{
			"virtual_column": "true", "virtual_column.udf": udf, "virtual_column.udf_name": "twice", "virtual_column.udf_version": "2",
			"virtual_column.udf_backend": "pickle", "virtual_column.udf_inputs": `["id"]`, "virtual_column.struct_field": members[column],
		}
		fields = append(fields, arrow.Field{Name: column, Type: arrow.PrimitiveTypes.Int64, Nullable: true, Metadata: arrow.MetadataFrom(metadata)})
	}
	return arrow.NewSchema(fields, nil)
}

// CreateVirtual is [CreateComputed] with virtual columns in place of the column double. envelopes maps keys in the folder
// of the table to the contents of function files.
func CreateVirtual(t testing.TB, columns *arrow.Schema, envelopes map[string]string) (*memstore.Store, *engine.Table) {
	t.Helper()
	objects, table := CreateComputed(t)
	if _, err := evolution.DropColumns(t.Context(), table, []string{"double"}); err != nil {
		t.Fatal(err)
	}
	if _, err := evolution.AddVirtualColumns(t.Context(), table, columns, []string{"id"}, envelopes); err != nil {
		t.Fatal(err)
	}
	return objects, table
}
