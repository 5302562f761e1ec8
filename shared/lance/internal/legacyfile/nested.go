package legacyfile

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

// A structNode reads the members of structs; the file stores nothing else of a struct.
type structNode struct {
	group
	field *schema.Field
}

func (f *File) structNode(field *schema.Field) (node, error) {
	s := &structNode{field: field}
	for _, child := range field.Children {
		member, err := f.node(child)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", child.Name, err)
		}
		s.nodes = append(s.nodes, member)
	}
	return s, nil
}

// data assembles structs without nulls, because the format stores none.
func (s *structNode) data(n int64) (arrow.ArrayData, error) {
	children := make([]arrow.ArrayData, len(s.nodes))
	for i, member := range s.nodes {
		var err error
		if children[i], err = member.data(n); err != nil {
			return nil, fmt.Errorf("%q: %w", s.field.Children[i].Name, err)
		}
	}
	return array.NewData(s.field.Type, int(n), []*memory.Buffer{nil}, children, 0, 0), nil
}

// A listNode reads lists: first their offsets, then the items between these.
type listNode struct {
	paged
	large   bool
	offsets offsets // of all lists
	items   node
	read    bool // the offsets
}

// need first requests the offsets of the lists, n+1 per pick, and then the ranges of the items.
func (l *listNode) need() ([]span, error) {
	if !l.asked {
		l.asked = true
		if len(l.picks) == 0 {
			return nil, l.askItems(nil)
		}
		for _, k := range l.picks {
			if pg := l.file.pages.page(l.field.ID, k.batch); k.to+1 > pg.length {
				return nil, corrupt("field %d has %d offsets of lists in batch %d, want %d", l.field.ID, pg.length, k.batch, k.to+1)
			}
		}
		return l.spans(l.width()*8, 1)
	}
	return l.items.need()
}

func (l *listNode) width() int64 {
	if l.large {
		return 8
	}
	return 4
}

// give first receives the offsets of the lists, then bytes for the items.
func (l *listNode) give(parts [][]byte) error {
	if l.read {
		return l.items.give(parts)
	}
	return l.askItems(parts)
}

// askItems parses the offsets of each pick and passes the resulting item ranges to the item node.
func (l *listNode) askItems(parts [][]byte) error {
	l.read = true
	l.offsets = newOffsets(int(count(l.picks)), l.large)
	var picks []pick
	row, total := 0, int64(0)
	for i, part := range parts {
		stored := offsets{part, l.large}
		first := stored.at(0)
		last := first
		for j := int64(1); j < int64(len(part))/l.width(); j++ {
			at := stored.at(int(j))
			if at < last {
				return corrupt("field %d: a list from %d to %d", l.field.ID, last, at)
			}
			last = at
			row++
			l.offsets.set(row, total+last-first)
		}
		if first < 0 {
			return corrupt("field %d: a list from %d", l.field.ID, first)
		}
		if n := len(picks); n > 0 && picks[n-1].batch == l.picks[i].batch && first < picks[n-1].to {
			return corrupt("field %d: lists that overlap", l.field.ID)
		}
		if total += last - first; !l.large && total > math.MaxInt32 {
			return fmt.Errorf("%w: %d items of lists at once", lance.ErrUnsupported, total)
		}
		if last > first {
			picks = append(picks, pick{l.picks[i].batch, first, last})
		}
	}
	return l.items.want(picks)
}

func (l *listNode) data(n int64) (arrow.ArrayData, error) {
	if err := l.check(n); err != nil {
		return nil, err
	}
	items, err := l.items.data(l.offsets.at(int(n)))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", l.field.Children[0].Name, err)
	}
	buffers := []*memory.Buffer{nil, l.offsets.buffer()}
	return array.NewData(l.field.Type, int(n), buffers, []arrow.ArrayData{items}, 0, 0), nil
}

// A dictionaryNode reads indices into a dictionary, and the dictionary unless the file has
// kept it from an earlier read.
type dictionaryNode struct {
	group   // the indices, and the values or nothing
	stored  *storedField
	kind    *arrow.DictionaryType
	indices *fixedNode
	values  node
}

