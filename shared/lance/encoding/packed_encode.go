package encoding

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// A structPacker makes one value of each row of a packed struct: its members' bytes one
// after the other, those of variable width behind their length (see packedRow). From
// there on the rows are like any binary values, of fixed width if all members are
// numbers, except that nothing may be known about them but how their codec says that
// they were made. A null row is zeros, or empty. A member cannot be null.
//
// Rows of variable width are packed when the page is made, and not before: a member is
// compressed as a column would be, which takes all its values.
type structPacker struct {
	members []packerMember
	row     *shape // of the packed rows
}

type packerMember struct {
	name    string
	width   uint64 // bits of the length of a variable member
	storage *storageChoice
	values  *values
	codec   pb.Codec // of the values, when the page is made
}

func (m *packerMember) isVariable() bool { return m.values.shape.kind == shapeVariable }

// newStructPacker is for structs of a type. Those with texts or vectors among their
// members are for version 2.2.
func newStructPacker(t *arrow.StructType, v lance.Version) (*structPacker, error) {
	p := &structPacker{row: &shape{kind: shapeFixed, items: 1}}
	for _, f := range t.Fields() {
		mt := storageType(f.Type)
		s, err := leafShape(mt)
		if err == nil && (mt.ID() == arrow.DICTIONARY || s.kind == shapeNull || s.bits == 1) {
			err = fmt.Errorf("%w: a member of type %s in a packed struct", lance.ErrUnsupported, mt)
		}
		m := packerMember{name: f.Name, width: offsetBits(mt)}
		if err == nil {
			m.storage, err = newStorageChoice(Leaf{Type: mt}, v)
		}
		if err != nil {
			return nil, fmt.Errorf("member %q: %w", f.Name, err)
		}
		m.values = newValues(s)
		p.members = append(p.members, m)
		p.row.bits += s.valueBits()
		if s.kind == shapeVariable || s.dims != nil && v != lance.V2_0 {
			p.row.kind = shapeVariable
		}
	}
	if p.row.kind == shapeVariable && v != lance.V2_2 {
		return nil, fmt.Errorf("%w: packed structs with texts or vectors in version %s", lance.ErrUnsupported, v)
	}
	switch most := packedRowBytes(v); {
	case p.row.kind == shapeVariable:
		p.row.bits = 0
	case p.row.bits > 8*most:
		return nil, fmt.Errorf("%w: packed structs of more than %d bytes in version %s", lance.ErrUnsupported, most, v)
	}
	return p, nil
}

// packedRowBytes is the largest packed row of fixed width that fits in a chunk twice.
func packedRowBytes(v lance.Version) int {
	if v == lance.V2_1 {
		return chunkBytes / 2
	}
	return 1 << 20
}

// appendRows appends the rows in the given slots of arr, those of fixed width to v; see
// values.appendArray.
func (p *structPacker) appendRows(v *values, arr arrow.Array, spans []span, cut []uint16) error {
	rows := arr.(*array.Struct)
	for i := range p.members {
		m := &p.members[i]
		member := storage(rows.Field(i))
		if hasNull(member, spans, cut) {
			return fmt.Errorf("%w: a null in member %q of a packed struct", lance.ErrUnsupported, m.name)
		}
		if err := m.values.appendArray(member, spans, nil); err != nil {
			return err
		}
		m.values.valid = nil // what is under null rows
	}
	if p.row.kind == shapeFixed {
		p.appendFixed(v, p.members[0].values.n, cut)
		p.reset()
	}
	return nil
}

func (p *structPacker) reset() {
	for i := range p.members {
		p.members[i].values.reset()
	}
}

// memory returns how many bytes of rows wait to be packed.
func (p *structPacker) memory() int {
	size := 0
	for _, m := range p.members {
		size += m.values.memory()
	}
	return size
}

