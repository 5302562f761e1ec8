package encoding

import (
	"encoding/binary"
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// A blob page of version 2.1 holds where large values are, in a page of another layout: a
// struct of two u64, the position and the size of a value in the file. That page has no
// levels. They are in the values, of which those without bytes stand for one of
//
//	position 0                size 0    an empty value
//	position def << 16 | rep  size 0    null, at the layer that owns the level
//
// Version 2.2 has descriptions of its own, which are stored like any other struct. But
// what the native writer (14.0) adds to a table of that version, by add_columns or merge,
// for a field that is marked as a blob of older versions, are pages as above for a column
// of the new descriptions. It cannot read them itself.
type blobPage struct {
	*pageContext
	descriptions layoutReader
	old          bool // descriptions that are not those of the column
}

func newBlobPage(p *pageContext, layout *pb.BlobLayout) (*blobPage, error) {
	old := isDescriptionV2(p.shape)
	if !old && !isDescription(p.shape) {
		return nil, corruptf("blob page of a column of type %s", p.path.Leaf.Type)
	}
	var err error
	if p.plan, err = planLayers(layout.Layers, p.path); err != nil {
		return nil, err
	}
	if p.plan.lists > 0 {
		// Writers leave out which list a value belongs to.
		return nil, fmt.Errorf("%w: blobs in lists in data files of version 2.1", lance.ErrUnsupported)
	}
	inner := *p
	inner.path, inner.plan = &Path{Leaf: p.path.Leaf}, nil
	if old {
		inner.shape = &shape{kind: shapePacked, items: 1, children: []*shape{fixedShape(64), fixedShape(64)}}
	}
	b := &blobPage{pageContext: p, old: old}
	b.descriptions, err = newLayoutReader(&inner, layout.Inner)
	return b, err
}

// isDescription reports whether s is a struct of two integers of 64 bits.
func isDescription(s *shape) bool {
	if s.kind != shapePacked || len(s.children) != 2 {
		return false
	}
	return wantFixed(s.children[0], 64, "positions") == nil && wantFixed(s.children[1], 64, "sizes") == nil
}

// isDescriptionV2 reports whether s is the struct that describes blobs in version 2.2:
// kind, position, size, number and URI.
func isDescriptionV2(s *shape) bool {
	if s.kind != shapePacked || len(s.children) != 5 || s.children[4].kind != shapeVariable {
		return false
	}
	for i, bits := range []int{8, 64, 64, 32} {
		if wantFixed(s.children[i], bits, "descriptions") != nil {
			return false
		}
	}
	return true
}

func (b *blobPage) read(fetch Fetch, room Room, rows []RowRange) (*Items, error) {
	it, err := b.descriptions.read(fetch, room, rows)
	if it == nil || err != nil {
		return nil, err
	}
	n := it.count()
	if it.levels.def != nil || it.allNull || it.values.shape.kind != shapePacked {
		return nil, corruptf("descriptions of blobs that are null")
	}
	it.plan = b.plan
	it.levels = levels{n: n}
	if len(b.plan.depth) > 1 {
		it.levels.def = descriptionLevels(it.values, n)
	}
	if b.old {
		it.values = newDescriptions(it.values, b.shape)
	}
	return it, b.plan.check(it.levels)
}

// descriptionLevels returns the definition levels of n descriptions.
func descriptionLevels(v *values, n int) []uint16 {
	def := make([]uint16, n)
	positions, sizes := v.children[0].fixed, v.children[1].fixed
	for i := range def {
		if binary.LittleEndian.Uint64(sizes[8*i:]) == 0 {
			def[i] = uint16(binary.LittleEndian.Uint64(positions[8*i:]) >> 16)
		}
	}
	return def
}

// newDescriptions returns the descriptions of version 2.2 for positions and sizes in the
// data file itself, which all other members being 0 says.
func newDescriptions(old *values, s *shape) *values {
	v := newValues(s)
	v.n = old.n
	v.children[1], v.children[2] = old.children[0], old.children[1]
	clear(v.children[0].extendFixed(old.n))
	clear(v.children[3].extendFixed(old.n))
	uris := v.children[4]
	uris.n, uris.offsets = old.n, make([]int32, old.n+1)
	return v
}
