package legacyfile

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

func makeArray(data arrow.ArrayData) arrow.Array { return array.MakeFromData(data) }

// A paged is the common part of nodes of fields with pages.
type paged struct {
	file  *stored
	field *schema.Field
	picks []pick
	asked bool
}

func (p *paged) want(picks []pick) error {
	p.picks = picks
	return nil
}

// spans returns, for each pick, the bytes of the field's pages that hold its items, of the
// given number of bits each, followed by more further items. Pages do not overlap, so all
// spans together are no more than the file.
func (p *paged) spans(bits, more int64) ([]span, error) {
	spans := make([]span, len(p.picks))
	total := int64(0)
	for i, k := range p.picks {
		pg := p.file.pages.page(p.field.ID, k.batch)
		if k.to > pg.length {
			return nil, corrupt("field %d has %d items in batch %d, want %d", p.field.ID, pg.length, k.batch, k.to)
		}
		if bits > 0 && k.to+more > p.file.size*8/bits {
			return nil, corrupt("%d items of field %d in a file of %d bytes", k.to, p.field.ID, p.file.size)
		}
		from, to := k.from*bits/8, ((k.to+more)*bits+7)/8
		spans[i] = span{pg.position + from, to - from}
		if total += to - from; spans[i].from > p.file.size-spans[i].size || total > p.file.size {
			return nil, corrupt("field %d, batch %d at %d of %d bytes", p.field.ID, k.batch, pg.position, p.file.size)
		}
	}
	return spans, nil
}

func (p *paged) check(n int64) error {
	if have := count(p.picks); have != n {
		return corrupt("%d items of field %d, want %d", have, p.field.ID, n)
	}
	return nil
}

func count(picks []pick) int64 {
	n := int64(0)
	for _, k := range picks {
		n += k.to - k.from
	}
	return n
}

// An absentNode stands for a field that the file does not have.
type absentNode struct {
	field *schema.Field
}

func (*absentNode) want([]pick) error     { return nil }
func (*absentNode) need() ([]span, error) { return nil, nil }
func (*absentNode) give([][]byte) error   { return nil }
func (a *absentNode) data(n int64) (arrow.ArrayData, error) {
	return take.Nulls(a.field.Type, int(n)).Data(), nil
}

// A nullNode reads a field of nulls.
type nullNode struct {
	paged
}

func (*nullNode) need() ([]span, error) { return nil, nil }
func (*nullNode) give([][]byte) error   { return nil }
func (a *nullNode) data(n int64) (arrow.ArrayData, error) {
	return array.NewNull(int(n)).Data(), a.check(n)
}

// A fixedNode reads values of fixed width.
type fixedNode struct {
	paged
	bits  int64
	bytes []byte
}

// need requests the values of each pick once.
func (a *fixedNode) need() ([]span, error) {
	if a.asked || a.bits == 0 {
		return nil, nil
	}
	a.asked = true
	return a.spans(a.bits, 0)
}

// give keeps a single byte-aligned part as it is, and otherwise concatenates the parts.
func (a *fixedNode) give(parts [][]byte) error {
	switch {
	case len(parts) == 1 && a.picks[0].from*a.bits%8 == 0:
		a.bytes = parts[0]
	case a.bits%8 == 0:
		total := 0
		for _, p := range parts {
			total += len(p)
		}
		a.bytes = make([]byte, 0, total)
		for _, p := range parts {
			a.bytes = append(a.bytes, p...)
		}
	default:
		a.bytes = make([]byte, bitutil.BytesForBits(count(a.picks)*a.bits))
		at := int64(0)
		for i, p := range parts {
			n := (a.picks[i].to - a.picks[i].from) * a.bits
			bitutil.CopyBitmap(p, int(a.picks[i].from*a.bits%8), int(n), a.bytes, int(at))
			at += n
		}
	}
	return nil
}

func (a *fixedNode) data(n int64) (arrow.ArrayData, error) {
	return fixedData(a.field.Type, int(n), a.bytes), a.check(n)
}

