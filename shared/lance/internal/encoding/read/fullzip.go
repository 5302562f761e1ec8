package read

import (
	"bytes"
	"encoding/binary"
	"math"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A full-zip page holds large values row by row, so that a reader can fetch a single row. Its
// buffers:
//
//	0  rows: for each entry of levels a control word, then the value
//	1  where each row begins in buffer 0 and the last one ends, as integers of 1, 2, 4
//	   or 8 bytes; only with lists or values of variable width
//
// The control word has 0, 1, 2 or 4 bytes, little-endian: the definition level in the low bits, the
// repetition level above. A value of fixed width follows each control word, unless the levels mean
// that a list is null or empty. A value of variable width, preceded by its length, follows only if
// the definition level is 0. The nullable texts "ab" and null are
//
//	00 02 00 00 00 61 62   level 0, a length of 2, ab
//	01                     level 1: null
//	00 07 08               buffer 1: rows begin at 0 and 7, the last one ends at 8
type fullZip struct {
	*pageContext
	layout  *pb.FullZipLayout
	control int // bytes of the control word
	index   kept[[]byte]

	fixed    *codec.FixedValue   // for values of fixed width
	variable codec.VariableValue // for values of variable width
	length   int                 // bytes of their length
}

// newFullZip returns the reader of a page after checks of its level widths.
func newFullZip(p *pageContext, layout *pb.FullZipLayout) (*fullZip, error) {
	z := &fullZip{pageContext: p, layout: layout}
	var err error
	if p.plan, err = repdef.NewPlan(layout.Layers, p.path); err != nil {
		return nil, err
	}
	if layout.BitsRep > 16 || layout.BitsDef > 16 {
		return nil, lance.Corruptf("levels of %d and %d bits", layout.BitsRep, layout.BitsDef)
	}
	if (layout.BitsRep > 0) != (p.plan.Lists > 0) {
		return nil, lance.Corruptf("%d bits of repetition levels for %d lists", layout.BitsRep, p.plan.Lists)
	}
	z.control = codec.ControlBytes(int(layout.BitsRep + layout.BitsDef))
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
		z.fixed, err = codec.NewFixedValue(z.layout.ValueCompression, z.shape)
		if err == nil && z.fixed.Size()*8 != int(z.layout.BitsPerValue) {
			err = lance.Corruptf("values of %d bits in a page of %d", z.fixed.Size()*8, z.layout.BitsPerValue)
		}
		return err
	}
	if z.layout.BitsPerOffset != 32 && z.layout.BitsPerOffset != 64 {
		return lance.Corruptf("value lengths of %d bits", z.layout.BitsPerOffset)
	}
	z.length = int(z.layout.BitsPerOffset / 8)
	z.variable, err = codec.NewVariableValue(z.layout.ValueCompression, z.shape)
	return err
}

// hasIndex reports whether rows can differ in length.
func (z *fullZip) hasIndex() bool { return z.plan.Lists > 0 || z.fixed == nil }

// stride is the size of a row if all rows have the same.
func (z *fullZip) stride() int { return z.control + z.fixed.Size() }

// wantRows checks the size of a page without an index.
func (z *fullZip) wantRows() error {
	if len(z.sizes) < 1 {
		return z.wantBuffers(1)
	}
	if stride := z.stride(); stride > 0 && z.rows != z.sizes[0]/stride || z.sizes[0] != z.rows*stride {
		return lance.Corruptf("%d rows of %d bytes in %d bytes", z.rows, stride, z.sizes[0])
	}
	return nil
}

// read locates the rows by the repetition index, or by arithmetic if all values have the same
// width, and decodes them.
func (z *fullZip) read(fetch encoding.Fetch, room values.Room, rows []encoding.RowRange) (*Items, error) {
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
	// All pieces were requested, so the next round has them.
	if missing {
		return nil, nil
	}
	out := &Items{plan: z.plan, Items: values.Items{Values: room.Values(z.shape)}}
	out.Values.ReserveValues(encoding.CountRows(rows), 1<<20)
	grown := values.Growth{Room: room}
	for _, piece := range pieces {
		if err := z.parse(out, piece); err != nil {
			return nil, err
		}
		if err := grown.Reach(out.footprint()); err != nil {
			return nil, err
		}
	}
	if err := out.check(); err != nil {
		return nil, err
	}
	return out, out.wrapDictionary(z.pageContext)
}

