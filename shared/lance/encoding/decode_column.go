package encoding

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// A Column is what one leaf tells about rows of the field that its path begins at: its
// own values, and the structure of all fields around it.
type Column struct {
	Nodes []Node      // of the fields around the leaf, outermost first; may be left out
	Leaf  arrow.Array // of the leaf's items: those of the innermost field, if any
}

// A Node is the structure of a nested field.
type Node struct {
	Len     int
	Valid   []byte  // validity bitmap; nil when nothing is null
	Nulls   int     // how many are null
	Offsets []int32 // of lists and maps, Len+1, from 0; otherwise nil
}

// A ColumnBuilder puts a Column together from decoded rows of consecutive pages.
type ColumnBuilder struct {
	// LeafOnly leaves out the structure of the fields around the leaf. Where several
	// leaves tell the same, reading one of them is enough.
	LeafOnly bool
	// Room is asked for what is made of several pages, and of levels.
	Room Room

	path  *Path
	up    *unraveler
	pages []*Items
	items int // of the leaf, in all pages
}

// NewColumnBuilder returns a builder for the leaf at the end of path.
func NewColumnBuilder(path *Path) *ColumnBuilder {
	return &ColumnBuilder{path: path, up: newUnraveler(path)}
}

// Add takes decoded rows, which must not be used again.
func (b *ColumnBuilder) Add(it *Items) error {
	if len(b.path.Steps) > 0 {
		if err := b.Room.takeItems(it.levels.n, entryBytes); err != nil {
			return err
		}
	}
	if err := b.up.add(it, b.LeafOnly); err != nil {
		return err
	}
	it.levels = levels{}
	b.items += it.count()
	if got := b.up.nodes[0].valid.n; got != b.items {
		return corruptf("%d values where levels tell of %d", b.items, got)
	}
	b.pages = append(b.pages, it)
	return nil
}

// Finish returns the column, which must have the given number of rows. With LeafOnly that
// is not known: whoever has the structure must compare the number of items.
func (b *ColumnBuilder) Finish(rows int) (*Column, error) {
	nodes := b.up.nodes
	if b.LeafOnly {
		nodes = nodes[:1]
	} else if got := nodes[len(nodes)-1].valid.n; got != rows {
		return nil, corruptf("%d rows, want %d", got, rows)
	}
	all, err := joinItems(b.path.Leaf.Type, b.pages, b.items, b.Room)
	if err != nil {
		return nil, err
	}
	c := &Column{Nodes: make([]Node, len(nodes)-1)}
	for i := range c.Nodes {
		n := &nodes[len(nodes)-1-i]
		c.Nodes[i] = Node{Len: n.valid.n, Valid: n.valid.bytes, Nulls: n.valid.zeros, Offsets: n.offsets}
	}
	c.Leaf, err = buildLeaf(b.path.Leaf.Type, all, &nodes[0].valid)
	return c, err
}

// joinItems puts the n items of all pages together. Those of a single page stay as they
// are.
func joinItems(t arrow.DataType, pages []*Items, n int, room Room) (*Items, error) {
	if len(pages) == 1 {
		return pages[0], nil
	}
	for _, it := range pages {
		if err := room.Take(it.values.footprint() + 4*len(it.indices)); err != nil {
			return nil, err
		}
	}
	all := &Items{values: newValues(storedShape(t))}
	if storageType(t).ID() == arrow.DICTIONARY {
		all.indices = make([]uint32, 0, n)
		return all, joinDictionaries(all, pages)
	}
	all.values.reserveValues(n, math.MaxInt)
	text := 0
	for _, it := range pages {
		text += it.values.textBytes()
	}
	all.values.reserveText(text)
	for _, it := range pages {
		if err := all.values.appendRange(it.values, 0, it.values.n); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// joinDictionaries puts the indices of all pages together, and into one dictionary with
// every item once.
func joinDictionaries(all *Items, pages []*Items) error {
	seen := map[string]uint32{}
	for _, it := range pages {
		joined := make([]uint32, it.values.n)
		for i := range joined {
			key := string(it.values.itemBytes(i))
			at, ok := seen[key]
			if !ok {
				at = uint32(all.values.n)
				seen[key] = at
				if err := all.values.appendRange(it.values, i, i+1); err != nil {
					return err
				}
			}
			joined[i] = at
		}
		for _, index := range it.indices {
			if int(index) < len(joined) {
				index = joined[index]
			}
			all.indices = append(all.indices, index)
		}
	}
	return nil
}

// textBytes is how many bytes variable values have together.
func (v *values) textBytes() int {
	if v.shape.kind != shapeVariable {
		return 0
	}
	return int(v.offsets[v.n] - v.offsets[0])
}

// itemBytes returns the bytes of a value of a dictionary.
func (v *values) itemBytes(i int) []byte {
	switch {
	case v.shape.kind == shapeVariable:
		return v.data[v.offsets[i]:v.offsets[i+1]]
	case v.shape.bits == 1:
		return []byte{v.fixed[i>>3] >> (i & 7) & 1}
	}
	size := v.shape.valueBits() / 8
	return v.fixed[i*size : (i+1)*size]
}

// RowItems returns how many items of a page a row of the field takes: more than one
// below fixed-size lists of structs.
func (p *Path) RowItems() int {
	n := 1
	for _, step := range p.Steps {
		if step.Kind == FixedListStep {
			n *= step.Size
		}
	}
	return n
}