// dictionaryNode reads indices and, unless they are cached, the dictionary's values as a page of
// their own.
func (f *File) dictionaryNode(own *storedField, base paged, t *arrow.DictionaryType) (node, error) {
	bits, ok := fixedBits(t.IndexType)
	if !ok {
		return nil, fmt.Errorf("%w: dictionary indices of type %s", lance.ErrUnsupported, t.IndexType)
	}
	d := &dictionaryNode{stored: own, kind: t, indices: &fixedNode{paged: base, bits: bits}}
	d.nodes = []node{d.indices}
	if own.values.Load() != nil {
		return d, nil
	}
	// The values are one page of a field of their own, which may be null.
	one := &stored{key: f.key, size: f.size}
	one.pages = pageTable{batches: 1, cells: []page{{own.dictionary.Offset, own.dictionary.Length}}}
	values := paged{file: one, field: &schema.Field{Type: t.ValueType, Nullable: true}}
	if own.dictionary.Offset > f.size {
		return nil, corrupt("a dictionary at %d of %d bytes", own.dictionary.Offset, f.size)
	}
	width, fixed := fixedBits(t.ValueType)
	switch {
	case isBinary(t.ValueType):
		d.values = &binaryNode{paged: values}
	case fixed && arrow.IsInteger(t.ValueType.ID()):
		d.values = &fixedNode{paged: values, bits: width}
	default:
		return nil, fmt.Errorf("%w: dictionaries of type %s in legacy data files", lance.ErrUnsupported, t.ValueType)
	}
	d.nodes = append(d.nodes, d.values)
	return d, nil
}

func (d *dictionaryNode) want(picks []pick) error {
	if err := d.indices.want(picks); err != nil || d.values == nil {
		return err
	}
	return d.values.want([]pick{{0, 0, d.stored.dictionary.Length}})
}

// data builds the array. A null value in the dictionary makes its rows null.
func (d *dictionaryNode) data(n int64) (arrow.ArrayData, error) {
	if err := d.indices.check(n); err != nil {
		return nil, err
	}
	values, err := d.dictionary()
	if err != nil {
		return nil, err
	}
	valid, nulls := make([]byte, bitutil.BytesForBits(n)), 0
	for i := range int(n) {
		at := d.index(i)
		if at < 0 || at >= int64(values.Len()) {
			return nil, corrupt("index %d into a dictionary of %d values", at, values.Len())
		}
		if values.IsValid(int(at)) {
			bitutil.SetBit(valid, i)
		} else {
			nulls++
		}
	}
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(d.indices.bytes)}
	if nulls > 0 {
		buffers[0] = memory.NewBufferBytes(valid)
	}
	return array.NewDataWithDictionary(d.kind, int(n), buffers, nulls, 0, values.Data().(*array.Data)), nil
}

// dictionary returns the values, and keeps them with the file.
func (d *dictionaryNode) dictionary() (arrow.Array, error) {
	if d.values == nil {
		return *d.stored.values.Load(), nil
	}
	data, err := d.values.data(d.stored.dictionary.Length)
	if err != nil {
		return nil, fmt.Errorf("dictionary: %w", err)
	}
	values := makeArray(data)
	d.stored.values.CompareAndSwap(nil, &values)
	return values, nil
}

// index returns a stored index.
func (d *dictionaryNode) index(i int) int64 {
	b := d.indices.bytes
	switch d.kind.IndexType.ID() {
	case arrow.INT8:
		return int64(int8(b[i]))
	case arrow.UINT8:
		return int64(b[i])
	case arrow.INT16:
		return int64(int16(binary.LittleEndian.Uint16(b[2*i:])))
	case arrow.UINT16:
		return int64(binary.LittleEndian.Uint16(b[2*i:]))
	case arrow.INT32:
		return int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
	case arrow.UINT32:
		return int64(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return int64(binary.LittleEndian.Uint64(b[8*i:])) // past all dictionaries is negative
}