// readEven reads rows that all have the same size.
func (z *fullZip) readEven(fetch encoding.Fetch, room values.Room, rows []encoding.RowRange) (*Items, error) {
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
	out := &Items{plan: z.plan, Items: values.Items{Values: room.Values(z.shape)}}
	out.levels.N = encoding.CountRows(rows)
	if z.control == 0 && len(rows) == 1 && z.fixed.IsRaw(z.shape) {
		// The bytes that were read are the values: nothing is copied.
		n := len(pieces[0])
		out.Values.Fixed, out.Values.N = pieces[0][:n:n], out.levels.N
	} else {
		if err := room.TakeItems(out.levels.N, z.shape.FixedBytes()); err != nil {
			return nil, err
		}
		out.Values.ReserveValues(out.levels.N, math.MaxInt)
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
	return z.fixed.Decode(dst.Values, rows[z.control:], n, stride)
}

// fetchSpans returns where rows lie in buffer 0, or nil if bytes are missing.
func (z *fullZip) fetchSpans(fetch encoding.Fetch, rows []encoding.RowRange) ([]encoding.RowRange, error) {
	width := z.sizes[1] / (z.rows + 1)
	if width != 1 && width != 2 && width != 4 && width != 8 || z.sizes[1] != width*(z.rows+1) {
		return nil, lance.Corruptf("repetition index of %d bytes for %d rows", z.sizes[1], z.rows)
	}
	position := z.indexReader(fetch, width)
	spans := make([]encoding.RowRange, len(rows))
	missing := false
	for i, r := range rows {
		from, to, ok, err := position(r)
		if err != nil {
			return nil, err
		}
		missing = missing || !ok
		spans[i] = encoding.RowRange{From: from, To: to}
	}
	if missing {
		if z.sizes[0] <= z.small && z.readsWhole(rows) {
			z.fetchAll(fetch, 0) // saves a round of reading
		}
		return nil, nil
	}
	return spans, nil
}

// keptIndex is the size up to which the repetition index of a page is read whole and kept. Of a
// larger one, a read fetches only the entries that it needs.
const keptIndex = 256 << 10

// indexReader returns a function that looks up where rows begin and end in buffer 0; its result ok
// is false if bytes are missing.
func (z *fullZip) indexReader(fetch encoding.Fetch, width int) func(r encoding.RowRange) (from, to int, ok bool, err error) {
	if z.sizes[1] <= keptIndex {
		if whole := z.wholeIndex(fetch); whole != nil {
			return func(r encoding.RowRange) (int, int, bool, error) {
				from, to := codec.Word(whole[r.From*width:], width), codec.Word(whole[r.To*width:], width)
				return z.checkSpan(from, to)
			}
		}
		return func(encoding.RowRange) (int, int, bool, error) { return 0, 0, false, nil }
	}
	return func(r encoding.RowRange) (int, int, bool, error) {
		first := fetch(1, r.From*width, (r.From+1)*width)
		last := fetch(1, r.To*width, (r.To+1)*width)
		if first == nil || last == nil {
			return 0, 0, false, nil
		}
		return z.checkSpan(codec.Word(first, width), codec.Word(last, width))
	}
}

// wholeIndex returns the repetition index, or nil if its bytes are missing.
func (z *fullZip) wholeIndex(fetch encoding.Fetch) []byte {
	if index := z.index.p.Load(); index != nil {
		return *index
	}
	index := z.fetchAll(fetch, 1)
	if index != nil {
		index = bytes.Clone(index) // so that the bytes read around it can be freed
		z.index.put(&index, len(index), z.budget)
	}
	return index
}

// checkSpan validates the positions of rows against the size of buffer 0.
func (z *fullZip) checkSpan(from, to uint64) (int, int, bool, error) {
	if from > to || to > uint64(z.sizes[0]) {
		return 0, 0, false, lance.Corruptf("rows at [%d, %d) of %d bytes", from, to, z.sizes[0])
	}
	return int(from), int(to), true, nil
}

// parse decodes rows of different sizes and appends them to dst.
func (z *fullZip) parse(dst *Items, rows []byte) error {
	for len(rows) > 0 {
		if len(rows) < z.control {
			return lance.Corruptf("row ends in a control word")
		}
		if err := z.appendControl(dst, rows); err != nil {
			return err
		}
		rows = rows[z.control:]
		dst.levels.N++
		def := uint16(0)
		if z.layout.BitsDef > 0 {
			def = dst.levels.Def[len(dst.levels.Def)-1]
		}
		if def > z.plan.Visible {
			continue
		}
		size, err := z.parseValue(dst.Values, rows, def)
		if err != nil {
			return err
		}
		if size == 0 && z.control == 0 {
			return lance.Corruptf("rows without any bytes")
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
		dst.levels.Rep = append(dst.levels.Rep, uint16(word>>z.layout.BitsDef))
	}
	if z.layout.BitsDef > 0 {
		dst.levels.Def = append(dst.levels.Def, uint16(word&(1<<z.layout.BitsDef-1)))
	}
	return nil
}

// parseValue appends the value at the start of b to dst and returns its size in b. A null is
// appended as an empty value.
func (z *fullZip) parseValue(dst *values.Values, b []byte, def uint16) (int, error) {
	if z.fixed != nil {
		return z.fixed.Size(), z.fixed.Decode(dst, b, 1, z.fixed.Size())
	}
	if def > 0 {
		return 0, dst.AppendEmpties(1)
	}
	if len(b) < z.length {
		return 0, lance.Corruptf("row ends in the length of a value")
	}
	size := codec.Word(b, z.length)
	b = b[z.length:]
	if size > uint64(len(b)) {
		return 0, lance.Corruptf("value of %d bytes in a row that has %d", size, len(b))
	}
	return z.length + int(size), z.variable.Decode(dst, b[:size])
}
