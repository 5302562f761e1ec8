package repdef

import (
	"slices"

	"tiltyard/shared/lance/pb"
)

// A Buffer collects the levels of the rows that wait for a page.
type Buffer struct {
	N   int      // entries
	Rep []uint16 // n of them below lists, otherwise none
	Def []uint16 // n of them, or none while all are 0
}

// Add appends the levels of the shredder's last rows.
func (b *Buffer) Add(s *Shredder) {
	if s.Cut && len(b.Def) == 0 {
		b.Def = zeros(b.Def, b.N)
	}
	switch {
	case s.Cut:
		b.Def = append(b.Def, s.def[:s.N]...)
	case len(b.Def) > 0:
		b.Def = append(b.Def, make([]uint16, s.N)...)
	}
	if s.Lists > 0 {
		b.Rep = append(b.Rep, s.rep[:s.N]...)
	}
	b.N += s.N
}

// Reset removes all levels and keeps the memory.
func (b *Buffer) Reset() { b.N, b.Rep, b.Def = 0, b.Rep[:0], b.Def[:0] }

// Finish renumbers the definition levels so that only levels in use remain. It returns the layers
// with these levels, innermost first, and the highest level of an entry that has a stored value.
//
// A list layer without nulls and empty lists keeps the level of an empty list if a layer further
// out has a level: the native reader (14.0) counts lists by their levels, and would otherwise take
// entries of outer layers for items of the list.
func (b *Buffer) Finish(s *Shredder) (layers []pb.RepDefLayer, visible uint16) {
	var seen, numbers [256]uint16 // two levels for each of at most 64 steps, and the leaf's
	for _, d := range b.Def {
		seen[d] = 1
	}
	next := uint16(1)
	take := func(level uint16, forced bool) bool {
		if seen[level] == 0 && !forced {
			return false
		}
		numbers[level] = next
		next++
		return true
	}
	layers = append(layers, ItemLayer(take(s.LeafNull, false)))
	visible = next - 1
	inLists := false
	steps := s.path.Steps
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Kind != ListStep {
			layers = append(layers, ItemLayer(take(s.nulls[i], false)))
		} else {
			inLists = true
			null := take(s.nulls[i], false)
			forced := !null && slices.Max(seen[s.nulls[i]+2:]) > 0
			layers = append(layers, listLayer(null, take(s.nulls[i]+1, forced)))
		}
		if !inLists {
			visible = next - 1
		}
	}
	for i, d := range b.Def {
		b.Def[i] = numbers[d]
	}
	if len(b.Def) > 0 && next == 1 {
		b.Def = b.Def[:0]
	}
	return layers, visible
}

// ItemLayer returns the layer of items that are all valid, or of which some are null.
func ItemLayer(null bool) pb.RepDefLayer {
	if null {
		return pb.NullableItem
	}
	return pb.AllValidItem
}

func listLayer(null, empty bool) pb.RepDefLayer {
	switch {
	case null && empty:
		return pb.NullAndEmptyList
	case null:
		return pb.NullableList
	case empty:
		return pb.EmptyableList
	}
	return pb.AllValidList
}
