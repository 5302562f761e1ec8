package write_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/internal/encoding/write"
	"tiltyard/shared/lance/pb"
)

// Native Lance rejects a page without these levels if a member is not nullable.
var (
	numberType = arrow.PrimitiveTypes.Int32
	itemStep   = repdef.Step{Kind: repdef.ListStep, Name: "list", Nullable: true}
	memberStep = repdef.Step{Kind: repdef.StructStep, Child: 0, Member: "a", Name: "struct", Nullable: true}
)

// fromJSON makes an array from JSON.
func fromJSON(t *testing.T, typ arrow.DataType, json string) arrow.Array {
	t.Helper()
	arr, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return arr
}

func TestConstantPagesLetAllWithinNullStructsBeNull(t *testing.T) {
	inner := arrow.StructOf(arrow.Field{Name: "a", Type: numberType})
	outer := arrow.StructOf(arrow.Field{Name: "a", Type: inner})
	required, leaf := memberStep, repdef.Leaf{Type: numberType, Name: "leaf"}
	required.Nullable = false
	cases := []struct {
		name   string
		steps  []repdef.Step
		typ    arrow.DataType
		rows   string
		layers []pb.RepDefLayer
		def    []uint16
	}{
		{
			"nulls", []repdef.Step{memberStep, required}, outer, `[null, null]`,
			[]pb.RepDefLayer{pb.NullableItem, pb.NullableItem, pb.NullableItem}, []uint16{3, 3},
		},
		{
			"a value", []repdef.Step{memberStep}, inner, `[null, {"a": 7}]`,
			[]pb.RepDefLayer{pb.NullableItem, pb.NullableItem}, []uint16{2, 0},
		},
		{
			"in lists", []repdef.Step{itemStep, memberStep}, arrow.ListOf(inner), `[[null, {"a": 7}], null, []]`,
			[]pb.RepDefLayer{pb.NullableItem, pb.NullableItem, pb.NullAndEmptyList}, []uint16{2, 0, 3, 4},
		},
		{
			"around lists", []repdef.Step{memberStep, itemStep}, arrow.StructOf(arrow.Field{Name: "a", Type: arrow.ListOf(numberType)}), `[{"a": [7, 7]}, null]`,
			[]pb.RepDefLayer{pb.AllValidItem, pb.EmptyableList, pb.NullableItem}, []uint16{0, 0, 2},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			pages := encodeRows(t, repdef.Path{Steps: c.steps, Leaf: leaf}, fromJSON(t, c.typ, c.rows))
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
				def = slices.Clone(values.ViewAs[uint16](raw))
			} else if def, err = codec.AppendLevels(nil, constant.DefCompression, raw, int(constant.NumDefValues)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.def, def); diff != "" {
				t.Errorf("definition levels (-want +got):\n%s", diff)
			}
		})
	}
}

// Native Lance rejects rows in which a struct is null by the page of one member but not by that of
// another, as constant pages would have it.
func TestValuesBelowStructsThatMustNotBeNullAreNotConstant(t *testing.T) {
	inner := arrow.StructOf(arrow.Field{Name: "a", Type: numberType})
	outer := arrow.StructOf(arrow.Field{Name: "a", Type: inner})
	required := memberStep
	required.Nullable = false
	path := repdef.Path{Steps: []repdef.Step{memberStep, required}, Leaf: repdef.Leaf{Type: numberType, Name: "leaf"}}
	pages := encodeRows(t, path, fromJSON(t, outer, `[null, {"a": {"a": 7}}]`))
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
func encodeRows(t *testing.T, path repdef.Path, rows arrow.Array) (pages []encoding.Page) {
	t.Helper()
	encoder, err := write.NewColumnEncoder(path, lance.V2_2)
	if err != nil {
		t.Fatal(err)
	}
	emit := func(p encoding.Page) error {
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
