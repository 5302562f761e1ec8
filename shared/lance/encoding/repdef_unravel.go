package encoding

import (
	"math"
	"slices"

	"tiltyard/shared/lance/pb"
)

// An unraveler puts the structure of nested arrays together again, for one leaf, from
// the levels that a shredder (repdef_shred.go) made of it. Pages are added in row order;
// each uses only those definition levels that it needs.
//
// It climbs from the leaf outward. An entry is one pair of levels; at each layer there
// is an entry for every item of that layer and for everything further out that ends
// before it gets there:
//
//	list<int>  [[1, 2], null, [], [3]]    rep 1 0 1 1 1   def 0 0 1 2 0
//
//	items      1 2 3                      entries whose def is not the list's
//	lists      [0,2) null [2,2) [2,3)     entries with rep > 0 begin one
//
// Passing a list layer drops the entries with rep 0 and takes 1 off the others.
type unraveler struct {
	path  *Path
	nodes []nodeBuilder // innermost first: the leaf, then the fields around it
}

// A nodeBuilder collects what the levels say of one field on the path.
type nodeBuilder struct {
	valid   bitmap
	offsets []int32 // of lists: where each begins and the last one ends
}

func newUnraveler(path *Path) *unraveler {
	u := &unraveler{path: path, nodes: make([]nodeBuilder, len(path.Steps)+1)}
	for i := range path.Steps {
		if u.step(i+1).Kind == ListStep {
			u.nodes[i+1].offsets = []int32{0}
		}
	}
	return u
}

// step returns the step out of layer i > 0; layer 0 is the leaf.
func (u *unraveler) step(i int) *Step { return &u.path.Steps[len(u.path.Steps)-i] }

// A layerPlan is what the layers of a page mean.
type layerPlan struct {
	layers  []pb.RepDefLayer
	visible uint16  // highest definition level of an entry that has a stored value
	depth   []uint8 // by definition level: list layers up to the one that owns it
	lists   int
}

// planLayers checks the layers of a page against the path.
func planLayers(layers []pb.RepDefLayer, path *Path) (*layerPlan, error) {
	if len(layers) != len(path.Steps)+1 {
		return nil, corruptf("page of %d layers for a field of %d", len(layers), len(path.Steps)+1)
	}
	p := &layerPlan{layers: layers, depth: []uint8{0}}
	for i, layer := range layers {
		isList := i > 0 && path.Steps[len(path.Steps)-i].Kind == ListStep
		levels := 0
		switch layer {
		case pb.AllValidItem, pb.AllValidList:
		case pb.NullableItem, pb.NullableList, pb.EmptyableList:
			levels = 1
		case pb.NullAndEmptyList:
			levels = 2
		default:
			return nil, corruptf("unknown layer %d", layer)
		}
		if isItem := layer == pb.AllValidItem || layer == pb.NullableItem; isItem == isList {
			return nil, corruptf("layer %d of a page is not what the field is", i)
		}
		if isList {
			p.lists++
		}
		for range levels {
			p.depth = append(p.depth, uint8(min(p.lists, math.MaxUint8)))
		}
		if p.lists == 0 {
			p.visible = uint16(len(p.depth) - 1)
		}
	}
	return p, nil
}

// levels are the entries of some rows. Rep is nil without lists; def is nil when
// everything is valid and there are no empty lists.
type levels struct {
	n        int
	rep, def []uint16
}

// check returns an error unless the levels can be those of whole rows of the page.
func (p *layerPlan) check(l levels) error {
	if l.rep != nil && len(l.rep) != l.n || l.def != nil && len(l.def) != l.n {
		return corruptf("%d repetition and %d definition levels for %d entries", len(l.rep), len(l.def), l.n)
	}
	if (l.rep != nil) != (p.lists > 0) && l.n > 0 {
		return corruptf("repetition levels where there are %d lists", p.lists)
	}
	for _, r := range l.rep {
		if int(r) > p.lists {
			return corruptf("repetition level %d below %d lists", r, p.lists)
		}
	}
	for _, d := range l.def {
		if int(d) >= len(p.depth) {
			return corruptf("definition level %d of at most %d", d, len(p.depth)-1)
		}
	}
	return nil
}

// visibleIn counts the entries that have a stored value.
func (p *layerPlan) visibleIn(def []uint16) int {
	n := 0
	for _, d := range def {
		if d <= p.visible {
			n++
		}
	}
	return n
}

