package encoding

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// Native Lance refuses a page without these levels if a member must not be null.
func TestConstantPagesLetAllWithinNullStructsBeNull(t *testing.T) {
	inner := arrow.StructOf(arrow.Field{Name: "a", Type: int32Type})
	outer := arrow.StructOf(arrow.Field{Name: "a", Type: inner})
	required, leaf := aStep, Leaf{Type: int32Type, Name: "leaf"}
	required.Nullable = false
	cases := []struct {
		name   string
		steps  []Step
		typ    arrow.DataType
		rows   string
		layers []pb.RepDefLayer
		def    []uint16
	}{
		{
			"nulls", []Step{aStep, required}, outer, `[null, null]`,
			[]pb.RepDefLayer{pb.NullableItem, pb.NullableItem, pb.NullableItem}, []uint16{3, 3},
		},
		{
			"a value", []Step{aStep}, inner, `[null, {"a": 7}]`,
			[]pb.RepDefLayer{pb.NullableItem, pb.NullableItem}, []uint16{2, 0},
		},
		{
			"in lists", []Step{listStep, aStep}, arrow.ListOf(inner), `[[null, {"a": 7}], null, []]`,
			[]pb.RepDefLayer{pb.NullableItem, pb.NullableItem, pb.NullAndEmptyList}, []uint16{2, 0, 3, 4},
		},
		{
			"around lists", []Step{aStep, listStep}, arrow.StructOf(arrow.Field{Name: "a", Type: listType}), `[{"a": [7, 7]}, null]`,
			[]pb.RepDefLayer{pb.AllValidItem, pb.EmptyableList, pb.NullableItem}, []uint16{0, 0, 2},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			pages := encodeRows(t, Path{Steps: c.steps, Leaf: leaf}, parse(t, c.typ, c.rows))
			layout, err := pb.UnmarshalLayout(pages[0].Encoding.Value)
			if err != nil {
				t.Fatal(err)
			}
			constant, ok := layout.(*pb.ConstantLayout)
			if !ok || len(pages) != 1 {
				t.Fatalf("got %d pages, first of %T; want 1, constant", len(pages), layout)
			}
			if diff := cmp.Diff(c.layers, constant.Layers); diff != "" {
				t.Errorf("layers (-want +got):\n%s", diff)
			}
			var def []uint16
			raw := pages[0].Buffers[len(pages[0].Buffers)-1]
			if constant.DefCompression == nil {
				def = slices.Clone(viewAs[uint16](raw))
			} else if def, err = appendLevels(nil, constant.DefCompression, raw, int(constant.NumDefValues)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.def, def); diff != "" {
				t.Errorf("definition levels (-want +got):\n%s", diff)
			}
		})
	}
}

// Native Lance refuses rows of a struct that is null by one member's page and by another's
// is not, as those of constant pages would be.
func TestValuesBelowStructsThatMustNotBeNullAreNotConstant(t *testing.T) {
	inner := arrow.StructOf(arrow.Field{Name: "a", Type: int32Type})
	outer := arrow.StructOf(arrow.Field{Name: "a", Type: inner})
	required := aStep
	required.Nullable = false
	path := Path{Steps: []Step{aStep, required}, Leaf: Leaf{Type: int32Type, Name: "leaf"}}
	pages := encodeRows(t, path, parse(t, outer, `[null, {"a": {"a": 7}}]`))
	layout, err := pb.UnmarshalLayout(pages[0].Encoding.Value)
	if err != nil {
		t.Fatal(err)
	}
	chunks, ok := layout.(*pb.MiniBlockLayout)
	if !ok {
		t.Fatalf("got a page of %T, want chunks", layout)
	}
	want := []pb.RepDefLayer{pb.AllValidItem, pb.AllValidItem, pb.NullableItem}
	if diff := cmp.Diff(want, chunks.Layers); diff != "" {
		t.Errorf("layers (-want +got):\n%s", diff)
	}
}

// encodeRows makes pages of version 2.2.
func encodeRows(t *testing.T, path Path, rows arrow.Array) (pages []Page) {
	t.Helper()
	encoder, err := NewColumnEncoder(path, lance.V2_2)
	if err != nil {
		t.Fatal(err)
	}
	emit := func(p Page) error {
		p.Buffers = slices.Clone(p.Buffers)
		pages = append(pages, p)
		return nil
	}
	if err := encoder.Append(rows, emit); err != nil {
		t.Fatal(err)
	}
	if err := encoder.Flush(emit); err != nil {
		t.Fatal(err)
	}
	return pages
}
