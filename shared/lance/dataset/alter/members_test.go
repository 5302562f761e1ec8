package alter_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/schema"
)

func nullable(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// Members that a version lacks are added behind those of their struct, and whole columns are
// returned to the caller.
func TestMembersAreAddedToTheirStruct(t *testing.T) {
	d := newTable(t)
	number, text := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	for _, c := range []struct {
		what    string
		columns []arrow.Field
		want    []string // nil: operation.ErrInvalid
		rest    int
	}{
		{"a member", []arrow.Field{nullable("p", arrow.StructOf(nullable("z", number)))}, []string{"id", "name", "p", "x", "y", "z"}, 0},
		{"a struct as a member", []arrow.Field{nullable("p", arrow.StructOf(nullable("in", arrow.StructOf(nullable("z", number)))))}, []string{"id", "name", "p", "x", "y", "in", "z"}, 0},
		{"a member and a column", []arrow.Field{nullable("p", arrow.StructOf(nullable("z", number))), nullable("q", text)}, []string{"id", "name", "p", "x", "y", "z"}, 1},
		{"a name in another case", []arrow.Field{nullable("P", arrow.StructOf(nullable("z", number)))}, []string{"id", "name", "p", "x", "y"}, 1},
		{"a member that exists", []arrow.Field{nullable("p", arrow.StructOf(nullable("x", number), nullable("z", number)))}, nil, 0},
		{"a member of another type", []arrow.Field{nullable("p", arrow.StructOf(nullable("x", text)))}, nil, 0},
		{"a member that may not be null", []arrow.Field{nullable("p", arrow.StructOf(arrow.Field{Name: "z", Type: number}))}, nil, 0},
		{"a struct that may not be null", []arrow.Field{{Name: "p", Type: arrow.StructOf(nullable("z", number))}}, nil, 0},
		{"a list of what is no list", []arrow.Field{nullable("p", arrow.ListOf(arrow.StructOf(nullable("z", number))))}, nil, 0},
		{"a column that exists", []arrow.Field{nullable("id", number)}, nil, 0},
	} {
		fields, rest, err := alter.Adding(d.Snapshot, arrow.NewSchema(c.columns, nil), 10)
		if c.want == nil {
			if !errors.Is(err, operation.ErrInvalid) {
				t.Errorf("%s: got %v, want operation.ErrInvalid", c.what, err)
			}
			continue
		}
		if got := namesOf(fields); err != nil || !slices.Equal(got, c.want) || rest.NumFields() != c.rest {
			t.Errorf("%s: got %v and %v, %v; want %v", c.what, got, rest, err, c.want)
		}
		for _, f := range fields[5:] {
			if f.ID <= 10 {
				t.Errorf("%s: field %s has the id %d", c.what, f.Name, f.ID)
			}
		}
	}
}

func TestMembersWithinListsAreCast(t *testing.T) {
	to, err := schema.FromArrow(arrow.NewSchema([]arrow.Field{nullable("ps", arrow.ListOf(arrow.StructOf(
		nullable("x", arrow.BinaryTypes.String), nullable("y", arrow.PrimitiveTypes.Int64))))}, nil))
	if err != nil {
		t.Fatal(err)
	}
	from, _, err := array.FromJSON(memory.DefaultAllocator, arrow.ListOf(point), strings.NewReader(
		`[[{"x": 0, "y": 0}], [{"x": 1, "y": 2}, {"x": 3, "y": null}], null, [], [null]]`))
	if err != nil {
		t.Fatal(err)
	}
	cast := 0
	written := func(_ context.Context, values arrow.Array, _ arrow.DataType) (arrow.Array, error) {
		cast = values.Len()
		b := array.NewStringBuilder(memory.DefaultAllocator)
		for i := range values.Len() {
			if values.IsNull(i) {
				b.AppendNull()
			} else {
				b.Append("n" + values.ValueStr(i))
			}
		}
		return b.NewArray(), nil
	}
	got, err := alter.CastFields(t.Context(), []arrow.Array{array.NewSlice(from, 1, 5)}, to.Fields, written)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := array.FromJSON(memory.DefaultAllocator, to.Fields[0].Type, strings.NewReader(
		`[[{"x": "n1", "y": 2}, {"x": "n3", "y": null}], null, [], [null]]`))
	if err != nil {
		t.Fatal(err)
	}
	if !array.Equal(got[0], want) || cast != 3 {
		t.Errorf("got %v of %d values, want %v of 3", got[0], cast, want)
	}
}
