package repdef

import (
	"math"
	"slices"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// An Unraveler rebuilds the structure of nested arrays, for one leaf, from the levels that a
// shredder made of it. Pages are added in row order; each page numbers only the definition levels
// that it needs.
//
// It climbs from the leaf outward. An entry is one pair of levels; at each layer there is an entry
// for every item of that layer, and for everything null or empty further out:
//
//	list<int>  [[1, 2], null, [], [3]]    rep 1 0 1 1 1   def 0 0 1 2 0
//
//	items      1 2 3                      entries whose def is not the list's
//	lists      [0,2) null [2,2) [2,3)     entries with rep > 0 begin one
//
// Passing a list layer drops the entries with rep 0 and takes 1 off the others.
type Unraveler struct {
	path  *Path
	nodes []nodeBuilder // innermost first: the leaf, then the fields around it
}

// A nodeBuilder collects the structure of one field on the path.
type nodeBuilder struct {
	valid   values.Bitmap
	offsets []int32 // of lists: where each begins and the last one ends
}

// NewUnraveler returns an unraveler for the leaf at the end of a path.
func NewUnraveler(path *Path) *Unraveler {
	u := &Unraveler{path: path, nodes: make([]nodeBuilder, len(path.Steps)+1)}
	for i := range path.Steps {
		if u.step(i+1).Kind == ListStep {
			u.nodes[i+1].offsets = []int32{0}
		}
	}
	return u
}

// step returns the step out of layer i > 0; layer 0 is the leaf.
func (u *Unraveler) step(i int) *Step { return &u.path.Steps[len(u.path.Steps)-i] }

// Add takes the levels of rows of a page, which the caller has checked, and may change them. nulls
// is the number of items if all of them are null and none has a stored value; otherwise it is
// negative. With leafOnly it stops at the leaf.
func (u *Unraveler) Add(p *Plan, l Levels, nulls int, leafOnly bool) error {
	c := climb{plan: p, Levels: l}
	for i := range u.nodes {
		// Nulls without stored values have no levels to climb.
		if i == 0 && nulls >= 0 {
			u.nodes[0].valid.AppendZeros(nulls)
			if p.layers[0] == pb.NullableItem {
				c.base++
			}
			if leafOnly {
				break
			}
			continue
		}
		if i > 0 && u.step(i).Kind == ListStep {
			items := u.nodes[i-1].valid.N
			if err := c.list(p.layers[i], &u.nodes[i], items); err != nil {
				return err
			}
			continue
		}
		if i > 0 && u.step(i).Kind == FixedListStep {
			if err := c.fixedList(u.step(i).Size); err != nil {
				return err
			}
		}
		c.item(p.layers[i], &u.nodes[i])
		if leafOnly {
			break
		}
	}
	return nil
}

// Items counts the leaf's items.
func (u *Unraveler) Items() int { return u.nodes[0].valid.N }

// Rows counts the rows of the field where the path begins.
func (u *Unraveler) Rows() int { return u.nodes[len(u.nodes)-1].valid.N }

// LeafValid returns the validity of the leaf's items.
func (u *Unraveler) LeafValid() *values.Bitmap { return &u.nodes[0].valid }

// Nodes returns the structure of the fields around the leaf, outermost first.
func (u *Unraveler) Nodes() []Node {
	nodes := make([]Node, len(u.nodes)-1)
	for i := range nodes {
		n := &u.nodes[len(u.nodes)-1-i]
		nodes[i] = Node{Len: n.valid.N, Valid: n.valid.Bytes, Nulls: n.valid.Zeros, Offsets: n.offsets}
	}
	return nodes
}

// A climb is the state of Add on its way from the leaf outward.
type climb struct {
	plan *Plan
	Levels
	base   uint16 // definition levels of the layers that have been passed
	passed uint8  // list layers that have been passed
}

// item appends the validity of an item layer.
func (c *climb) item(layer pb.RepDefLayer, node *nodeBuilder) {
	null := uint16(math.MaxUint16)
	if layer == pb.NullableItem {
		c.base++
		null = c.base
	}
	switch {
	case c.Def == nil:
		node.valid.AppendOnes(c.N)
	case c.plan.Lists == 0:
		node.valid.AppendBelow(c.Def, null)
	default:
		c.itemInLists(null, node)
	}
}

// itemInLists handles an item layer in which some entries have no item.
func (c *climb) itemInLists(null uint16, node *nodeBuilder) {
	depth := c.plan.Depth
	ones := 0 // valid items that have not been added yet
	for _, d := range c.Def {
		switch {
		case depth[d] > c.passed:
		case d < null:
			ones++
		default:
			node.valid.AppendOnes(ones)
			node.valid.AppendZeros(1)
			ones = 0
		}
	}
	node.valid.AppendOnes(ones)
}

// fixedList passes a layer of fixed-size lists, in which each item has an entry of its own.
func (c *climb) fixedList(size int) error {
	if c.Rep != nil || size < 1 || c.N%size != 0 {
		return lance.Corruptf("%d items in fixed-size lists of %d", c.N, size)
	}
	c.N /= size
	if c.Def != nil {
		def := make([]uint16, c.N)
		for i := range def {
			def[i] = c.Def[i*size]
		}
		c.Def = def
	}
	return nil
}

// list appends the lists of a list layer. items is the number of items of the layer below, up to
// and including this page; the lists must hold exactly these.
func (c *climb) list(layer pb.RepDefLayer, node *nodeBuilder, items int) error {
	inner := c.base
	empty := uint16(math.MaxUint16)
	switch layer {
	case pb.NullableList:
		c.base++
	case pb.EmptyableList:
		c.base++
		empty = c.base
	case pb.NullAndEmptyList:
		c.base += 2
		empty = c.base
	}
	c.passed++
	var total int
	var err error
	if c.Def == nil {
		total, err = c.fullLists(node)
	} else {
		total, err = c.anyLists(node, inner, empty)
	}
	if err != nil {
		return err
	}
	if total > math.MaxInt32 {
		return values.ErrTooLarge
	}
	if total != items {
		return lance.Corruptf("lists of %d items where there are %d", total, items)
	}
	return nil
}

// fullLists appends lists that are neither null nor empty and returns the end of the last.
func (c *climb) fullLists(node *nodeBuilder) (total int, err error) {
	offsets := growLists(node.offsets, c.Rep)
	before, kept := len(offsets), 0
	total = int(offsets[before-1])
	if len(c.Rep) > 0 && c.Rep[0] == 0 {
		return 0, lance.Corruptf("entry 0 continues a list that it cannot be in")
	}
	for i, r := range c.Rep {
		if r != 0 {
			if i > 0 {
				offsets = append(offsets, int32(total))
			}
			c.Rep[kept] = r - 1
			kept++
		}
		total++
	}
	if kept > 0 {
		offsets = append(offsets, int32(total))
	}
	node.valid.AppendOnes(len(offsets) - before)
	node.offsets = offsets
	c.N, c.Rep = kept, c.Rep[:kept]
	return total, nil
}

// growLists makes room for the offsets of the lists that begin among entries.
func growLists(offsets []int32, rep []uint16) []int32 {
	begin := 0
	for _, r := range rep {
		if r != 0 {
			begin++
		}
	}
	return slices.Grow(offsets, begin)
}

// anyLists appends lists that may be empty or null. Levels up to inner belong to items; empty is
// the level of empty lists. It returns the end of the last list.
func (c *climb) anyLists(node *nodeBuilder, inner, empty uint16) (total int, err error) {
	offsets, depth := growLists(node.offsets, c.Rep), c.plan.Depth
	total = int(offsets[len(offsets)-1])
	open := false // the entry continues a list
	kept, valid := 0, 0
	for i, r := range c.Rep {
		d := c.Def[i]
		if r == 0 {
			if !open || d > inner {
				return 0, lance.Corruptf("entry %d continues a list that it cannot be in", i)
			}
			total++
			continue
		}
		if open {
			offsets[len(offsets)-1] = int32(total)
		}
		open = false
		if depth[d] <= c.passed { // otherwise cut off further out: no list here
			if open = d <= inner; open {
				total++
			}
			offsets = append(offsets, int32(total))
			if open || d == empty {
				valid++
			} else {
				node.valid.AppendOnes(valid)
				node.valid.AppendZeros(1)
				valid = 0
			}
		}
		c.Rep[kept], c.Def[kept] = r-1, d
		kept++
	}
	offsets[len(offsets)-1] = int32(total)
	node.valid.AppendOnes(valid)
	node.offsets = offsets
	c.N, c.Rep, c.Def = kept, c.Rep[:kept], c.Def[:kept]
	return total, nil
}
