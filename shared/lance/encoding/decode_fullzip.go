package encoding

import (
	"bytes"
	"encoding/binary"
	"math"

	"tiltyard/shared/lance/pb"
)

// A full-zip page holds large values row by row, so that a row can be read by itself.
// Its buffers:
//
//	0  rows: for each entry of levels a control word, then the value
//	1  where each row begins in buffer 0 and the last one ends, as integers of 1, 2, 4
//	   or 8 bytes; only with lists or values of variable width
//
// The control word has 0, 1, 2 or 4 bytes, little-endian: the definition level in the
// low bits, the repetition level above. Values of fixed width follow each control word
// unless it says that a list is null or empty; those of variable width follow, behind
// their length, where the definition level is 0.
type fullZip struct {
	*pageContext
	layout  *pb.FullZipLayout
	control int // bytes of the control word
	index   kept[[]byte]

	fixed    *fixedValue   // for values of fixed width
	variable variableValue // for values of variable width
	length   int           // bytes of their length
}

func newFullZip(p *pageContext, layout *pb.FullZipLayout) (*fullZip, error) {
	z := &fullZip{pageContext: p, layout: layout}
	var err error
	if p.plan, err = planLayers(layout.Layers, p.path); err != nil {
		return nil, err
	}
	if layout.BitsRep > 16 || layout.BitsDef > 16 {
		return nil, corruptf("levels of %d and %d bits", layout.BitsRep, layout.BitsDef)
	}
	if (layout.BitsRep > 0) != (p.plan.lists > 0) {
		return nil, corruptf("%d bits of repetition levels for %d lists", layout.BitsRep, p.plan.lists)
	}
	z.control = controlBytes(int(layout.BitsRep + layout.BitsDef))
	if err := z.newValue(); err != nil {
		return nil, err
	}
	if !z.hasIndex() {
		return z, z.wantRows()
	}
	return z, z.wantBuffers(2)
}

// newValue makes the decoder of single values.
func (z *fullZip) newValue() error {
	var err error
	if z.layout.BitsPerOffset == 0 {
		z.fixed, err = newFixedValue(z.layout.ValueCompression, z.shape)
		if err == nil && z.fixed.size()*8 != int(z.layout.BitsPerValue) {
			err = corruptf("values of %d bits in a page of %d", z.fixed.size()*8, z.layout.BitsPerValue)
		}
		return err
	}
	if z.layout.BitsPerOffset != 32 && z.layout.BitsPerOffset != 64 {
		return corruptf("value lengths of %d bits", z.layout.BitsPerOffset)
	}
	z.length = int(z.layout.BitsPerOffset / 8)
	z.variable, err = newVariableValue(z.layout.ValueCompression, z.shape)
	return err
}

// hasIndex reports whether rows differ in length.
func (z *fullZip) hasIndex() bool { return z.plan.lists > 0 || z.fixed == nil }

// stride is the size of a row when all have the same.
func (z *fullZip) stride() int { return z.control + z.fixed.size() }

// wantRows checks the size of a page without an index.
func (z *fullZip) wantRows() error {
	if len(z.sizes) < 1 {
		return z.wantBuffers(1)
	}
	if stride := z.stride(); stride > 0 && z.rows != z.sizes[0]/stride || z.sizes[0] != z.rows*stride {
		return corruptf("%d rows of %d bytes in %d bytes", z.rows, stride, z.sizes[0])
	}
	return nil
}

func (z *fullZip) read(fetch Fetch, room Room, rows []RowRange) (*Items, error) {
	if !z.hasIndex() {
		return z.readEven(fetch, room, rows)
	}
	spans, err := z.fetchSpans(fetch, rows)
	if spans == nil || err != nil {
		return nil, err
	}
	pieces := make([][]byte, len(spans))
	missing := false
	for i, span := range spans {
		pieces[i] = fetch(0, span.From, span.To)
		missing = missing || pieces[i] == nil
	}
	if missing {
		return nil, nil
	}
	out := &Items{plan: z.plan, values: room.values(z.shape)}
	out.values.reserveValues(countRows(rows), 1<<20)
	grown := growth{room: room}
	for _, piece := range pieces {
		if err := z.parse(out, piece); err != nil {
			return nil, err
		}
		if err := grown.reach(out.footprint()); err != nil {
			return nil, err
		}
	}
	if err := out.check(); err != nil {
		return nil, err
	}
	return out, out.wrapDictionary(z.pageContext)
}

// readEven reads rows that all have the same size.
func (z *fullZip) readEven(fetch Fetch, room Room, rows []RowRange) (*Items, error) {
	stride := z.stride()
	pieces := make([][]byte, len(rows))
	missing := false
	for i, r := range rows {
		pieces[i] = fetch(0, r.From*stride, r.To*stride)
		missing = missing || pieces[i] == nil
	}
	if missing {
		return nil, nil
	}
	out := &Items{plan: z.plan, values: room.values(z.shape)}
	out.levels.n = countRows(rows)
	if z.control == 0 && len(rows) == 1 && z.fixed.isRaw(z.shape) {
		// The bytes that were read are the values: nothing is copied.
		n := len(pieces[0])
		out.values.fixed, out.values.n = pieces[0][:n:n], out.levels.n
	} else {
		if err := room.takeItems(out.levels.n, z.shape.fixedBytes()); err != nil {
			return nil, err
		}
		out.values.reserveValues(out.levels.n, math.MaxInt)
		for i, r := range rows {
			if err := z.parseEven(out, pieces[i], r.To-r.From); err != nil {
				return nil, err
			}
		}
	}
	if err := out.check(); err != nil {
		return nil, err
	}
	return out, out.wrapDictionary(z.pageContext)
}