// packPage packs the rows of variable width that have come since the last page.
func (p *pageRows) packPage() error {
	for i := range p.packer.members {
		m := &p.packer.members[i]
		m.codec = m.values.flatCodec(8)
		if m.isVariable() {
			m.storage.trained = trainedSymbols{}
			column := pageRows{rules: p.rules, storageChoice: m.storage, values: m.values}
			column.offsetBits = m.width
			var err error
			if m.values, m.codec, err = column.chooseZipCodec(); err != nil {
				return err
			}
		}
	}
	row := 0
	for e := range p.n {
		def := uint16(0)
		if len(p.def) > 0 {
			def = p.def[e]
		}
		if def > p.visible {
			continue
		}
		if def == 0 {
			p.values.data = p.packer.appendRow(p.values.data, row)
		}
		if err := p.values.endValue(); err != nil {
			return err
		}
		row++
	}
	p.packer.reset()
	return nil
}

// appendFixed appends n rows of members of fixed width.
func (p *structPacker) appendFixed(v *values, n int, cut []uint16) {
	out := v.extendFixed(n)
	row := p.row.bits / 8
	at := 0
	for i := range p.members {
		m := p.members[i].values
		size := m.shape.valueBits() / 8
		for k := range n {
			copy(out[k*row+at:], m.fixed[k*size:(k+1)*size])
		}
		at += size
	}
	for k := range n {
		if cut != nil && cut[k] != 0 {
			clear(out[k*row : (k+1)*row])
		}
	}
}

func (p *structPacker) appendRow(b []byte, row int) []byte {
	for i := range p.members {
		value := p.members[i].values.bytes(row)
		if p.members[i].isVariable() {
			b = appendWord(b, uint64(len(value)), int(p.members[i].width/8))
		}
		b = append(b, value...)
	}
	return b
}

// hasNull reports whether a slot of arr is null that is not cut off, or an item of a
// vector in it.
func hasNull(arr arrow.Array, spans []span, cut []uint16) bool {
	k := 0
	for _, sp := range spans {
		for i := sp.from; i < sp.to; i, k = i+1, k+1 {
			if (cut == nil || cut[k] == 0) && isPartlyNull(arr, i) {
				return true
			}
		}
	}
	return false
}

func isPartlyNull(arr arrow.Array, i int) bool {
	if arr.IsNull(i) {
		return true
	}
	list, ok := arr.(*array.FixedSizeList)
	if !ok {
		return false
	}
	items := storage(list.ListValues())
	from, to := list.ValueOffsets(i)
	for k := from; k < to; k++ {
		if isPartlyNull(items, int(k)) {
			return true
		}
	}
	return false
}

// arrayEncoding describes packed rows of version 2.0:
//
//	packed_struct=9{inner=1 repeated, buffer=2}
//
// whose inner encodings are of the members, with the buffer that they share.
func (p *structPacker) arrayEncoding(b *arrayBuffers, rows []byte) []byte {
	b.page.Buffers = append(b.page.Buffers, rows)
	return arrayMember(9, func(e *pb.Encoder) {
		for i := range p.members {
			inner := arrayBuffers{page: &Page{}} // numbers its buffers from 0
			member := &values{shape: p.members[i].values.shape}
			e.AlwaysBytes(1, inner.nullable(&bitmap{}, func() []byte { return inner.fixed(member, 0) }))
		}
		e.Message(2, func(*pb.Encoder) {})
	})
}

// codec describes the packed rows.
func (p *structPacker) codec() pb.Codec {
	if p.row.kind == shapeFixed {
		c := &pb.PackedStruct{Values: &pb.Flat{BitsPerValue: uint64(p.row.bits)}}
		for _, m := range p.members {
			c.BitsPerValue = append(c.BitsPerValue, uint64(m.values.shape.valueBits()))
		}
		return c
	}
	c := &pb.VariablePackedStruct{}
	for _, m := range p.members {
		field := pb.PackedField{Value: m.codec}
		if m.isVariable() {
			field.BitsPerLength = m.width
		} else {
			field.BitsPerValue = uint64(m.values.shape.valueBits())
		}
		c.Fields = append(c.Fields, field)
	}
	return c
}
