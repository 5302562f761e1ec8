package repdef

import (
	"math"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// A Plan gives the meaning of the definition and repetition levels of a page.
type Plan struct {
	layers  []pb.RepDefLayer
	Visible uint16  // highest definition level of an entry that has a stored value
	Depth   []uint8 // by definition level: number of list layers up to the one that owns it
	Lists   int
}

// NewPlan checks that the layers of a page, innermost first, fit the path, and returns their plan.
func NewPlan(layers []pb.RepDefLayer, path *Path) (*Plan, error) {
	if len(layers) != len(path.Steps)+1 {
		return nil, lance.Corruptf("page of %d layers for a field of %d", len(layers), len(path.Steps)+1)
	}
	p := &Plan{layers: layers, Depth: []uint8{0}}
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
			return nil, lance.Corruptf("unknown layer %d", layer)
		}
		// A layer must be of the kind of its field: item or list.
		if isItem := layer == pb.AllValidItem || layer == pb.NullableItem; isItem == isList {
			return nil, lance.Corruptf("layer %d of a page is not what the field is", i)
		}
		if isList {
			p.Lists++
		}
		for range levels {
			p.Depth = append(p.Depth, uint8(min(p.Lists, math.MaxUint8)))
		}
		if p.Lists == 0 {
			p.Visible = uint16(len(p.Depth) - 1)
		}
	}
	return p, nil
}

// Levels are the levels of the entries of some rows. Rep is nil without lists; Def is nil if
// nothing is null and no list is empty.
type Levels struct {
	N        int
	Rep, Def []uint16
}

// Check returns an error unless the levels can belong to whole rows of the page.
func (p *Plan) Check(l Levels) error {
	if l.Rep != nil && len(l.Rep) != l.N || l.Def != nil && len(l.Def) != l.N {
		return lance.Corruptf("%d repetition and %d definition levels for %d entries", len(l.Rep), len(l.Def), l.N)
	}
	if (l.Rep != nil) != (p.Lists > 0) && l.N > 0 {
		return lance.Corruptf("repetition levels where there are %d lists", p.Lists)
	}
	for _, r := range l.Rep {
		if int(r) > p.Lists {
			return lance.Corruptf("repetition level %d below %d lists", r, p.Lists)
		}
	}
	for _, d := range l.Def {
		if int(d) >= len(p.Depth) {
			return lance.Corruptf("definition level %d of at most %d", d, len(p.Depth)-1)
		}
	}
	return nil
}

// VisibleIn counts the entries that have a stored value.
func (p *Plan) VisibleIn(def []uint16) int {
	n := 0
	for _, d := range def {
		if d <= p.Visible {
			n++
		}
	}
	return n
}
