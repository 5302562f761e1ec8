package encoding

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding/bitpack"
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
// All but the last chunk hold a power of two of values, two at least, and end with the
// levels of their last value: null and empty lists that follow go to the next chunk.

const (
	chunkValues = 4096     // most values of a chunk
	chunkBytes  = 8000     // most bytes of its values
	levelBytes  = 16 << 10 // most bytes of its levels, without what fills up the last 1024
	chunkPad    = 0xfe
)

// chunkLevels returns how many entries fit in a chunk: their number is said in 16 bits,
// and packed they must not take more than levelBytes, since a chunk of version 2.1 is at
// most 32 KiB long, values and all.
func chunkLevels(lists int, layers []pb.RepDefLayer) int {
	defs := 0
	for _, layer := range layers {
		defs += levelsOf(layer)
	}
	width := bits.Len(uint(lists)) + bits.Len(uint(defs))
	return min(math.MaxUint16, levelBytes*8/max(1, width))
}

// A chunkEncoder compresses the values of chunks.
type chunkEncoder interface {
	codec() pb.Codec
	buffers() int // of each chunk
	// fit returns how many of the values from the first on a chunk can hold: any number
	// up to that, or, if exact, that number or all that remain.
	fit(first int) (n int, exact bool)
	// append adds the buffers of values [from, to), each followed by pad, to b and puts
	// their sizes into sizes.
	append(b []byte, from, to int, sizes []int) []byte
}

// A fitFunc says how many values fit in a chunk, see [chunkEncoder].
type fitFunc func(first int) (n int, exact bool)

// A chunkCut says how much of the entries and values of a page.
type chunkCut struct {
	entries, values int // how many
	log             int // of values; 0 for the last
}

// encodeMiniBlocks makes pages of chunks: one, unless it has entries without a value
// that do not fit in a chunk. Then pages end earlier, between rows. Such a page may hold
// no values at all, and becomes a constant one, or a row that alone is too much for
// chunks, and becomes a full-zip one.
func (p *pageRows) encodeMiniBlocks(emit func(Page) error) error {
	rest := p
	for rest.maxRep > 0 {
		_, end := rest.cutChunks(rest.plainEncoder().fit)
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
		if rest, err = rest.part(end, rest.n, values, rest.values.n); err != nil {
			return err
		}
	}
	return rest.emitShort(emit)
}

