package inverted

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
)

// The BM25 parameters k1 and b.
const (
	saturation = float32(1.2)  // k1, the saturation of frequencies
	shortness  = float32(0.75) // b, the weight of the document length
)

// A corpus is the documents of a partition, as their scores need it.
type corpus struct {
	documents int
	average   float32 // length
}

// weight returns k1 + 1 times the inverse document frequency of a term with the given document frequency.
func (c corpus) weight(holding uint32) float32 {
	n, df := float32(c.documents), float32(holding)
	rarity := float32(math.Log(float64((n-df+0.5)/(df+0.5) + 1)))
	return rarity * (saturation + 1)
}

// score returns the BM25 score of a document for a term, without the weight of the term.
func (c corpus) score(frequency, length uint32) float32 {
	shape := float32(shortness * float32(length))
	norm := float32(saturation * (1 - shortness + shape/c.average))
	return float32(frequency) / (float32(frequency) + norm)
}

// A listEncoder encodes posting lists as rows of the invert file. It belongs to one goroutine. The calls of
// a list are
//
//	begin · for each document: document, place for each position of the term, endDocument · end
type listEncoder struct {
	coding coding
	corpus corpus
	placed bool // positions are written

	// Of all lists:
	blocks, impacts, streams binaries
	blockEnds, impactEnds    []int32 // number of elements up to the end of each list
	most                     []float32
	counts                   []uint32
	offsets                  []uint32 // of the blocks in the streams of positions
	offsetEnds               []int32

	// Of the list that is being written:
	weight   float32
	best     float32 // score
	count    uint32  // documents
	stream   int     // where its positions begin
	block    block
	lengths  []uint32 // of the documents of the block
	places   positionWriter
	pairs    frontier // of the block
	spanned  frontier // of the blocks of the span
	spanLast uint32   // its last document
	inSpan   int      // blocks
	spans    binaries // impact entries of spans, which follow the entries of the blocks
	err      error
}

func newListEncoder(c coding, of corpus, placed bool) *listEncoder {
	e := &listEncoder{coding: c, corpus: of, placed: placed, lengths: make([]uint32, 0, c.block)}
	e.block = block{documents: make([]uint32, 0, c.block), frequencies: make([]uint32, 0, c.block)}
	return e
}

// begin begins the list of a term. holding is its document frequency.
func (e *listEncoder) begin(holding uint32) {
	e.weight, e.best, e.count = e.corpus.weight(holding), 0, 0
	e.stream = len(e.streams.data)
}

// document adds a document to the current block. The first document of a block also records the offset of
// its positions.
func (e *listEncoder) document(number, frequency, length uint32) {
	if e.placed && len(e.block.documents) == 0 {
		at := len(e.streams.data) - e.stream
		if at > math.MaxUint32 && e.err == nil {
			e.err = fmt.Errorf("%w: %d bytes of positions of one term", lance.ErrUnsupported, at)
		}
		e.offsets = append(e.offsets, uint32(at))
	}
	e.block.documents = append(e.block.documents, number)
	e.block.frequencies = append(e.block.frequencies, frequency)
	e.lengths = append(e.lengths, length)
	e.count++
}

// place adds a position of the term, as the distance from the previous one.
func (e *listEncoder) place(distance uint32) { e.streams.data = e.places.add(e.streams.data, distance) }

func (e *listEncoder) endDocument() {
	if len(e.block.documents) == e.coding.block {
		e.endBlock()
	}
}

// endBlock encodes the collected block, with its maximal score and its impacts.
func (e *listEncoder) endBlock() {
	start := len(e.blocks.data)
	e.blocks.data = e.coding.encode(e.blocks.data, &e.block)
	best := float32(0)
	for i, frequency := range e.block.frequencies {
		best = max(best, e.corpus.score(frequency, e.lengths[i]))
		e.pairs.add(frequency, e.lengths[i])
	}
	best *= e.weight
	if e.coding.scored() {
		binary.LittleEndian.PutUint32(e.blocks.data[start:], math.Float32bits(best))
	}
	e.blocks.end()
	e.best = max(e.best, best)
	e.spanLast = e.block.documents[len(e.block.documents)-1]
	impacts := e.pairs.impacts()
	e.impacts.data = appendImpacts(e.impacts.data, e.spanLast, impacts)
	e.impacts.end()
	for _, i := range impacts {
		e.spanned.add(i.frequency, i.length)
	}
	if e.inSpan++; e.inSpan == span {
		e.endSpan()
	}
	if e.placed {
		e.streams.data = e.places.end(e.streams.data)
	}
	e.block.documents, e.block.frequencies, e.lengths = e.block.documents[:0], e.block.frequencies[:0], e.lengths[:0]
}

func (e *listEncoder) endSpan() {
	e.spans.data = appendImpacts(e.spans.data, e.spanLast, e.spanned.impacts())
	e.spans.end()
	e.inSpan = 0
}