// add takes rows of a page, whose levels have been checked. It may change them. With
// leafOnly it stops at the leaf.
func (u *unraveler) add(it *Items, leafOnly bool) error {
	p := it.plan
	c := climb{plan: p, levels: it.levels}
	for i := range u.nodes {
		if i == 0 && it.allNull {
			u.nodes[0].valid.appendZeros(it.count())
			if p.layers[0] == pb.NullableItem {
				c.base++
			}
			if leafOnly {
				break
			}
			continue
		}
		if i > 0 && u.step(i).Kind == ListStep {
			items := u.nodes[i-1].valid.n
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

// A climb is the state of add on its way out.
type climb struct {
	plan *layerPlan
	levels
	base   uint16 // definition levels of the layers that have been passed
	passed uint8  // list layers that have been passed
}

// item adds an item layer: which of its items are valid.
func (c *climb) item(layer pb.RepDefLayer, node *nodeBuilder) {
	null := uint16(math.MaxUint16)
	if layer == pb.NullableItem {
		c.base++
		null = c.base
	}
	switch {
	case c.def == nil:
		node.valid.appendOnes(c.n)
	case c.plan.lists == 0:
		node.valid.appendBelow(c.def, null)
	default:
		c.itemInLists(null, node)
	}
}

// itemInLists is item where not every entry has an item.
func (c *climb) itemInLists(null uint16, node *nodeBuilder) {
	depth := c.plan.depth
	ones := 0 // valid items that have not been added yet
	for _, d := range c.def {
		switch {
		case depth[d] > c.passed:
		case d < null:
			ones++
		default:
			node.valid.appendOnes(ones)
			node.valid.appendZeros(1)
			ones = 0
		}
	}
	node.valid.appendOnes(ones)
}

// fixedList passes a layer of fixed-size lists, of whose entries there is one per item.
func (c *climb) fixedList(size int) error {
	if c.rep != nil || size < 1 || c.n%size != 0 {
		return corruptf("%d items in fixed-size lists of %d", c.n, size)
	}
	c.n /= size
	if c.def != nil {
		def := make([]uint16, c.n)
		for i := range def {
			def[i] = c.def[i*size]
		}
		c.def = def
	}
	return nil
}

// list adds a list layer, whose lists hold all items of the layer below: items of them
// up to and with this page.
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
	if c.def == nil {
		total, err = c.fullLists(node)
	} else {
		total, err = c.anyLists(node, inner, empty)
	}
	if err != nil {
		return err
	}
	if total > math.MaxInt32 {
		return errTooLarge
	}
	if total != items {
		return corruptf("lists of %d items where there are %d", total, items)
	}
	return nil
}

// fullLists adds lists none of which is null or empty. It returns where the last one ends.
func (c *climb) fullLists(node *nodeBuilder) (total int, err error) {
	offsets := growLists(node.offsets, c.rep)
	before, kept := len(offsets), 0
	total = int(offsets[before-1])
	if len(c.rep) > 0 && c.rep[0] == 0 {
		return 0, corruptf("entry 0 continues a list that it cannot be in")
	}
	for i, r := range c.rep {
		if r != 0 {
			if i > 0 {
				offsets = append(offsets, int32(total))
			}
			c.rep[kept] = r - 1
			kept++
		}
		total++
	}
	if kept > 0 {
		offsets = append(offsets, int32(total))
	}
	node.valid.appendOnes(len(offsets) - before)
	node.offsets = offsets
	c.n, c.rep = kept, c.rep[:kept]
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

// anyLists adds lists whose entries may say that there is no item, or no list. Levels up
// to inner are those of items, empty is that of empty lists. It returns where the last
// list ends.
func (c *climb) anyLists(node *nodeBuilder, inner, empty uint16) (total int, err error) {
	offsets, depth := growLists(node.offsets, c.rep), c.plan.depth
	total = int(offsets[len(offsets)-1])
	open := false // the entry continues a list
	kept, valid := 0, 0
	for i, r := range c.rep {
		d := c.def[i]
		if r == 0 {
			if !open || d > inner {
				return 0, corruptf("entry %d continues a list that it cannot be in", i)
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
				node.valid.appendOnes(valid)
				node.valid.appendZeros(1)
				valid = 0
			}
		}
		c.rep[kept], c.def[kept] = r-1, d
		kept++
	}
	offsets[len(offsets)-1] = int32(total)
	node.valid.appendOnes(valid)
	node.offsets = offsets
	c.n, c.rep, c.def = kept, c.rep[:kept], c.def[:kept]
	return total, nil
}