// parseEven appends n rows of equal size to dst.
func (z *fullZip) parseEven(dst *Items, rows []byte, n int) error {
	if n == 0 {
		return nil
	}
	stride := z.stride()
	for i := range n {
		if z.control == 0 {
			break
		}
		if err := z.appendControl(dst, rows[i*stride:]); err != nil {
			return err
		}
	}
	return z.fixed.decode(dst.values, rows[z.control:], n, stride)
}

// fetchSpans returns where rows lie in buffer 0, or nil when bytes are missing.
func (z *fullZip) fetchSpans(fetch Fetch, rows []RowRange) ([]RowRange, error) {
	width := z.sizes[1] / (z.rows + 1)
	if width != 1 && width != 2 && width != 4 && width != 8 || z.sizes[1] != width*(z.rows+1) {
		return nil, corruptf("repetition index of %d bytes for %d rows", z.sizes[1], z.rows)
	}
	position := z.indexReader(fetch, width)
	spans := make([]RowRange, len(rows))
	missing := false
	for i, r := range rows {
		from, to, ok, err := position(r)
		if err != nil {
			return nil, err
		}
		missing = missing || !ok
		spans[i] = RowRange{from, to}
	}
	if missing {
		if z.sizes[0] <= z.small && z.readsWhole(rows) {
			z.fetchAll(fetch, 0) // saves a round of reading
		}
		return nil, nil
	}
	return spans, nil
}

// keptIndex is the size up to which the repetition index of a page is read whole and
// kept. Of a larger one, reads take the entries they need.
const keptIndex = 256 << 10

// indexReader returns a function that looks up where rows begin and end in buffer 0; ok
// is false when bytes are missing.
func (z *fullZip) indexReader(fetch Fetch, width int) func(r RowRange) (from, to int, ok bool, err error) {
	if z.sizes[1] <= keptIndex {
		if whole := z.wholeIndex(fetch); whole != nil {
			return func(r RowRange) (int, int, bool, error) {
				from, to := readPosition(whole[r.From*width:], width), readPosition(whole[r.To*width:], width)
				return z.checkSpan(from, to)
			}
		}
		return func(RowRange) (int, int, bool, error) { return 0, 0, false, nil }
	}
	return func(r RowRange) (int, int, bool, error) {
		first := fetch(1, r.From*width, (r.From+1)*width)
		last := fetch(1, r.To*width, (r.To+1)*width)
		if first == nil || last == nil {
			return 0, 0, false, nil
		}
		return z.checkSpan(readPosition(first, width), readPosition(last, width))
	}
}

// wholeIndex returns the repetition index, or nil when its bytes are missing.
func (z *fullZip) wholeIndex(fetch Fetch) []byte {
	if index := z.index.p.Load(); index != nil {
		return *index
	}
	index := z.fetchAll(fetch, 1)
	if index != nil {
		index = bytes.Clone(index) // without what was read around it
		z.index.put(&index, len(index), z.budget)
	}
	return index
}

func (z *fullZip) checkSpan(from, to uint64) (int, int, bool, error) {
	if from > to || to > uint64(z.sizes[0]) {
		return 0, 0, false, corruptf("rows at [%d, %d) of %d bytes", from, to, z.sizes[0])
	}
	return int(from), int(to), true, nil
}

func readPosition(b []byte, width int) uint64 {
	switch width {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// parse appends rows of unequal size to dst.
func (z *fullZip) parse(dst *Items, rows []byte) error {
	for len(rows) > 0 {
		if len(rows) < z.control {
			return corruptf("row ends in a control word")
		}
		if err := z.appendControl(dst, rows); err != nil {
			return err
		}
		rows = rows[z.control:]
		dst.levels.n++
		def := uint16(0)
		if z.layout.BitsDef > 0 {
			def = dst.levels.def[len(dst.levels.def)-1]
		}
		if def > z.plan.visible {
			continue
		}
		size, err := z.parseValue(dst.values, rows, def)
		if err != nil {
			return err
		}
		if size == 0 && z.control == 0 {
			return corruptf("rows without any bytes")
		}
		rows = rows[size:]
	}
	return nil
}

// appendControl appends the levels of the control word at the start of b.
func (z *fullZip) appendControl(dst *Items, b []byte) error {
	word := uint32(0)
	switch z.control {
	case 0:
		return nil
	case 1:
		word = uint32(b[0])
	case 2:
		word = uint32(binary.LittleEndian.Uint16(b))
	case 4:
		word = binary.LittleEndian.Uint32(b)
	}
	if z.layout.BitsRep > 0 {
		dst.levels.rep = append(dst.levels.rep, uint16(word>>z.layout.BitsDef))
	}
	if z.layout.BitsDef > 0 {
		dst.levels.def = append(dst.levels.def, uint16(word&(1<<z.layout.BitsDef-1)))
	}
	return nil
}

// parseValue appends the value at the start of b and returns the bytes it takes there.
// The value of a null is empty.
func (z *fullZip) parseValue(dst *values, b []byte, def uint16) (int, error) {
	if z.fixed != nil {
		return z.fixed.size(), z.fixed.decode(dst, b, 1, z.fixed.size())
	}
	if def > 0 {
		return 0, dst.appendEmpties(1)
	}
	if len(b) < z.length {
		return 0, corruptf("row ends in the length of a value")
	}
	size := readPosition(b, z.length)
	b = b[z.length:]
	if size > uint64(len(b)) {
		return 0, corruptf("value of %d bytes in a row that has %d", size, len(b))
	}
	return z.length + int(size), z.variable.decode(dst, b[:size])
}