// end ends the list.
func (e *listEncoder) end() {
	if len(e.block.documents) > 0 {
		e.endBlock()
	}
	if e.inSpan > 0 {
		e.endSpan()
	}
	e.impacts.add(&e.spans)
	e.spans.clear()
	e.blockEnds = append(e.blockEnds, int32(len(e.blocks.ends)))
	e.impactEnds = append(e.impactEnds, int32(len(e.impacts.ends)))
	e.most, e.counts = append(e.most, e.best), append(e.counts, e.count)
	if e.placed {
		e.streams.end()
		e.offsetEnds = append(e.offsetEnds, int32(len(e.offsets)))
	}
}

// bytes estimates the memory of the rows.
func (e *listEncoder) bytes() int64 {
	n := len(e.blocks.data) + len(e.impacts.data) + len(e.streams.data) + 4*len(e.offsets) + 24*len(e.counts)
	return int64(n + 8*(len(e.blocks.ends)+len(e.impacts.ends)+len(e.streams.ends)))
}

// rows returns the rows, and empties the encoder.
func (e *listEncoder) rows(schema *arrow.Schema) arrow.RecordBatch {
	columns := []arrow.Array{
		listOf(e.blocks.array(), e.blockEnds),
		fixed(arrow.PrimitiveTypes.Float32, len(e.most), arrow.Float32Traits.CastToBytes(e.most)),
		uint32s(e.counts),
		listOf(e.impacts.array(), e.impactEnds),
	}
	if e.placed {
		columns = append(columns, e.streams.array(), listOf(uint32s(e.offsets), e.offsetEnds))
	}
	rows := array.NewRecordBatch(schema, columns, int64(len(e.counts)))
	*e = *newListEncoder(e.coding, e.corpus, e.placed)
	return rows
}

// listSchema returns the schema of the invert file.
func listSchema(placed bool, metadata map[string]string) *arrow.Schema {
	fields := []arrow.Field{
		{Name: "_posting", Type: arrow.ListOf(arrow.BinaryTypes.LargeBinary)},
		{Name: "_max_score", Type: arrow.PrimitiveTypes.Float32},
		{Name: "_length", Type: arrow.PrimitiveTypes.Uint32},
		{Name: "_impacts", Type: arrow.ListOf(arrow.BinaryTypes.LargeBinary)},
	}
	if placed {
		fields = append(fields,
			arrow.Field{Name: "_compressed_position", Type: arrow.BinaryTypes.LargeBinary},
			arrow.Field{Name: "_position_block_offset", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint32)})
	}
	described := arrow.MetadataFrom(metadata)
	return arrow.NewSchema(fields, &described)
}

// binaries are the elements of an array of bytes.
type binaries struct {
	data []byte
	ends []int64
}

// end ends the element whose bytes were appended to data.
func (b *binaries) end() { b.ends = append(b.ends, int64(len(b.data))) }

func (b *binaries) clear() { b.data, b.ends = b.data[:0], b.ends[:0] }

// add adds the elements of another.
func (b *binaries) add(o *binaries) {
	start := int64(len(b.data))
	b.data = append(b.data, o.data...)
	for _, end := range o.ends {
		b.ends = append(b.ends, start+end)
	}
}

func (b *binaries) array() arrow.Array {
	offsets := append(make([]int64, 1, len(b.ends)+1), b.ends...)
	buffers := []*arrowmemory.Buffer{nil, arrowmemory.NewBufferBytes(arrow.Int64Traits.CastToBytes(offsets)), arrowmemory.NewBufferBytes(b.data)}
	return array.MakeFromData(array.NewData(arrow.BinaryTypes.LargeBinary, len(b.ends), buffers, nil, 0, 0))
}

// listOf returns a list array. ends[i] is the number of elements up to the end of list i.
func listOf(elements arrow.Array, ends []int32) arrow.Array {
	offsets := append(make([]int32, 1, len(ends)+1), ends...)
	buffers := []*arrowmemory.Buffer{nil, arrowmemory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))}
	return array.MakeFromData(array.NewData(arrow.ListOf(elements.DataType()), len(ends), buffers, []arrow.ArrayData{elements.Data()}, 0, 0))
}

func uint32s(values []uint32) arrow.Array {
	return fixed(arrow.PrimitiveTypes.Uint32, len(values), arrow.Uint32Traits.CastToBytes(values))
}

func uint64s(values []uint64) arrow.Array {
	return fixed(arrow.PrimitiveTypes.Uint64, len(values), arrow.Uint64Traits.CastToBytes(values))
}

// fixed returns a fixed-width array over the memory of values.
func fixed(t arrow.DataType, n int, values []byte) arrow.Array {
	buffers := []*arrowmemory.Buffer{nil, arrowmemory.NewBufferBytes(values)}
	return array.MakeFromData(array.NewData(t, n, buffers, nil, 0, 0))
}
