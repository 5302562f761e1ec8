package read

import (
	"encoding/binary"
	"math"
	"slices"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A mini-block page holds small values in chunks of a few kilobytes; a reader decodes whole chunks.
// Its buffers:
//
//	0     chunk words, see chunkIndex
//	1     chunks
//	2     items of the dictionary, if the values are indices into one
//	last  repetition index, if there are lists, see chunkIndex
//
// A chunk:
//
//	u16         levels (modulo 65536); 0 when the page has none at all
//	u16         bytes of repetition levels, if the page has them
//	u16         bytes of definition levels, if the page has them
//	u16 or u32  bytes of each value buffer; u32 in version 2.2
//
// Then follow the repetition levels, the definition levels and the value buffers, each at a
// multiple of 8 from the start of the chunk. The u32 1, 2 and 3 without nulls, in version 2.1, are
// the chunk
//
//	00 00 0c 00 fe fe fe fe   no levels, 12 bytes of values, padding
//	01 00 00 00 02 00 00 00
//	03 00 00 00 fe fe fe fe
type miniBlock struct {
	*pageContext
	layout *pb.MiniBlockLayout
	codec  codec.ChunkDecoder
	stored *values.Shape // of the values in chunks: the leaf's, or that of indices
	items  int           // stored values of the page
	index  kept[chunkIndex]
	dict   kept[values.Values]
}

// newMiniBlock returns the reader of a page. With a dictionary, the chunks hold indices.
func newMiniBlock(p *pageContext, layout *pb.MiniBlockLayout) (*miniBlock, error) {
	m := &miniBlock{pageContext: p, layout: layout, stored: p.shape}
	var err error
	if p.plan, err = repdef.NewPlan(layout.Layers, p.path); err != nil {
		return nil, err
	}
	if m.items, err = toInt(layout.NumItems); err != nil {
		return nil, err
	}
	if err := m.checkBuffers(); err != nil {
		return nil, err
	}
	if layout.Dictionary != nil {
		bits, err := codec.IntegerBits(layout.ValueCompression)
		if err != nil {
			return nil, err
		}
		m.stored = values.FixedShape(bits)
	}
	if m.codec, err = codec.NewChunkDecoder(layout.ValueCompression, m.stored); err != nil {
		return nil, err
	}
	if uint64(m.codec.Buffers()) != layout.NumBuffers {
		return nil, lance.Corruptf("chunks of %d value buffers for an encoding of %d", layout.NumBuffers, m.codec.Buffers())
	}
	return m, nil
}

// checkBuffers checks that the buffers other than values fit the layers of the page.
func (m *miniBlock) checkBuffers() error {
	want := 2
	if m.layout.Dictionary != nil {
		want++
	}
	if m.layout.RepetitionIndexDepth > 0 {
		want++
	}
	if err := m.wantBuffers(want); err != nil {
		return err
	}
	lists := m.plan.Lists > 0
	if lists != (m.layout.RepCompression != nil) || lists != (m.layout.RepetitionIndexDepth > 0) {
		return lance.Corruptf("repetition levels or index do not fit %d lists", m.plan.Lists)
	}
	if !lists && m.items != m.rows {
		return lance.Corruptf("%d values for %d rows", m.items, m.rows)
	}
	if err := codec.CheckLevels(m.layout.RepCompression); err != nil {
		return err
	}
	return codec.CheckLevels(m.layout.DefCompression)
}

// read decodes the chunks that contain the rows. In the first round it requests index and
// dictionary, and the chunks too if the page is small, or those where the rows may be if it is not.
func (m *miniBlock) read(fetch encoding.Fetch, room values.Room, rows []encoding.RowRange) (*Items, error) {
	index, err := m.fetchIndex(fetch, room)
	if err != nil {
		return nil, err
	}
	dict, err := m.fetchDictionary(fetch, room)
	if err != nil {
		return nil, err
	}
	if index == nil {
		if m.readsWhole(rows) {
			m.fetchAll(fetch, 1)
		} else {
			m.guess(fetch, rows)
		}
		return nil, nil
	}
	runs := index.runs(rows)
	chunks := make([][]byte, len(runs))
	missing := m.layout.Dictionary != nil && dict == nil
	for i, run := range runs {
		chunks[i] = fetch(1, index.offsets[run.from], index.offsets[run.to])
		missing = missing || chunks[i] == nil
	}
	if missing {
		return nil, nil
	}
	return m.decode(room, index, runs, chunks, dict)
}

// maxChunkBytes is the size of the largest chunk whose word has 16 bits.
const maxChunkBytes = 8 << 12

// guess requests the chunks of a few rows while the index, which tells where they are, is still missing. Values of one
// type take about the same space everywhere, so the chunks of row 500,000 of 1,000,000 are near the middle. A wrong guess
// costs the bytes, and a right one saves a round. From a store that answers at once nothing is guessed.
func (m *miniBlock) guess(fetch encoding.Fetch, rows []encoding.RowRange) {
	margin := m.small / 8
	if margin < maxChunkBytes || m.plan.Lists > 0 {
		return
	}
	perRow, all := float64(m.sizes[1])/float64(m.rows), 0
	guesses := make([][2]int, 0, len(rows))
	for _, r := range rows {
		from := max(int(perRow*float64(r.From))-margin, 0)
		to := min(int(perRow*float64(r.To))+margin, m.sizes[1])
		if all += to - from; all > m.small {
			return
		}
		guesses = append(guesses, [2]int{from, to})
	}
	for _, g := range guesses {
		fetch(1, g[0], g[1])
	}
}

// fetchIndex returns the index of the page, or nil if its bytes are missing.
func (m *miniBlock) fetchIndex(fetch encoding.Fetch, room values.Room) (*chunkIndex, error) {
	if index := m.index.p.Load(); index != nil {
		return index, nil
	}
	words := m.fetchAll(fetch, 0)
	var repetition []byte
	if m.layout.RepetitionIndexDepth > 0 {
		if repetition = m.fetchAll(fetch, len(m.sizes)-1); repetition == nil {
			return nil, nil
		}
	}
	if words == nil {
		return nil, nil
	}
	if err := room.Take(indexRatio * len(words)); err != nil {
		return nil, err
	}
	index, err := parseChunkIndex(m, words, repetition)
	if err == nil {
		m.index.put(index, index.memory(), m.budget)
	}
	return index, err
}

// fetchDictionary returns the dictionary's items, or nil if the page has no dictionary or its bytes
// are missing.
func (m *miniBlock) fetchDictionary(fetch encoding.Fetch, room values.Room) (*values.Values, error) {
	if m.layout.Dictionary == nil {
		return nil, nil
	}
	if dict := m.dict.p.Load(); dict != nil {
		return dict, nil
	}
	buf := m.fetchAll(fetch, 2)
	if buf == nil {
		return nil, nil
	}
	n, err := toInt(m.layout.NumDictionaryItems)
	if err != nil {
		return nil, err
	}
	if err := room.Take(2 * len(buf)); err != nil {
		return nil, err
	}
	dict := room.Values(m.shape)
	if err := codec.DecodeBlock(dict, m.layout.Dictionary, buf, n); err != nil {
		return nil, err
	}
	// Copy, so that the kept dictionary does not retain all bytes read with it.
	own := values.New(m.shape)
	if err := room.Take(dict.Footprint()); err != nil {
		return nil, err
	}
	if err := own.AppendRange(dict, 0, dict.N); err != nil {
		return nil, err
	}
	m.dict.put(own, own.Memory(), m.budget)
	return own, nil
}

// decode decodes runs of chunks and cuts the wanted rows out of them.
func (m *miniBlock) decode(room values.Room, index *chunkIndex, runs []chunkRun, chunks [][]byte, dict *values.Values) (*Items, error) {
	out := &Items{plan: m.plan}
	// A single run is sliced in place. Rows of several runs are copied and the buffer reused.
	collect := itemCollector{items: out, copies: len(runs) > 1}
	part := &Items{plan: m.plan, Items: values.Items{Values: room.Values(m.stored)}}
	parts, whole := values.Growth{Room: room}, values.Growth{Room: room}
	for i, run := range runs {
		part.reset()
		if err := parts.Reach((index.items[run.to] - index.items[run.from]) * m.stored.FixedBytes()); err != nil {
			return nil, err
		}
		part.Values.ReserveValues(index.items[run.to]-index.items[run.from], reserveRatio*len(chunks[i]))
		if run.to-run.from == 1 { // of several runs, the first gives the better estimate
			part.Values.ReserveText(len(chunks[i]))
		}
		start := index.offsets[run.from]
		for c := run.from; c < run.to; c++ {
			if c == run.from+1 {
				part.reserveLike(index.offsets[c]-start, len(chunks[i]))
			}
			chunk := chunks[i][index.offsets[c]-start : index.offsets[c+1]-start]
			if err := m.decodeChunk(part, chunk, index.items[c+1]-index.items[c]); err != nil {
				return nil, err
			}
			if err := parts.Reach(part.footprint()); err != nil {
				return nil, err
			}
		}
		if err := part.check(); err != nil {
			return nil, err
		}
		if err := collect.add(part, index.firstRow(run.from), index.firstRow(run.to), run.rows); err != nil {
			return nil, err
		}
		if collect.copies {
			if err := whole.Reach(out.footprint()); err != nil {
				return nil, err
			}
		}
	}
	if out.Values == nil {
		out.Values = room.Values(m.stored)
	}
	return out, out.lookUp(m.pageContext, room, dict)
}

// reserveLike reserves memory for the content of size bytes of chunks, on the assumption that it is
// like the content of the first part bytes, which have been decoded.
func (it *Items) reserveLike(part, size int) {
	limit := reserveRatio * size
	share := func(n int) int {
		whole := float64(n) * float64(size) / float64(max(part, 1)) * 17 / 16
		return int(min(whole, float64(limit))) - n
	}
	if it.levels.Rep != nil {
		it.levels.Rep = slices.Grow(it.levels.Rep, max(0, share(len(it.levels.Rep))))
	}
	if it.levels.Def != nil {
		it.levels.Def = slices.Grow(it.levels.Def, max(0, share(len(it.levels.Def))))
	}
	it.Values.ReserveText(max(0, share(len(it.Values.Data))))
}

// reserveRatio bounds the memory that is reserved for the values of a chunk, as a multiple of its
// size. A packed block of equal values expands more than that; its memory grows while it is
// decoded.
const reserveRatio = 128

// indexRatio bounds the ratio of a chunk index's memory to its stored words. entryBytes is the
// memory per entry of levels, with everything derived from it.
const (
	indexRatio = 16
	entryBytes = 8
)

// decodeChunk appends the levels and the n values of a chunk to dst.
func (m *miniBlock) decodeChunk(dst *Items, chunk []byte, n int) error {
	count, bufs, err := m.splitChunk(chunk)
	if err != nil {
		return err
	}
	l := &dst.levels
	entries := n
	if m.layout.RepCompression != nil {
		if count, err = codec.CountLevels(count, m.layout.RepCompression, bufs[0]); err != nil {
			return err
		}
	}
	if m.layout.DefCompression != nil {
		if count, err = codec.CountLevels(count, m.layout.DefCompression, bufs[1]); err != nil {
			return err
		}
	}
	if count > math.MaxUint16 { // no ordinary chunk has this many
		if err := dst.Values.Room.Take(entryBytes * count); err != nil {
			return err
		}
	}
	if m.layout.RepCompression != nil {
		if l.Rep, err = codec.AppendLevels(l.Rep, m.layout.RepCompression, bufs[0], count); err != nil {
			return err
		}
		entries = count
	}
	if m.layout.DefCompression != nil {
		if l.Def, err = codec.AppendLevels(l.Def, m.layout.DefCompression, bufs[1], count); err != nil {
			return err
		}
		entries = count
	}
	l.N += entries
	return m.codec.Decode(dst.Values, bufs[2:], n)
}

// splitChunk returns the number of levels of a chunk and its buffers: repetition and definition
// levels, each nil if the page has none, then the value buffers.
func (m *miniBlock) splitChunk(chunk []byte) (count int, bufs [][]byte, err error) {
	wide := m.layout.HasLargeChunk
	header := 2 + 2*m.levelBuffers() + int(m.layout.NumBuffers)*2
	if wide {
		header += int(m.layout.NumBuffers) * 2
	}
	if len(chunk) < header {
		return 0, nil, lance.Corruptf("chunk of %d bytes with a header of %d", len(chunk), header)
	}
	// Buffers begin at multiples of 8; their sizes precede them.
	at, sizes := (header+7)&^7, chunk[2:]
	next := func(wide bool) []byte {
		size := int(binary.LittleEndian.Uint16(sizes))
		sizes = sizes[2:]
		if wide {
			size |= int(binary.LittleEndian.Uint16(sizes)) << 16
			sizes = sizes[2:]
		}
		if at > len(chunk) || size > len(chunk)-at {
			err = lance.Corruptf("chunk of %d bytes with a buffer of %d at %d", len(chunk), size, at)
			return nil
		}
		b := chunk[at : at+size]
		at = (at + size + 7) &^ 7
		return b
	}
	bufs = make([][]byte, 2, 2+m.layout.NumBuffers)
	if m.layout.RepCompression != nil {
		bufs[0] = next(false)
	}
	if m.layout.DefCompression != nil {
		bufs[1] = next(false)
	}
	for range m.layout.NumBuffers {
		bufs = append(bufs, next(wide))
	}
	return int(binary.LittleEndian.Uint16(chunk)), bufs, err
}

// levelBuffers returns the number of level buffers per chunk.
func (m *miniBlock) levelBuffers() int {
	n := 0
	if m.layout.RepCompression != nil {
		n++
	}
	if m.layout.DefCompression != nil {
		n++
	}
	return n
}
