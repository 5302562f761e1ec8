package write

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/bitpack"
	"tiltyard/shared/lance/internal/encoding/codec"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A mini-block page keeps its values in chunks of a few kilobytes:
//
//	buffer 0   a word for each chunk: (bytes/8 - 1) << 4 | log2(values)
//	           u16 in version 2.1, u32 in 2.2; the last chunk's log2 is 0
//	buffer 1   the chunks
//	then       the items of the dictionary, if the values are indices into one
//	then       with lists, u64 pairs for each chunk: rows that end in it, and levels of
//	           the row that goes on in the next chunk
//
// and a chunk is
//
//	u16        levels; 0 when the page has none
//	u16        bytes of the repetition levels   ┐ each only if the page has them
//	u16        bytes of the definition levels   ┘
//	u16 | u32  bytes of each value buffer (2.1 | 2.2)
//	           padding to a multiple of 8, which follows each of these, too:
//	           repetition levels, definition levels, value buffers
//
// Each chunk but the last holds a power of two of values, at least two. It ends with the levels of
// its last value; null and empty lists that follow belong to the next chunk. Package read,
// miniblock.go, shows the bytes of a chunk.

// levelBytes bounds the size of the levels of a chunk, without the padding of the last block of
// 1024.
const levelBytes = 16 << 10

// chunkLevels returns how many entries fit in a chunk. Their count has 16 bits, and packed levels
// must not exceed levelBytes, because a chunk of version 2.1 has at most 32 KiB including values.
func chunkLevels(lists int, layers []pb.RepDefLayer) int {
	defs := 0
	for _, layer := range layers {
		defs += levelsOf(layer)
	}
	width := bits.Len(uint(lists)) + bits.Len(uint(defs))
	return min(math.MaxUint16, levelBytes*8/max(1, width))
}

// A fitFunc returns how many values fit in a chunk, like [codec.ChunkEncoder].
type fitFunc func(first int) (n int, exact bool)

// A chunkCut is the number of entries and values in one chunk.
type chunkCut struct {
	entries, values int // number of each
	log             int // of values; 0 for the last
}

// encodeMiniBlocks makes one page of chunks. If too many entries without values would not fit in a
// chunk, it makes several pages, which end between rows. One of them may hold no values and become
// a constant page, or hold a single row that does not fit in chunks and become a full-zip page.
func (p *pageRows) encodeMiniBlocks(emit func(encoding.Page) error) error {
	rest := p
	for rest.maxRep > 0 {
		_, end := rest.cutChunks(rest.plainEncoder().Fit)
		if end == rest.n {
			break
		}
		values := rest.countValues(end)
		first, err := rest.part(0, end, 0, values)
		if err != nil {
			return err
		}
		if err := first.emitShort(emit); err != nil {
			return err
		}
		if rest, err = rest.part(end, rest.n, values, rest.values.N); err != nil {
			return err
		}
	}
	return rest.emitShort(emit)
}

// emitShort makes one page of the rows.
func (p *pageRows) emitShort(emit func(encoding.Page) error) error {
	if p.firstValid() < 0 {
		return emit(p.constantNulls())
	}
	page, ok := p.chunkPage(p.chooseChunkEncoder())
	if !ok {
		page, ok = p.chunkPage(p.plainEncoder()) // blocks of a fixed number of values had too many levels
	}
	if ok {
		return emit(page)
	}
	zipped, err := p.withoutDictionary()
	if err != nil {
		return err
	}
	if page, err = zipped.fullZip(); err != nil {
		return err
	}
	return emit(page)
}

// chunkPage makes a page of chunks, if the levels fit in them.
func (p *pageRows) chunkPage(encoder codec.ChunkEncoder) (encoding.Page, bool) {
	chunks, _ := p.cutChunks(encoder.Fit)
	if chunks == nil {
		return encoding.Page{}, false
	}
	page := p.miniBlockPage(encoder, chunks)
	if c, ok := encoder.(*codec.CompressedEncoder); ok && !c.Shrinks() {
		return p.chunkPage(c.Otherwise)
	}
	return page, true
}

// withoutDictionary returns the rows with values in place of indices, because full-zip pages have
// no dictionaries. A leaf of a dictionary type must have one.
func (p *pageRows) withoutDictionary() (*pageRows, error) {
	if p.dict == nil {
		return p, nil
	}
	if p.dict.Typed {
		return nil, fmt.Errorf("%w: a row with more than %d null or empty lists of dictionary values", lance.ErrUnsupported, p.chunkLevels)
	}
	plain := *p
	plain.dict, plain.values = nil, values.New(p.dict.Items.Shape)
	return &plain, plain.values.Take(p.dict.Items, values.ViewAs[uint32](p.values.Fixed))
}

// countValues counts the stored values among the first entries.
func (p *pageRows) countValues(entries int) int {
	if len(p.def) == 0 {
		return entries
	}
	n := 0
	for _, d := range p.def[:entries] {
		if d <= p.visible {
			n++
		}
	}
	return n
}

