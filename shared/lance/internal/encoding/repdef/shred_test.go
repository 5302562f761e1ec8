package repdef_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

var (
	int32Type = arrow.PrimitiveTypes.Int32
	listType  = arrow.ListOf(int32Type)
	pairType  = arrow.StructOf(arrow.Field{Name: "a", Type: int32Type, Nullable: true}, arrow.Field{Name: "l", Type: listType, Nullable: true})

	leafStep  = repdef.Leaf{Type: int32Type, Name: "leaf", Nullable: true}
	listStep  = repdef.Step{Kind: repdef.ListStep, Name: "list", Nullable: true}
	aStep     = repdef.Step{Kind: repdef.StructStep, Child: 0, Member: "a", Name: "struct", Nullable: true}
	lStep     = repdef.Step{Kind: repdef.StructStep, Child: 1, Member: "l", Name: "struct", Nullable: true}
	fixedStep = repdef.Step{Kind: repdef.FixedListStep, Size: 2, Name: "fixed", Nullable: true}
)

// parse makes an array from JSON.
func parse(t *testing.T, typ arrow.DataType, json string) arrow.Array {
	t.Helper()
	arr, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	return arr
}

func TestNestedRowsAreShreddedIntoLevels(t *testing.T) {
	cases := []struct {
		name     string
		steps    []repdef.Step
		typ      arrow.DataType
		rows     string
		rep, def []uint16
		layers   []pb.RepDefLayer
		visible  uint16
		values   []int32
	}{
		{
			name: "values without nulls have no levels", typ: int32Type, rows: `[5, 1, 3]`,
			layers: []pb.RepDefLayer{pb.AllValidItem}, values: []int32{5, 1, 3},
		},
		{
			name: "nulls", typ: int32Type, rows: `[5, null, 3]`,
			def: []uint16{0, 1, 0}, layers: []pb.RepDefLayer{pb.NullableItem}, visible: 1, values: []int32{5, 0, 3},
		},
		{
			name: "list with all kinds of nothing", steps: []repdef.Step{listStep}, typ: listType,
			rows: `[[1, 2], null, [], [null, 3]]`,
			rep:  []uint16{1, 0, 1, 1, 1, 0}, def: []uint16{0, 0, 2, 3, 1, 0},
			layers: []pb.RepDefLayer{pb.NullableItem, pb.NullAndEmptyList}, visible: 1, values: []int32{1, 2, 0, 3},
		},
		{
			name: "only the levels that occur are kept", steps: []repdef.Step{listStep}, typ: listType,
			rows: `[[1], [], [2]]`,
			rep:  []uint16{1, 1, 1}, def: []uint16{0, 1, 0},
			layers: []pb.RepDefLayer{pb.AllValidItem, pb.EmptyableList}, values: []int32{1, 2},
		},
		{
			name: "null structs cut off what is below", steps: []repdef.Step{aStep}, typ: pairType,
			rows: `[{"a": 1}, null, {"a": null}]`,
			def:  []uint16{0, 2, 1}, layers: []pb.RepDefLayer{pb.NullableItem, pb.NullableItem}, visible: 2,
			values: []int32{1, 0, 0},
		},
		{
			name: "a list below a null struct is neither null nor empty", steps: []repdef.Step{lStep, listStep}, typ: pairType,
			rows: `[{"l": [1, 2]}, null, {"l": []}]`,
			rep:  []uint16{1, 0, 1, 1}, def: []uint16{0, 0, 2, 1},
			layers: []pb.RepDefLayer{pb.AllValidItem, pb.EmptyableList, pb.NullableItem}, values: []int32{1, 2},
		},
		{
			name: "a null struct in a list keeps its place among the values", steps: []repdef.Step{listStep, aStep},
			typ:  arrow.ListOf(pairType),
			rows: `[[{"a": 1}, null], null]`,
			rep:  []uint16{1, 0, 1}, def: []uint16{0, 1, 2},
			layers: []pb.RepDefLayer{pb.AllValidItem, pb.NullableItem, pb.NullableList}, visible: 1, values: []int32{1, 0},
		},
		{
			name: "lists of lists", steps: []repdef.Step{listStep, listStep}, typ: arrow.ListOf(listType),
			rows: `[[[1, 2], [3]], [], [null, []], null, [[4]]]`,
			rep:  []uint16{2, 0, 1, 2, 2, 1, 2, 2}, def: []uint16{0, 0, 0, 4, 1, 2, 3, 0},
			layers: []pb.RepDefLayer{pb.AllValidItem, pb.NullAndEmptyList, pb.NullAndEmptyList}, values: []int32{1, 2, 3, 4},
		},
		{
			name: "an inner list is emptyable below a layer with levels", steps: []repdef.Step{listStep, listStep},
			typ: arrow.ListOf(listType), rows: `[[[1]], null]`,
			rep: []uint16{2, 2}, def: []uint16{0, 2},
			layers: []pb.RepDefLayer{pb.AllValidItem, pb.EmptyableList, pb.NullableList}, values: []int32{1},
		},
		{
			name: "fixed-size lists of structs repeat their levels", steps: []repdef.Step{fixedStep, aStep},
			typ:  arrow.FixedSizeListOf(2, pairType),
			rows: `[[{"a": 1}, {"a": 2}], null, [null, {"a": null}]]`,
			def:  []uint16{0, 0, 3, 3, 2, 1}, visible: 3,
			layers: []pb.RepDefLayer{pb.NullableItem, pb.NullableItem, pb.NullableItem},
			values: []int32{1, 2, 0, 0, 0, 0},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rows := parse(t, c.typ, c.rows)
			for cut := range rows.Len() + 1 { // in one piece or two
				checkShred(t, rows, cut, &repdef.Path{Steps: c.steps, Leaf: leafStep}, func(b *repdef.Buffer, layers []pb.RepDefLayer, visible uint16, values []int32) {
					got := []any{append([]uint16(nil), b.Rep...), append([]uint16(nil), b.Def...), layers, visible, values}
					want := []any{c.rep, c.def, c.layers, c.visible, c.values}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("cut at %d: rep, def, layers, visible, values (-want +got):\n%s", cut, diff)
					}
				})
			}
		})
	}
}

