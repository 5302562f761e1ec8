package hnsw

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"tiltyard/shared/lance"
)

// line returns a graph that joins each node with the previous and the next one. Every tenth node is also on
// level 1, and joined there with the tenth node before and after it.
func line(t *testing.T, nodes int) (*Graph, *Links) {
	t.Helper()
	var ids, neighbors []uint32
	var ends []int32
	join := func(node, step int) {
		ids = append(ids, uint32(node))
		for _, n := range []int{node - step, node + step} {
			if n >= 0 && n < nodes {
				neighbors = append(neighbors, uint32(n))
			}
		}
		ends = append(ends, int32(len(neighbors)))
	}
	for i := range nodes {
		join(i, 1)
	}
	for i := 0; i < nodes; i += 10 {
		join(i, 10)
	}
	h, err := ParseHeader(fmt.Sprintf(`{"entry_point": 0, "level_offsets": [0, %d, %d, %d]}`, nodes, len(ids), len(ids)))
	if err != nil {
		t.Fatal(err)
	}
	g, links, err := parts(h, nodes, ids, ends, neighbors)
	if err != nil {
		t.Fatal(err)
	}
	return g, links
}

func TestSearchesWalkToTheNearestNodes(t *testing.T) {
	g, links := line(t, 1000)
	measured := 0
	distance := func(node uint32) float32 {
		measured++
		return float32(math.Abs(float64(node) - 742.4))
	}
	nodes := func(hits []Hit) (all []uint32) {
		for _, h := range hits {
			all = append(all, h.Node)
		}
		return all
	}
	if got, want := nodes(searched(t, g, links, 4, distance, all)), []uint32{742, 743, 741, 744}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if measured > 300 {
		t.Errorf("%d nodes are measured to find 4 of 1000", measured)
	}
	even := func(h Hit) bool { return h.Node%2 == 0 }
	if got, want := nodes(searched(t, g, links, 3, distance, even)), []uint32{742, 744, 740}; !slices.Equal(got, want) {
		t.Errorf("even ones: got %v, want %v", got, want)
	}
}

func TestSearchesEndAtTheirLimit(t *testing.T) {
	g, links := line(t, 1000)
	distance := func(node uint32) float32 { return float32(1000 - node) }
	_, measured, err := g.Search(t.Context(), space{links, distance}, 4, 50, all)
	if !errors.Is(err, ErrTooFar) || measured > 60 {
		t.Errorf("%d nodes are measured, %v; want 50 and ErrTooFar", measured, err)
	}
	failed := errors.New("a page is missing")
	if _, _, err := g.Search(t.Context(), failing{failed}, 4, 50, all); !errors.Is(err, failed) {
		t.Errorf("got %v, want the error of the space", err)
	}
}

// A failing space cannot measure.
type failing struct{ err error }

func (f failing) Distances(context.Context, []uint32, []float32) error { return f.err }
func (f failing) Neighbors(uint32) []uint32                            { return nil }

// The memory of the set grows with the visited nodes.
func TestVisitsHoldEachNodeOnce(t *testing.T) {
	var v visits
	for range 2 {
		v.clear()
		for i := range uint32(20_000) {
			if node := i * 7919; !v.add(node) || v.add(node) {
				t.Fatalf("node %d", node)
			}
		}
		if v.n != 20_000 || len(v.slots) > 8*v.n {
			t.Fatalf("%d nodes in %d slots", v.n, len(v.slots))
		}
	}
}

func TestGraphsOfNodesThatAreNotThereAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		header    string
		ids       []uint32
		ends      []int32
		neighbors []uint32
	}{
		"a neighbour past the last":  {`{"entry_point": 0, "level_offsets": [0, 2]}`, []uint32{0, 1}, []int32{1, 2}, []uint32{1, 7}},
		"an entry past the last":     {`{"entry_point": 5, "level_offsets": [0, 2]}`, []uint32{0, 1}, []int32{1, 2}, []uint32{1, 0}},
		"a node on another's row":    {`{"entry_point": 0, "level_offsets": [0, 2]}`, []uint32{1, 0}, []int32{1, 2}, []uint32{1, 0}},
		"fewer rows than are told":   {`{"entry_point": 0, "level_offsets": [0, 3]}`, []uint32{0, 1}, []int32{1, 2}, []uint32{1, 0}},
		"an entry on no level":       {`{"entry_point": 1, "level_offsets": [0, 1]}`, []uint32{0}, []int32{0}, nil},
		"a neighbour on no level":    {`{"entry_point": 0, "level_offsets": [0, 1]}`, []uint32{0}, []int32{1}, []uint32{1}},
		"lists that overlap":         {`{"entry_point": 0, "level_offsets": [0, 2]}`, []uint32{0, 1}, []int32{2, 1}, []uint32{1, 0}},
		"a list past the last":       {`{"entry_point": 0, "level_offsets": [0, 1]}`, []uint32{0}, []int32{2}, []uint32{0}},
		"levels that do not ascend":  {`{"entry_point": 0, "level_offsets": [0, 2, 1]}`, []uint32{0}, []int32{0}, nil},
		"a first level that is late": {`{"entry_point": 0, "level_offsets": [1, 2]}`, []uint32{0}, []int32{0}, nil},
	} {
		h, err := ParseHeader(c.header)
		if err == nil {
			_, _, err = parts(h, 2, c.ids, c.ends, c.neighbors)
		}
		if !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("%s: got %v, want lance.ErrCorrupt", name, err)
		}
	}
}

// words reads numbers of 32 bits.
func words(data []byte) []uint32 {
	numbers := make([]uint32, len(data)/4)
	for i := range numbers {
		numbers[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return numbers
}

// A search ends and finds only nodes that exist, each once, whatever a file contains as its graph.
func FuzzGraph(f *testing.F) {
	bytes := func(numbers ...uint32) (data []byte) {
		for _, n := range numbers {
			data = binary.LittleEndian.AppendUint32(data, n)
		}
		return data
	}
	f.Add(`{"entry_point": 1, "level_offsets": [0, 3, 4]}`, 3, bytes(0, 1, 2, 1), bytes(1, 3, 4, 4), bytes(1, 0, 2, 1))
	f.Add(`{"entry_point": 0, "level_offsets": [0, 1]}`, 1, bytes(0), bytes(0), []byte{})
	f.Fuzz(func(t *testing.T, header string, vectors int, ids, ends, neighbors []byte) {
		h, err := ParseHeader(header)
		if err != nil {
			return
		}
		bounds := make([]int32, len(ends)/4)
		for i, end := range words(ends) {
			bounds[i] = int32(end)
		}
		g, links, err := parts(h, vectors, words(ids), bounds, words(neighbors))
		if err != nil {
			return
		}
		seen := map[uint32]bool{}
		for _, hit := range searched(t, g, links, 8, func(node uint32) float32 { return float32(node % 7) }, all) {
			if int(hit.Node) >= vectors || seen[hit.Node] {
				t.Fatalf("node %d of %d is found, before too: %t", hit.Node, vectors, seen[hit.Node])
			}
			seen[hit.Node] = true
		}
	})
}