// fixedData returns n fixed-width values without nulls.
func fixedData(t arrow.DataType, n int, values []byte) arrow.ArrayData {
	if list, ok := t.(*arrow.FixedSizeListType); ok {
		items := fixedData(list.Elem(), n*int(list.Len()), values)
		return array.NewData(t, n, []*memory.Buffer{nil}, []arrow.ArrayData{items}, 0, 0)
	}
	return array.NewData(t, n, []*memory.Buffer{nil, memory.NewBufferBytes(values)}, nil, 0, 0)
}

// A binaryNode reads texts or bytes: first their positions, then the bytes between these.
type binaryNode struct {
	paged
	positions [][]byte // of each pick, one more than it has items
	values    [][]byte
}

const positionBits = 64

// need first requests the positions of the values, then the bytes between them.
func (a *binaryNode) need() ([]span, error) {
	switch {
	case !a.asked:
		a.asked = true
		return a.spans(positionBits, 1)
	case a.values == nil && len(a.picks) > 0:
		return a.places()
	}
	return nil, nil
}

// places returns the spans of the values of each pick.
func (a *binaryNode) places() ([]span, error) {
	spans := make([]span, len(a.positions))
	total := int64(0)
	for i, p := range a.positions {
		last := position(p, 0)
		first := last
		for j := 1; j < len(p)/8; j++ {
			at := position(p, j)
			if at < last {
				return nil, corrupt("field %d: a value from %d to %d", a.field.ID, last, at)
			}
			last = at
		}
		if first < 0 || last > a.file.size {
			return nil, corrupt("field %d: values from %d to %d in a file of %d bytes", a.field.ID, first, last, a.file.size)
		}
		spans[i] = span{first, last - first}
		if total += last - first; total > a.file.size {
			return nil, corrupt("field %d: more values than the file has bytes", a.field.ID)
		}
	}
	return spans, nil
}

func position(b []byte, i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }

func (a *binaryNode) give(parts [][]byte) error {
	if a.positions == nil {
		a.positions = parts
	} else {
		a.values = parts
	}
	return nil
}

// data builds the array. Empty values are null if the field is nullable.
func (a *binaryNode) data(n int64) (arrow.ArrayData, error) {
	if err := a.check(n); err != nil {
		return nil, err
	}
	total := int64(0)
	for _, v := range a.values {
		total += int64(len(v))
	}
	large := a.field.Type.ID() == arrow.LARGE_STRING || a.field.Type.ID() == arrow.LARGE_BINARY
	if !large && total > math.MaxInt32 {
		return nil, fmt.Errorf("%w: %d bytes of type %s at once", lance.ErrUnsupported, total, a.field.Type)
	}
	offsets := newOffsets(int(n), large)
	values := make([]byte, 0, total)
	valid, nulls := make([]byte, bitutil.BytesForBits(n)), 0
	row := 0
	for i, p := range a.positions {
		first := position(p, 0)
		for j := 1; j < len(p)/8; j++ {
			if position(p, j) > position(p, j-1) || !a.field.Nullable {
				bitutil.SetBit(valid, row)
			} else {
				nulls++
			}
			row++
			offsets.set(row, int64(len(values))+position(p, j)-first)
		}
		values = append(values, a.values[i]...)
	}
	buffers := []*memory.Buffer{nil, offsets.buffer(), memory.NewBufferBytes(values)}
	if nulls > 0 {
		buffers[0] = memory.NewBufferBytes(valid)
	}
	return array.NewData(a.field.Type, int(n), buffers, nil, nulls, 0), nil
}

// offsets holds n+1 offsets of 32 or 64 bits, starting at 0.
type offsets struct {
	bytes []byte
	large bool
}

func newOffsets(n int, large bool) offsets {
	if large {
		return offsets{make([]byte, 8*(n+1)), true}
	}
	return offsets{make([]byte, 4*(n+1)), false}
}

func (o offsets) set(i int, v int64) {
	if o.large {
		binary.LittleEndian.PutUint64(o.bytes[8*i:], uint64(v))
	} else {
		binary.LittleEndian.PutUint32(o.bytes[4*i:], uint32(v))
	}
}

func (o offsets) at(i int) int64 {
	if o.large {
		return int64(binary.LittleEndian.Uint64(o.bytes[8*i:]))
	}
	return int64(int32(binary.LittleEndian.Uint32(o.bytes[4*i:])))
}

func (o offsets) buffer() *memory.Buffer { return memory.NewBufferBytes(o.bytes) }