// emitShort makes one page of rows that have been cut off for it.
func (p *pageRows) emitShort(emit func(Page) error) error {
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
func (p *pageRows) chunkPage(codec chunkEncoder) (Page, bool) {
	chunks, _ := p.cutChunks(codec.fit)
	if chunks == nil {
		return Page{}, false
	}
	page := p.miniBlockPage(codec, chunks)
	if c, ok := codec.(*compressedEncoder); ok && !c.shrinks() {
		return p.chunkPage(c.otherwise)
	}
	return page, true
}

// withoutDictionary returns the rows with the values that indices stand for: full-zip
// pages have no dictionaries. Leaves of dictionary types must have one.
func (p *pageRows) withoutDictionary() (*pageRows, error) {
	if p.dict == nil {
		return p, nil
	}
	if p.dict.typed {
		return nil, fmt.Errorf("%w: a row with more than %d null or empty lists of dictionary values", lance.ErrUnsupported, p.chunkLevels)
	}
	plain := *p
	plain.dict, plain.values = nil, newValues(p.dict.items.shape)
	return &plain, plain.values.take(p.dict.items, viewAs[uint32](p.values.fixed))
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

// sparseEnd returns the entry at which the page should end because so many lists have no
// values that a chunk cannot be filled with as many as are packed at once. The last chunk
// of a page may have fewer. It returns the number of entries when that does not happen.
func (p *pageRows) sparseEnd() int {
	if p.maxRep == 0 || p.n-p.values.n+bitpack.BlockValues <= p.chunkLevels {
		return p.n
	}
	_, end := p.cutChunks(func(int) (int, bool) { return bitpack.BlockValues, true })
	return end
}

// cutChunks cuts the page into chunks that values fit in, see [chunkEncoder]. When an
// entry cannot be placed it returns none, and the entry at which a page should end before
// it.
func (p *pageRows) cutChunks(fit fitFunc) ([]chunkCut, int) {
	if p.maxRep == 0 {
		return p.cutEven(fit), p.n
	}
	var chunks []chunkCut
	entry, value := 0, 0
	for entry < p.n && p.values.n > 0 {
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

// nextChunk returns the chunk that begins at an entry, and whether there can be one: at
// least two values, or all that remain and one, with their levels.
func (p *pageRows) nextChunk(fits fitFunc, entry, value int) (chunkCut, bool) {
	fit, exact := fits(value)
	remaining := p.values.n - value
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
		// So many entries have no more values than are missing, and all of those only when the
		// last of them is one.
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

// countUpTo counts the levels that are not above a limit, without a branch for each, as
// nobody could foretell which way it goes.
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

// lastRowStart returns an entry at which the page may end, between two rows, when no
// chunk can begin at the given one.
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
	// Without this chunk; or, at the beginning of a page, only what has no values.
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
func (p *pageRows) miniBlockPage(codec chunkEncoder, chunks []chunkCut) Page {
	blocks := make([]int, len(chunks))
	for i, c := range chunks {
		blocks[i] = c.entries
	}
	w := chunkWriter{pageRows: p, codec: codec, chunks: make([]byte, 0, p.values.memory()+p.values.memory()/16+4096)}
	if len(p.rep) > 0 {
		w.repEncoder = chooseLevelEncoder(p.rep, blocks, math.MaxUint16, p.runs)
	}
	if len(p.def) > 0 {
		w.defEncoder = chooseLevelEncoder(p.def, blocks, math.MaxUint16, p.runs)
	}
	entry, value := 0, 0
	for _, c := range chunks {
		w.add(c, entry, value)
		entry += c.entries
		value += c.values
	}
	layout := &pb.MiniBlockLayout{
		RepCompression:   w.repEncoder.pb,
		DefCompression:   w.defEncoder.pb,
		ValueCompression: codec.codec(),
		Layers:           p.layers,
		NumBuffers:       uint64(codec.buffers()),
		NumItems:         uint64(p.values.n),
		HasLargeChunk:    p.large,
	}
	buffers := [][]byte{w.words, w.chunks}
	if p.dict != nil {
		var items []byte
		layout.Dictionary, items = p.dict.block(p.dictPack)
		layout.NumDictionaryItems = uint64(p.dict.items.n)
		buffers = append(buffers, items)
	}
	if p.maxRep > 0 {
		layout.RepetitionIndexDepth = 1
		buffers = append(buffers, p.repetitionIndex(chunks))
	}
	return newPage(layout, p.rows(), buffers...)
}

// repetitionIndex returns the pairs that find rows in chunks.
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

// A chunkWriter appends chunks and their words.
type chunkWriter struct {
	*pageRows
	codec                  chunkEncoder
	repEncoder, defEncoder levelEncoder
	words, chunks          []byte
}

// add writes a chunk that begins at this entry and value.
func (w *chunkWriter) add(c chunkCut, entry, value int) {
	start := len(w.chunks)
	levels := 0
	if w.repEncoder.pb != nil || w.defEncoder.pb != nil {
		levels = c.entries
	}
	// The header is filled in when the sizes are known.
	header := append(make([]byte, 0, 32), byte(levels), byte(levels>>8))
	w.chunks = append(w.chunks, make([]byte, w.headerBytes())...)
	w.pad(start)
	header = w.addLevels(header, start, &w.repEncoder, w.rep, entry, c.entries)
	header = w.addLevels(header, start, &w.defEncoder, w.def, entry, c.entries)
	var sizes [4]int
	buffers := sizes[:w.codec.buffers()]
	w.chunks = w.codec.append(w.chunks, value, value+c.values, buffers)
	for _, size := range buffers {
		header = appendWord(header, uint64(size), w.wordBytes())
	}
	copy(w.chunks[start:], header)
	word := uint64((len(w.chunks)-start)/8-1)<<4 | uint64(c.log)
	w.words = appendWord(w.words, word, w.wordBytes())
}

// wordBytes is the size of chunk words and of sizes of value buffers.
func (w *chunkWriter) wordBytes() int {
	if w.large {
		return 4
	}
	return 2
}

func (w *chunkWriter) headerBytes() int {
	n := 2 + w.codec.buffers()*w.wordBytes()
	if w.repEncoder.pb != nil {
		n += 2
	}
	if w.defEncoder.pb != nil {
		n += 2
	}
	return n
}

func (w *chunkWriter) addLevels(header []byte, start int, codec *levelEncoder, levels []uint16, entry, n int) []byte {
	if codec.pb == nil {
		return header
	}
	before := len(w.chunks)
	w.chunks = codec.appendBlock(w.chunks, levels[entry:entry+n])
	header = binary.LittleEndian.AppendUint16(header, uint16(len(w.chunks)-before))
	w.pad(start)
	return header
}

func (w *chunkWriter) pad(start int) { w.chunks = padTo8(w.chunks, start) }

// padTo8 pads what has been appended since start.
func padTo8(b []byte, start int) []byte {
	for (len(b)-start)&7 != 0 {
		b = append(b, chunkPad)
	}
	return b
}
