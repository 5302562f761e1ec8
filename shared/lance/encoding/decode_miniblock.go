package encoding

import (
	"encoding/binary"
	"math"
	"slices"

	"tiltyard/shared/lance/pb"
)

// A mini-block page holds small values in chunks of a few kilobytes, each of which is
// decoded as a whole. Its buffers:
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
//	then the repetition levels, the definition levels and the value buffers, each at a
//	multiple of 8 from the start of the chunk
type miniBlock struct {
	*pageContext
	layout *pb.MiniBlockLayout
	codec  chunkCodec
	stored *shape // of the values in chunks: the leaf's, or that of indices
	items  int    // stored values of the page
	index  kept[chunkIndex]
	dict   kept[values]
}

func newMiniBlock(p *pageContext, layout *pb.MiniBlockLayout) (*miniBlock, error) {
	m := &miniBlock{pageContext: p, layout: layout, stored: p.shape}
	var err error
	if p.plan, err = planLayers(layout.Layers, p.path); err != nil {
		return nil, err
	}
	if m.items, err = toInt(layout.NumItems); err != nil {
		return nil, err
	}
	if err := m.checkBuffers(); err != nil {
		return nil, err
	}
	if layout.Dictionary != nil {
		bits, err := integerBits(layout.ValueCompression)
		if err != nil {
			return nil, err
		}
		m.stored = fixedShape(bits)
	}
	if m.codec, err = newChunkCodec(layout.ValueCompression, m.stored); err != nil {
		return nil, err
	}
	if uint64(m.codec.buffers()) != layout.NumBuffers {
		return nil, corruptf("chunks of %d value buffers for an encoding of %d", layout.NumBuffers, m.codec.buffers())
	}
	return m, nil
}

// checkBuffers checks what the page has beside its values against its layers.
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
	lists := m.plan.lists > 0
	if lists != (m.layout.RepCompression != nil) || lists != (m.layout.RepetitionIndexDepth > 0) {
		return corruptf("repetition levels or index do not fit %d lists", m.plan.lists)
	}
	if !lists && m.items != m.rows {
		return corruptf("%d values for %d rows", m.items, m.rows)
	}
	if err := checkLevels(m.layout.RepCompression); err != nil {
		return err
	}
	return checkLevels(m.layout.DefCompression)
}

func (m *miniBlock) read(fetch Fetch, room Room, rows []RowRange) (*Items, error) {
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

// fetchIndex returns the index of the page, or nil when its bytes are missing.
func (m *miniBlock) fetchIndex(fetch Fetch, room Room) (*chunkIndex, error) {
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

// fetchDictionary returns the items of the dictionary, or nil when there is none or its
// bytes are missing.
func (m *miniBlock) fetchDictionary(fetch Fetch, room Room) (*values, error) {
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
	dict := room.values(m.shape)
	if err := decodeBlock(dict, m.layout.Dictionary, buf, n); err != nil {
		return nil, err
	}
	// What is kept must not hold on to all the bytes that were read with it.
	own := newValues(m.shape)
	if err := room.Take(dict.footprint()); err != nil {
		return nil, err
	}
	if err := own.appendRange(dict, 0, dict.n); err != nil {
		return nil, err
	}
	m.dict.put(own, own.memory(), m.budget)
	return own, nil
}

// decode decodes runs of chunks and cuts the rows out of them.
func (m *miniBlock) decode(room Room, index *chunkIndex, runs []chunkRun, chunks [][]byte, dict *values) (*Items, error) {
	out := &Items{plan: m.plan}
	// One run is cut where it is; of several, the rows are copied and the rest is reused.
	collect := itemCollector{items: out, copies: len(runs) > 1}
	part := &Items{plan: m.plan, values: room.values(m.stored)}
	parts, whole := growth{room: room}, growth{room: room}
	for i, run := range runs {
		part.reset()
		if err := parts.reach((index.items[run.to] - index.items[run.from]) * m.stored.fixedBytes()); err != nil {
			return nil, err
		}
		part.values.reserveValues(index.items[run.to]-index.items[run.from], reserveRatio*len(chunks[i]))
		if run.to-run.from == 1 { // of several, the first one tells more
			part.values.reserveText(len(chunks[i]))
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
			if err := parts.reach(part.footprint()); err != nil {
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
			if err := whole.reach(out.footprint()); err != nil {
				return nil, err
			}
		}
	}
	if out.values == nil {
		out.values = room.values(m.stored)
	}
	return out, out.lookUp(m.pageContext, room, dict)
}

// reserveLike makes room for what chunks of size bytes hold, supposing that they are like
// those of the first part of them, which have been decoded.
func (it *Items) reserveLike(part, size int) {
	limit := reserveRatio * size
	share := func(n int) int {
		whole := float64(n) * float64(size) / float64(max(part, 1)) * 17 / 16
		return int(min(whole, float64(limit))) - n
	}
	if it.levels.rep != nil {
		it.levels.rep = slices.Grow(it.levels.rep, max(0, share(len(it.levels.rep))))
	}
	if it.levels.def != nil {
		it.levels.def = slices.Grow(it.levels.def, max(0, share(len(it.levels.def))))
	}
	it.values.reserveText(max(0, share(len(it.values.data))))
}

// reserveRatio bounds what is reserved for the values of a chunk by its size: a packed
// block of equal values expands more, and grows as it is decoded.
const reserveRatio = 128

// indexRatio bounds how much larger a chunk index is than the words that it is made of, and
// entryBytes what an entry of levels takes, with what is made of it.
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
		if count, err = countLevels(count, m.layout.RepCompression, bufs[0]); err != nil {
			return err
		}
	}
	if m.layout.DefCompression != nil {
		if count, err = countLevels(count, m.layout.DefCompression, bufs[1]); err != nil {
			return err
		}
	}
	if count > math.MaxUint16 { // no ordinary chunk has so many
		if err := dst.values.room.Take(entryBytes * count); err != nil {
			return err
		}
	}
	if m.layout.RepCompression != nil {
		if l.rep, err = appendLevels(l.rep, m.layout.RepCompression, bufs[0], count); err != nil {
			return err
		}
		entries = count
	}
	if m.layout.DefCompression != nil {
		if l.def, err = appendLevels(l.def, m.layout.DefCompression, bufs[1], count); err != nil {
			return err
		}
		entries = count
	}
	l.n += entries
	return m.codec.decode(dst.values, bufs[2:], n)
}

// splitChunk returns the number of levels of a chunk and its buffers: repetition and
// definition levels, nil when the page has none, then values.
func (m *miniBlock) splitChunk(chunk []byte) (count int, bufs [][]byte, err error) {
	wide := m.layout.HasLargeChunk
	header := 2 + 2*m.levelBuffers() + int(m.layout.NumBuffers)*2
	if wide {
		header += int(m.layout.NumBuffers) * 2
	}
	if len(chunk) < header {
		return 0, nil, corruptf("chunk of %d bytes with a header of %d", len(chunk), header)
	}
	at, sizes := (header+7)&^7, chunk[2:]
	next := func(wide bool) []byte {
		size := int(binary.LittleEndian.Uint16(sizes))
		sizes = sizes[2:]
		if wide {
			size |= int(binary.LittleEndian.Uint16(sizes)) << 16
			sizes = sizes[2:]
		}
		if at > len(chunk) || size > len(chunk)-at {
			err = corruptf("chunk of %d bytes with a buffer of %d at %d", len(chunk), size, at)
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

// levelBuffers is how many buffers of levels a chunk has.
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
