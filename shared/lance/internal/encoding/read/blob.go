package read

import (
	"encoding/binary"
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A blob page of version 2.1 describes large values that lie elsewhere in the file. It contains a
// page of another layout with a struct of two u64 per value: its position and its size in the file.
// The inner page has no levels; a description without bytes holds them in its position instead:
//
//	position 0                size 0    an empty value
//	position def << 16 | rep  size 0    null, at the layer that owns the level
//
// Version 2.2 has descriptions of its own, which are stored like any other struct. If the native
// writer (14.0) adds a column to a table of that version, by add_columns or merge, for a field with
// the metadata of older blobs, it writes pages as above for a column of the new descriptions. It
// cannot read them back; this reader can.
type blobPage struct {
	*pageContext
	descriptions layoutReader
	old          bool // descriptions of version 2.1 in a column of version 2.2
}

// newBlobPage returns the reader of a blob page. Its inner layout describes the positions and
// sizes.
func newBlobPage(p *pageContext, layout *pb.BlobLayout) (*blobPage, error) {
	old := isDescriptionV2(p.shape)
	if !old && !isDescription(p.shape) {
		return nil, lance.Corruptf("blob page of a column of type %s", p.path.Leaf.Type)
	}
	var err error
	if p.plan, err = repdef.NewPlan(layout.Layers, p.path); err != nil {
		return nil, err
	}
	if p.plan.Lists > 0 {
		// Writers leave out which list a value belongs to.
		return nil, fmt.Errorf("%w: blobs in lists in data files of version 2.1", lance.ErrUnsupported)
	}
	inner := *p
	inner.path, inner.plan = &repdef.Path{Leaf: p.path.Leaf}, nil
	if old {
		inner.shape = &values.Shape{Kind: values.Packed, Items: 1, Children: []*values.Shape{values.FixedShape(64), values.FixedShape(64)}}
	}
	b := &blobPage{pageContext: p, old: old}
	b.descriptions, err = newLayoutReader(&inner, layout.Inner)
	return b, err
}

// isDescription reports whether s is a struct of two integers of 64 bits.
func isDescription(s *values.Shape) bool {
	if s.Kind != values.Packed || len(s.Children) != 2 {
		return false
	}
	return codec.WantFixed(s.Children[0], 64, "positions") == nil && codec.WantFixed(s.Children[1], 64, "sizes") == nil
}

// isDescriptionV2 reports whether s is the struct that describes blobs in version 2.2:
// kind, position, size, number and URI.
func isDescriptionV2(s *values.Shape) bool {
	if s.Kind != values.Packed || len(s.Children) != 5 || s.Children[4].Kind != values.Variable {
		return false
	}
	for i, bits := range []int{8, 64, 64, 32} {
		if codec.WantFixed(s.Children[i], bits, "descriptions") != nil {
			return false
		}
	}
	return true
}

// read decodes descriptions. The layers of the page come from descriptions without bytes.
func (b *blobPage) read(fetch encoding.Fetch, room values.Room, rows []encoding.RowRange) (*Items, error) {
	it, err := b.descriptions.read(fetch, room, rows)
	if it == nil || err != nil {
		return nil, err
	}
	n := it.Count()
	if it.levels.Def != nil || it.allNull || it.Values.Shape.Kind != values.Packed {
		return nil, lance.Corruptf("descriptions of blobs that are null")
	}
	it.plan = b.plan
	it.levels = repdef.Levels{N: n}
	if len(b.plan.Depth) > 1 {
		it.levels.Def = descriptionLevels(it.Values, n)
	}
	if b.old {
		it.Values = newDescriptions(it.Values, b.shape)
	}
	return it, b.plan.Check(it.levels)
}

// descriptionLevels returns the definition levels of n descriptions.
func descriptionLevels(v *values.Values, n int) []uint16 {
	def := make([]uint16, n)
	positions, sizes := v.Children[0].Fixed, v.Children[1].Fixed
	for i := range def {
		if binary.LittleEndian.Uint64(sizes[8*i:]) == 0 {
			def[i] = uint16(binary.LittleEndian.Uint64(positions[8*i:]) >> 16)
		}
	}
	return def
}

// newDescriptions converts positions and sizes in the data file to descriptions of version 2.2. All
// other members are 0, which means an inline blob.
func newDescriptions(old *values.Values, s *values.Shape) *values.Values {
	v := values.New(s)
	v.N = old.N
	v.Children[1], v.Children[2] = old.Children[0], old.Children[1]
	clear(v.Children[0].ExtendFixed(old.N))
	clear(v.Children[3].ExtendFixed(old.N))
	uris := v.Children[4]
	uris.N, uris.Offsets = old.N, make([]int32, old.N+1)
	return v
}
