package repdef

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// unravel returns the nodes of rows with these levels, as strings of 1 and 0 for
// validity, and their offsets.
func unravel(steps []StepKind, layers []pb.RepDefLayer, l Levels) (valid []string, offsets [][]int32, err error) {
	path := &Path{Leaf: Leaf{Type: arrow.PrimitiveTypes.Int32}}
	for _, kind := range steps {
		path.Steps = append(path.Steps, Step{Kind: kind, Size: 2})
	}
	plan, err := NewPlan(layers, path)
	if err != nil {
		return nil, nil, err
	}
	if err := plan.Check(l); err != nil {
		return nil, nil, err
	}
	u := NewUnraveler(path)
	if err := u.Add(plan, l, -1, false); err != nil {
		return nil, nil, err
	}
	for _, node := range u.nodes {
		bits := make([]byte, node.valid.N)
		for i := range bits {
			bits[i] = '1'
			if node.valid.Bytes != nil && node.valid.Bytes[i>>3]>>(i&7)&1 == 0 {
				bits[i] = '0'
			}
		}
		valid = append(valid, string(bits))
		offsets = append(offsets, node.offsets)
	}
	return valid, offsets, nil
}

func TestLevelsAreUnraveledIntoOffsetsAndNulls(t *testing.T) {
	cases := []struct {
		name    string
		steps   []StepKind // outermost first
		layers  []pb.RepDefLayer
		levels  Levels
		valid   []string // innermost first
		offsets [][]int32
	}{
		{
			name:    "no levels",
			layers:  []pb.RepDefLayer{pb.AllValidItem},
			levels:  Levels{N: 3},
			valid:   []string{"111"},
			offsets: [][]int32{nil},
		},
		{
			name:    "null structs around null items",
			steps:   []StepKind{StructStep},
			layers:  []pb.RepDefLayer{pb.NullableItem, pb.NullableItem},
			levels:  Levels{N: 3, Def: []uint16{0, 1, 2}},
			valid:   []string{"100", "110"},
			offsets: [][]int32{nil, nil},
		},
		{
			// [[1, 2], null, [], [null, 3]], the worked example of the format's guide
			name:    "list",
			steps:   []StepKind{ListStep},
			layers:  []pb.RepDefLayer{pb.NullableItem, pb.NullAndEmptyList},
			levels:  Levels{N: 6, Rep: []uint16{1, 0, 1, 1, 1, 0}, Def: []uint16{0, 0, 2, 3, 1, 0}},
			valid:   []string{"1101", "1011"},
			offsets: [][]int32{nil, {0, 2, 2, 2, 4}},
		},
		{
			// [[[1], []], [], null, [null, [2, 3]]]
			name:   "list of lists",
			steps:  []StepKind{ListStep, ListStep},
			layers: []pb.RepDefLayer{pb.AllValidItem, pb.NullAndEmptyList, pb.NullAndEmptyList},
			levels: Levels{
				N:   7,
				Rep: []uint16{2, 1, 2, 2, 2, 1, 0},
				Def: []uint16{0, 2, 4, 3, 1, 0, 0},
			},
			valid:   []string{"111", "1101", "1101"},
			offsets: [][]int32{nil, {0, 1, 1, 1, 3}, {0, 2, 2, 2, 4}},
		},
		{
			// struct<list>: a null struct has a null list
			name:    "list in struct",
			steps:   []StepKind{StructStep, ListStep},
			layers:  []pb.RepDefLayer{pb.AllValidItem, pb.EmptyableList, pb.NullableItem},
			levels:  Levels{N: 3, Rep: []uint16{1, 1, 1}, Def: []uint16{0, 1, 2}},
			valid:   []string{"1", "110", "110"},
			offsets: [][]int32{nil, {0, 1, 1, 1}, nil},
		},
		{
			// fixed_size_list<struct<int>, 2>: its level is repeated for each item
			name:    "fixed-size list of structs",
			steps:   []StepKind{FixedListStep, StructStep},
			layers:  []pb.RepDefLayer{pb.NullableItem, pb.AllValidItem, pb.NullableItem},
			levels:  Levels{N: 4, Def: []uint16{0, 1, 2, 2}},
			valid:   []string{"1000", "1111", "10"},
			offsets: [][]int32{nil, nil, nil},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			valid, offsets, err := unravel(c.steps, c.layers, c.levels)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.valid, valid); diff != "" {
				t.Errorf("validity (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.offsets, offsets); diff != "" {
				t.Errorf("offsets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnravelRefusesLevelsThatCannotBe(t *testing.T) {
	list := []StepKind{ListStep}
	layers := []pb.RepDefLayer{pb.NullableItem, pb.NullAndEmptyList}
	cases := []struct {
		name   string
		steps  []StepKind
		layers []pb.RepDefLayer
		levels Levels
	}{
		{"too few layers", list, layers[:1], Levels{N: 1}},
		{"list layer for a struct", []StepKind{StructStep}, layers, Levels{N: 1}},
		{"unknown layer", nil, []pb.RepDefLayer{9}, Levels{N: 1}},
		{"definition level too high", nil, layers[:1], Levels{N: 1, Def: []uint16{2}}},
		{"repetition level too high", list, layers, Levels{N: 1, Rep: []uint16{2}}},
		{"repetition without lists", nil, layers[:1], Levels{N: 1, Rep: []uint16{0}}},
		{"lists without repetition", list, layers, Levels{N: 1}},
		{"as many repetition as definition levels", list, layers, Levels{N: 1, Rep: []uint16{1}, Def: []uint16{0, 0}}},
		{"begins inside of a list", list, layers, Levels{N: 1, Rep: []uint16{0}}},
		{"goes on after a null list", list, layers, Levels{N: 2, Rep: []uint16{1, 0}, Def: []uint16{2, 0}}},
		{"null list inside of a list", list, layers, Levels{N: 2, Rep: []uint16{1, 0}, Def: []uint16{0, 2}}},
		{"half a fixed-size list", []StepKind{FixedListStep}, []pb.RepDefLayer{pb.AllValidItem, pb.AllValidItem}, Levels{N: 3}},
	}
	for _, c := range cases {
		if _, _, err := unravel(c.steps, c.layers, c.levels); !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("%s: got error %v, want ErrCorrupt", c.name, err)
		}
	}
}
