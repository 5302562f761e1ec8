package read

import (
	"encoding/binary"
	"sort"
	"unsafe"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
)

// A chunkIndex maps the rows of a mini-block page to its chunks. It is made of the chunk words, one
// u16 (version 2.1) or u32 per chunk
//
//	bits 0-3   log2 of the number of values; ignored for the last chunk, which has
//	           what the others leave of the page's values
//	bits 4-    size in units of 8 bytes, less one
//
// and, where there are lists, of the repetition index, two u64 per chunk
//
//	rows that end in the chunk
//	levels of a row that begins in it or before and ends later; 0 if there is none
//
// A chunk word 0x0123, for example, is a chunk of (0x12 + 1)·8 = 152 bytes with 2^3 values. All
// slices of the index have one element more than there are chunks.
type chunkIndex struct {
	offsets []int // where each chunk begins in the buffer of chunks
	items   []int // stored values before each chunk
	// With lists: rows that end and rows that begin before each chunk. A row may begin
	// in one chunk and end in another.
	ends, starts []int
}

func (x *chunkIndex) memory() int {
	return int(unsafe.Sizeof(*x)) + 8*(len(x.offsets)+len(x.items)+len(x.ends)+len(x.starts))
}

const maxChunkLog = 15

// parseChunkIndex decodes the chunk words and the repetition index, and checks that chunks, values
// and rows add up.
func parseChunkIndex(m *miniBlock, words, repetition []byte) (*chunkIndex, error) {
	width := 2
	if m.layout.HasLargeChunk {
		width = 4
	}
	if len(words)%width != 0 {
		return nil, lance.Corruptf("chunk words of %d bytes", len(words))
	}
	n := len(words) / width
	x := &chunkIndex{offsets: make([]int, n+1), items: make([]int, n+1)}
	for c := range n {
		word := 0
		if width == 4 {
			word = int(binary.LittleEndian.Uint32(words[4*c:]))
		} else {
			word = int(binary.LittleEndian.Uint16(words[2*c:]))
		}
		x.offsets[c+1] = x.offsets[c] + 8*(word>>4+1)
		// The last chunk has the remaining values; its word does not count.
		if c == n-1 {
			x.items[n] = m.items
			break
		}
		x.items[c+1] = x.items[c] + 1<<(word&15)
	}
	if x.offsets[n] != m.sizes[1] {
		return nil, lance.Corruptf("chunks of %d bytes in a buffer of %d", x.offsets[n], m.sizes[1])
	}
	if n > 0 && (x.items[n] < x.items[n-1] || x.items[n]-x.items[n-1] > 1<<maxChunkLog) || n == 0 && m.items > 0 {
		return nil, lance.Corruptf("%d chunks for %d values", n, m.items)
	}
	if m.plan.Lists == 0 {
		return x, nil
	}
	return x, x.parseRepetition(repetition, int(m.layout.RepetitionIndexDepth), m.rows)
}

// parseRepetition parses the repetition index. Only the first two numbers of a chunk concern whole
// rows; numbers of deeper lists follow them and are skipped.
func (x *chunkIndex) parseRepetition(b []byte, depth, rows int) error {
	n := len(x.offsets) - 1
	stride := 8 * (depth + 1)
	if len(b)/stride != n || len(b)%stride != 0 {
		return lance.Corruptf("repetition index of %d bytes for %d chunks", len(b), n)
	}
	x.ends, x.starts = make([]int, n+1), make([]int, n+1)
	for c := range n {
		ended := binary.LittleEndian.Uint64(b[c*stride:])
		unfinished := binary.LittleEndian.Uint64(b[c*stride+8:]) > 0
		if ended > uint64(rows-x.ends[c]) {
			return lance.Corruptf("repetition index with more than %d rows", rows)
		}
		x.ends[c+1] = x.ends[c] + int(ended)
		x.starts[c+1] = x.ends[c+1]
		if unfinished {
			x.starts[c+1]++
		}
		if x.starts[c+1] < x.starts[c] {
			return lance.Corruptf("repetition index where a row never ends")
		}
	}
	if x.ends[n] != rows || x.starts[n] != rows {
		return lance.Corruptf("repetition index of %d rows, want %d", x.ends[n], rows)
	}
	return nil
}

// firstRow returns the first row that begins in chunk c.
func (x *chunkIndex) firstRow(c int) int {
	if x.starts == nil {
		return x.items[c]
	}
	return x.starts[c]
}

// chunkOfStart returns the chunk in which a row begins.
func (x *chunkIndex) chunkOfStart(row int) int {
	firsts := x.starts
	if firsts == nil {
		firsts = x.items
	}
	return sort.SearchInts(firsts, row+1) - 1
}

// chunkOfEnd returns the chunk in which a row ends.
func (x *chunkIndex) chunkOfEnd(row int) int {
	if x.ends == nil {
		return x.chunkOfStart(row)
	}
	return sort.SearchInts(x.ends, row+1) - 1
}

// A chunkRun is a run of chunks [from, to) and the wanted rows in it.
type chunkRun struct {
	from, to int
	rows     []encoding.RowRange
}

// runs groups rows by the chunks that hold them. Chunks that no row needs are in no run.
func (x *chunkIndex) runs(rows []encoding.RowRange) []chunkRun {
	var runs []chunkRun
	for i, r := range rows {
		if r.From == r.To {
			continue
		}
		from, to := x.chunkOfStart(r.From), x.chunkOfEnd(r.To-1)+1
		if n := len(runs); n > 0 && from <= runs[n-1].to {
			last := &runs[n-1]
			last.to = max(last.to, to)
			last.rows = append(last.rows, rows[i])
			continue
		}
		runs = append(runs, chunkRun{from, to, rows[i : i+1 : i+1]})
	}
	return runs
}