// sparseEnd returns the entry at which the page should end because a chunk, for all the empty lists
// in it, could not hold the 1024 values that are packed at once. Only the last chunk of a page may
// have fewer. Without such a place it returns the number of entries.
func (p *pageRows) sparseEnd() int {
	if p.maxRep == 0 || p.n-p.values.N+bitpack.BlockValues <= p.chunkLevels {
		return p.n
	}
	_, end := p.cutChunks(func(int) (int, bool) { return bitpack.BlockValues, true })
	return end
}

// cutChunks divides the page into chunks as fit allows, see [codec.ChunkEncoder]. If an entry fits
// in no chunk it returns nil, and an earlier entry at which the page should end.
func (p *pageRows) cutChunks(fit fitFunc) ([]chunkCut, int) {
	if p.maxRep == 0 {
		return p.cutEven(fit), p.n
	}
	var chunks []chunkCut
	entry, value := 0, 0
	for entry < p.n && p.values.N > 0 {
		c, ok := p.nextChunk(fit, entry, value)
		if !ok {
			return nil, p.lastRowStart(entry)
		}
		chunks = append(chunks, c)
		entry += c.entries
		value += c.values
	}
	return chunks, p.n
}

// cutEven cuts pages without lists, where each entry has a value.
func (p *pageRows) cutEven(fit fitFunc) []chunkCut {
	var chunks []chunkCut
	for at := 0; at < p.n; {
		n, _ := fit(at)
		if n >= p.n-at {
			n = p.n - at
			chunks = append(chunks, chunkCut{entries: n, values: n})
		} else {
			log := bits.Len(uint(n)) - 1
			n = 1 << log
			chunks = append(chunks, chunkCut{entries: n, values: n, log: log})
		}
		at += n
	}
	return chunks
}

// nextChunk returns the chunk that begins at an entry. A chunk has at least two values, or at least
// one if it takes all that remain, and the levels for them; the result is false if that is not
// possible.
func (p *pageRows) nextChunk(fits fitFunc, entry, value int) (chunkCut, bool) {
	fit, exact := fits(value)
	remaining := p.values.N - value
	if remaining > 0 && remaining <= fit && p.n-entry <= p.chunkLevels {
		return chunkCut{entries: p.n - entry, values: remaining}, true
	}
	if len(p.def) == 0 {
		return evenChunk(min(fit, p.chunkLevels, remaining-1), fit, exact)
	}
	next := 2 // a power of two of values that a chunk may have
	if exact {
		next = fit
	}
	var best chunkCut
	n := 0
	for e, limit := entry, min(p.n, entry+p.chunkLevels); e < limit; {
		// A slice of this many entries cannot hold more values than are missing. It completes them
		// only if its last entry has a value.
		some := p.def[e:min(limit, e+next-n)]
		e += len(some)
		if n += countUpTo(some, p.visible); n == next {
			// The last value stays for the last chunk, which takes the entries behind it.
			if n > fit || n >= remaining {
				break
			}
			best = chunkCut{entries: e - entry, values: n, log: bits.Len(uint(n)) - 1}
			next *= 2
		}
	}
	return best, best.values > 0
}

// countUpTo counts the levels up to a limit. It has no branch per level, because the processor
// could not predict it.
func countUpTo(levels []uint16, limit uint16) int {
	n := uint32(0)
	for _, level := range levels {
		n += (uint32(level) - uint32(limit) - 1) >> 31
	}
	return int(n)
}

// evenChunk returns the largest chunk of up to n values, each with an entry of its own.
func evenChunk(n, fit int, exact bool) (chunkCut, bool) {
	if n < 2 || exact && n < fit {
		return chunkCut{}, false
	}
	log := bits.Len(uint(n)) - 1
	return chunkCut{entries: 1 << log, values: 1 << log, log: log}, true
}

// lastRowStart returns an entry between two rows at which the page may end, given that no chunk can
// begin at the given entry.
func (p *pageRows) lastRowStart(entry int) int {
	value := entry
	for value < p.n && len(p.def) > 0 && p.def[value] > p.visible {
		value++
	}
	// A last chunk from entry on, with a value.
	for e := min(p.n-1, entry+p.chunkLevels); e > value; e-- {
		if p.rep[e] == p.maxRep {
			return e
		}
	}
	// End before this chunk. At the beginning of a page, take only entries without values.
	if entry == 0 {
		entry = min(value, p.n-1)
	}
	for e := entry; e > 0; e-- {
		if p.rep[e] == p.maxRep {
			return e
		}
	}
	// The first row alone.
	for e := 1; e < p.n; e++ {
		if p.rep[e] == p.maxRep {
			return e
		}
	}
	return p.n
}