func checkShred(t *testing.T, rows arrow.Array, cut int, path *repdef.Path, check func(*repdef.Buffer, []pb.RepDefLayer, uint16, []int32)) {
	t.Helper()
	s := repdef.NewShredder(path)
	var b repdef.Buffer
	v := values.New(values.FixedShape(32))
	for _, part := range []arrow.Array{array.NewSlice(rows, 0, int64(cut)), array.NewSlice(rows, int64(cut), int64(rows.Len()))} {
		leaf, err := s.Shred(part)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.AppendArray(leaf, s.Spans, s.ItemLevels()); err != nil {
			t.Fatal(err)
		}
		b.Add(s)
	}
	layers, visible := b.Finish(s)
	check(&b, layers, visible, values.ViewAs[int32](v.Fixed))
}

// Arrow lets lists keep items that no list shows, and null parents keep content.
func TestShredHidesWhatArrowDoesNotShow(t *testing.T) {
	items := parse(t, int32Type, `[9, 1, 2, 9, 9, 3, 9]`)
	lists := array.NewData(listType, 3, []*memory.Buffer{
		memory.NewBufferBytes([]byte{0b101}), // the middle one is null
		memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{1, 3, 5, 6})),
	}, []arrow.ArrayData{items.Data()}, 1, 0)
	rows := array.NewListData(lists)
	checkShred(t, rows, 0, &repdef.Path{Steps: []repdef.Step{listStep}, Leaf: leafStep}, func(b *repdef.Buffer, _ []pb.RepDefLayer, _ uint16, values []int32) {
		if diff := cmp.Diff([]int32{1, 2, 3}, values); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]uint16{1, 0, 1, 1}, b.Rep); diff != "" {
			t.Errorf("rep (-want +got):\n%s", diff)
		}
	})
}

func TestShredRefusesNullsThatMayNotBe(t *testing.T) {
	strict := listStep
	strict.Nullable = false
	cases := []struct {
		name string
		path repdef.Path
		rows string
		want string
	}{
		{"null list", repdef.Path{Steps: []repdef.Step{strict}, Leaf: leafStep}, `[[1], null]`, `field "list"`},
		{"null item", repdef.Path{Steps: []repdef.Step{listStep}, Leaf: repdef.Leaf{Type: int32Type, Name: "items"}}, `[[1, null]]`, `field "items"`},
		{"item of a null list", repdef.Path{Steps: []repdef.Step{listStep}, Leaf: repdef.Leaf{Type: int32Type, Name: "items"}}, `[[1], null]`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := repdef.NewShredder(&c.path).Shred(parse(t, listType, c.rows))
			if c.want == "" && err != nil {
				t.Errorf("got %v, want no error", err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got error %v, want one about %s", err, c.want)
			}
		})
	}
}

func TestShredRefusesOtherTypes(t *testing.T) {
	cases := []struct {
		name  string
		steps []repdef.Step
		rows  arrow.Array
	}{
		{"list for a value", nil, parse(t, listType, `[[1]]`)},
		{"value for a list", []repdef.Step{listStep}, parse(t, int32Type, `[1]`)},
		{"value for a struct", []repdef.Step{aStep}, parse(t, int32Type, `[1]`)},
		{"list of another length", []repdef.Step{fixedStep, aStep}, parse(t, arrow.FixedSizeListOf(3, pairType), `[null]`)},
		{"another width", nil, parse(t, arrow.PrimitiveTypes.Int64, `[1]`)},
		{"struct with another member", []repdef.Step{{Kind: repdef.StructStep, Member: "z"}}, parse(t, pairType, `[null]`)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := repdef.NewShredder(&repdef.Path{Steps: c.steps, Leaf: leafStep}).Shred(c.rows); err == nil {
				t.Error("got no error")
			}
		})
	}
}
