package schema_test

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/service/schema"
	"tiltyard/shared/service/servicetest"
)

const asLines = "{\"id\":1,\"name\":\"a\"}\n{\"id\":2,\"name\":null}\n"

// open returns the service over a table t of two rows.
func open(t *testing.T) (*servicetest.House, *schema.Service) {
	house := servicetest.Open(t)
	house.Create(t, "t", `[{"id":1,"name":"a"},{"id":2,"name":null}]`)
	return house, schema.New(house.Tables, arrowipc.Limits{})
}

func TestColumnsAreAddedAlteredAndDropped(t *testing.T) {
	house, service := open(t)
	steps := []struct {
		name string
		do   func() (int64, error)
		rows string
	}{
		{"add by an expression", func() (int64, error) {
			done, err := service.Add(t.Context(), &schemaapi.AddColumnsRequest{
				Common: servicetest.Named("t"), NewColumns: []schemaapi.NewColumn{{Name: "twice", Expression: "id * 2"}},
			})
			if err != nil {
				return 0, err
			}
			return done.Version, nil
		}, "{\"id\":1,\"name\":\"a\",\"twice\":2}\n{\"id\":2,\"name\":null,\"twice\":4}\n"},
		{"rename and change the type", func() (int64, error) {
			done, err := service.Alter(t.Context(), &schemaapi.AlterColumnsRequest{
				Common: servicetest.Named("t"), Alterations: []schemaapi.Alteration{
					{Path: "twice", Rename: "double", DataType: protocol.TypeName{Type: arrow.PrimitiveTypes.Int32}},
				},
			})
			if err != nil {
				return 0, err
			}
			return done.Version, nil
		}, "{\"double\":2,\"id\":1,\"name\":\"a\"}\n{\"double\":4,\"id\":2,\"name\":null}\n"},
		{"drop", func() (int64, error) {
			done, err := service.Drop(t.Context(), &schemaapi.DropColumnsRequest{Common: servicetest.Named("t"), Columns: []string{"double", "name"}})
			if err != nil {
				return 0, err
			}
			return done.Version, nil
		}, "{\"id\":1}\n{\"id\":2}\n"},
		{"add nulls by a schema", func() (int64, error) {
			var body bytes.Buffer
			added := arrow.NewSchema([]arrow.Field{{Name: "later", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
			if err := ipc.NewWriter(&body, ipc.WithSchema(added)).Close(); err != nil {
				return 0, err
			}
			done, err := service.Add(t.Context(), &schemaapi.AddColumnsRequest{
				Common: servicetest.Named("t"), Upload: protocol.Upload{Body: &body},
			})
			if err != nil {
				return 0, err
			}
			return done.Version, nil
		}, "{\"id\":1,\"later\":null}\n{\"id\":2,\"later\":null}\n"},
	}
	for i, step := range steps {
		version, err := step.do()
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if version != int64(i)+2 {
			t.Errorf("%s: got version %d, want %d", step.name, version, i+2)
		}
		if got := house.Rows(t, "t"); got != step.rows {
			t.Errorf("%s: got rows\n%swant\n%s", step.name, got, step.rows)
		}
	}
}

func TestColumnsThatCannotBeChangedStay(t *testing.T) {
	house, service := open(t)
	no := false
	for _, c := range []struct {
		name string
		code protocol.Code
		do   func() error
	}{
		{"add one that is there", protocol.TableSchemaValidationError, func() error {
			_, err := service.Add(t.Context(), &schemaapi.AddColumnsRequest{
				Common: servicetest.Named("t"), NewColumns: []schemaapi.NewColumn{{Name: "id", Expression: "1"}},
			})
			return err
		}},
		{"add of a column that is not", protocol.TableColumnNotFound, func() error {
			_, err := service.Add(t.Context(), &schemaapi.AddColumnsRequest{
				Common: servicetest.Named("t"), NewColumns: []schemaapi.NewColumn{{Name: "x", Expression: "nope + 1"}},
			})
			return err
		}},
		{"add of a function that is not", protocol.InvalidInput, func() error {
			_, err := service.Add(t.Context(), &schemaapi.AddColumnsRequest{
				Common: servicetest.Named("t"), NewColumns: []schemaapi.NewColumn{{Name: "x", AllNull: true}},
				Function: &schemaapi.FunctionDeclaration{Application: schemaapi.FunctionApplication{Function: schemaapi.FunctionReference{Name: "nope", Version: "1"}}},
			})
			return err
		}},
		{"forbid nulls that are there", protocol.InvalidInput, func() error {
			_, err := service.Alter(t.Context(), &schemaapi.AlterColumnsRequest{
				Common: servicetest.Named("t"), Alterations: []schemaapi.Alteration{{Path: "name", Nullable: &no}},
			})
			return err
		}},
		{"drop one that is not", protocol.TableColumnNotFound, func() error {
			_, err := service.Drop(t.Context(), &schemaapi.DropColumnsRequest{Common: servicetest.Named("t"), Columns: []string{"nope"}})
			return err
		}},
		{"drop all", protocol.InvalidInput, func() error {
			_, err := service.Drop(t.Context(), &schemaapi.DropColumnsRequest{Common: servicetest.Named("t"), Columns: []string{"id", "name"}})
			return err
		}},
	} {
		servicetest.WantCode(t, c.name, c.do(), c.code)
		if got := house.Rows(t, "t"); got != asLines {
			t.Errorf("%s: got rows\n%swant\n%s", c.name, got, asLines)
		}
	}
}

func TestMetadataOfFieldsIsSetAndRemoved(t *testing.T) {
	_, service := open(t)
	text := func(s string) *string { return &s }
	for _, step := range []struct {
		set     map[string]*string
		replace bool
		want    map[string]string
	}{
		{map[string]*string{"unit": text("m"), "note": text("n")}, false, map[string]string{"unit": "m", "note": "n"}},
		{map[string]*string{"note": nil}, false, map[string]string{"unit": "m"}},
		{map[string]*string{"other": text("o")}, true, map[string]string{"other": "o"}},
	} {
		done, err := service.UpdateField(t.Context(), &schemaapi.UpdateFieldMetadataRequest{
			Common: servicetest.Named("t"), Updates: []schemaapi.FieldMetadataUpdate{{Path: "id", Metadata: step.set, Replace: step.replace}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(protocol.Properties(step.want), done.Fields["id"]); diff != "" {
			t.Errorf("metadata (-want +got):\n%s", diff)
		}
	}
}

func TestMetadataOfTheSchemaIsAnsweredWhole(t *testing.T) {
	_, service := open(t)
	for _, step := range []struct{ set, want map[string]string }{
		{map[string]string{"a": "1"}, map[string]string{"a": "1"}},
		{map[string]string{"b": "2"}, map[string]string{"a": "1", "b": "2"}},
	} {
		got, err := service.UpdateSchema(t.Context(), &schemaapi.UpdateMetadataRequest{Common: servicetest.Named("t"), Metadata: step.set})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(protocol.Properties(step.want), *got); diff != "" {
			t.Errorf("metadata (-want +got):\n%s", diff)
		}
	}
}
