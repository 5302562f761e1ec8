package alter_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

var (
	point = arrow.StructOf(
		arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	)
	columns = arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "p", Type: point, Nullable: true},
	}, nil)
)

func newTable(t *testing.T) *dataset.Dataset {
	t.Helper()
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, columns, strings.NewReader(
		`[{"id": 1, "name": "a", "p": {"x": 1, "y": 2}}, {"id": 2, "name": null, "p": null}]`))
	if err != nil {
		t.Fatal(err)
	}
	rows := dataset.Rows{Schema: columns, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
	at := objectstore.Location{URI: "memory://test/t.lance", Store: memstore.New(), Prefix: "t.lance"}
	made, err := dataset.NewSession(1<<20, time.Now).Table(at, 0).Create(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	return made.Dataset
}

func namesOf(fields []*pb.Field) (names []string) {
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}

func TestFieldsThatAreLeft(t *testing.T) {
	d := newTable(t)
	for _, c := range []struct{ paths, want []string }{
		{[]string{"name"}, []string{"id", "p", "x", "y"}},
		{[]string{"p.x"}, []string{"id", "name", "p", "y"}},
		{[]string{"p.x", "p.y"}, []string{"id", "name"}},
		{[]string{"p"}, []string{"id", "name"}},
	} {
		fields, err := alter.Without(d.Snapshot, c.paths)
		if got := namesOf(fields); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("without %v: got %v, %v; want %v", c.paths, got, err, c.want)
		}
	}
	var unknown *snapshot.ErrNoColumn
	if _, err := alter.Without(d.Snapshot, []string{"p.z"}); !errors.As(err, &unknown) {
		t.Errorf("got %v, want that there is no such column", err)
	}
}

func TestAlterationsMakeOneSchema(t *testing.T) {
	d := newTable(t)
	yes, no := true, false
	for _, c := range []struct {
		what             string
		alterations      []alter.Alteration
		want             []string // nil: operation.ErrInvalid
		casts, tightened bool
	}{
		{"a name for another", []alter.Alteration{{Path: "id", Rename: "name"}, {Path: "name", Rename: "id"}}, []string{"name", "id", "p", "x", "y"}, false, false},
		{"nulls are allowed", []alter.Alteration{{Path: "id", Nullable: &yes}}, []string{"id", "name", "p", "x", "y"}, false, false},
		{"nulls are forbidden", []alter.Alteration{{Path: "id", Nullable: &no}}, []string{"id", "name", "p", "x", "y"}, false, true},
		{"another type", []alter.Alteration{{Path: "p.x", Type: arrow.BinaryTypes.String}}, []string{"id", "name", "p", "x", "y"}, true, false},
		{"nulls that are there", []alter.Alteration{{Path: "name", Nullable: &no}}, nil, false, false},
		{"the name of another", []alter.Alteration{{Path: "id", Rename: "name"}}, nil, false, false},
		{"two types", []alter.Alteration{{Path: "id", Type: arrow.BinaryTypes.String}, {Path: "id", Type: arrow.PrimitiveTypes.Int32}}, nil, false, false},
	} {
		p, err := alter.New(t.Context(), d.Snapshot, c.alterations)
		if err == nil {
			_, err = p.Schema()
		}
		switch {
		case c.want == nil && !errors.Is(err, operation.ErrInvalid):
			t.Errorf("%s: got %v, want operation.ErrInvalid", c.what, err)
		case c.want != nil && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.want != nil && (!slices.Equal(namesOf(p.Fields), c.want) || p.Casts() != c.casts || p.Tightened != c.tightened):
			t.Errorf("%s: got %v, casts %t, tightened %t", c.what, namesOf(p.Fields), p.Casts(), p.Tightened)
		}
	}
	if d.Schema().Fields[0].Name != "id" {
		t.Error("a plan has changed the schema of the version")
	}
}

func TestMembersOfStructsAreCast(t *testing.T) {
	to, err := schema.FromArrow(arrow.NewSchema([]arrow.Field{{Name: "p", Type: arrow.StructOf(
		arrow.Field{Name: "x", Type: arrow.BinaryTypes.String, Nullable: true},
		arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	), Nullable: true}}, nil))
	if err != nil {
		t.Fatal(err)
	}
	from, _, err := array.FromJSON(memory.DefaultAllocator, point, strings.NewReader(`[{"x": 1, "y": 2}, null, {"x": 3, "y": null}]`))
	if err != nil {
		t.Fatal(err)
	}
	written := func(_ context.Context, values arrow.Array, _ arrow.DataType) (arrow.Array, error) {
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
	got, err := alter.CastFields(t.Context(), []arrow.Array{from}, to.Fields, written)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := array.FromJSON(memory.DefaultAllocator, to.Fields[0].Type, strings.NewReader(`[{"x": "n1", "y": 2}, null, {"x": "n3", "y": null}]`))
	if err != nil {
		t.Fatal(err)
	}
	if !array.Equal(got[0], want) {
		t.Errorf("got %v, want %v", got[0], want)
	}
}