// miniBlockPage encodes chunks.
func (p *pageRows) miniBlockPage(encoder codec.ChunkEncoder, chunks []chunkCut) encoding.Page {
	blocks := make([]int, len(chunks))
	for i, c := range chunks {
		blocks[i] = c.entries
	}
	w := chunkWriter{pageRows: p, encoder: encoder, chunks: make([]byte, 0, p.values.Memory()+p.values.Memory()/16+4096)}
	if len(p.rep) > 0 {
		w.repEncoder = codec.ChooseLevelEncoder(p.rep, blocks, math.MaxUint16, p.runs)
	}
	if len(p.def) > 0 {
		w.defEncoder = codec.ChooseLevelEncoder(p.def, blocks, math.MaxUint16, p.runs)
	}
	entry, value := 0, 0
	for _, c := range chunks {
		w.add(c, entry, value)
		entry += c.entries
		value += c.values
	}
	layout := &pb.MiniBlockLayout{
		RepCompression:   w.repEncoder.Codec,
		DefCompression:   w.defEncoder.Codec,
		ValueCompression: encoder.Codec(),
		Layers:           p.layers,
		NumBuffers:       uint64(encoder.Buffers()),
		NumItems:         uint64(p.values.N),
		HasLargeChunk:    p.large,
	}
	buffers := [][]byte{w.words, w.chunks}
	if p.dict != nil {
		var items []byte
		layout.Dictionary, items = p.dict.Block(p.DictionaryCompressor)
		layout.NumDictionaryItems = uint64(p.dict.Items.N)
		buffers = append(buffers, items)
	}
	if p.maxRep > 0 {
		layout.RepetitionIndexDepth = 1
		buffers = append(buffers, p.repetitionIndex(chunks))
	}
	return encoding.NewPage(layout, p.rows(), buffers...)
}

// repetitionIndex returns the pair of numbers for each chunk by which readers find rows.
func (p *pageRows) repetitionIndex(chunks []chunkCut) []byte {
	index := make([]byte, 0, 16*len(chunks))
	first := 0
	for _, c := range chunks {
		// A row ends where another begins after it.
		end := first + c.entries
		rows := countLevel(p.rep[first+1:min(end+1, p.n)], p.maxRep)
		unfinished := 0 // levels of a row that goes on
		if end == p.n {
			rows++
		} else if p.rep[end] != p.maxRep {
			unfinished = 1
			for at := end - 1; at > first && p.rep[at] != p.maxRep; at-- {
				unfinished++
			}
		}
		index = binary.LittleEndian.AppendUint64(index, uint64(rows))
		index = binary.LittleEndian.AppendUint64(index, uint64(unfinished))
		first = end
	}
	return index
}

func countLevel(levels []uint16, level uint16) int {
	n := 0
	for _, l := range levels {
		if l == level {
			n++
		}
	}
	return n
}

// A chunkWriter appends chunks, and their words.
type chunkWriter struct {
	*pageRows
	encoder                codec.ChunkEncoder
	repEncoder, defEncoder codec.LevelEncoder
	words, chunks          []byte
}

// add appends a chunk that begins at the given entry and value.
func (w *chunkWriter) add(c chunkCut, entry, value int) {
	start := len(w.chunks)
	levels := 0
	if w.repEncoder.Codec != nil || w.defEncoder.Codec != nil {
		levels = c.entries
	}
	// The header is filled in when the sizes are known.
	header := append(make([]byte, 0, 32), byte(levels), byte(levels>>8))
	w.chunks = append(w.chunks, make([]byte, w.headerBytes())...)
	w.pad(start)
	header = w.addLevels(header, start, &w.repEncoder, w.rep, entry, c.entries)
	header = w.addLevels(header, start, &w.defEncoder, w.def, entry, c.entries)
	var sizes [4]int
	buffers := sizes[:w.encoder.Buffers()]
	w.chunks = w.encoder.Append(w.chunks, value, value+c.values, buffers)
	for _, size := range buffers {
		header = codec.AppendWord(header, uint64(size), w.wordBytes())
	}
	copy(w.chunks[start:], header)
	word := uint64((len(w.chunks)-start)/8-1)<<4 | uint64(c.log)
	w.words = codec.AppendWord(w.words, word, w.wordBytes())
}

// wordBytes returns the size of a chunk word, and of the size of a value buffer.
func (w *chunkWriter) wordBytes() int {
	if w.large {
		return 4
	}
	return 2
}

// headerBytes returns the size of a chunk's header: u16 number of entries, u16 size of each level
// buffer, and the size of each value buffer as a chunk word.
func (w *chunkWriter) headerBytes() int {
	n := 2 + w.encoder.Buffers()*w.wordBytes()
	if w.repEncoder.Codec != nil {
		n += 2
	}
	if w.defEncoder.Codec != nil {
		n += 2
	}
	return n
}

// addLevels encodes the levels of a chunk and appends their size to the header.
func (w *chunkWriter) addLevels(header []byte, start int, encoder *codec.LevelEncoder, levels []uint16, entry, n int) []byte {
	if encoder.Codec == nil {
		return header
	}
	before := len(w.chunks)
	w.chunks = encoder.AppendBlock(w.chunks, levels[entry:entry+n])
	header = binary.LittleEndian.AppendUint16(header, uint16(len(w.chunks)-before))
	w.pad(start)
	return header
}

func (w *chunkWriter) pad(start int) { w.chunks = codec.PadTo8(w.chunks, start) }
