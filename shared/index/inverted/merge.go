package inverted

import (
	"container/heap"
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/inverted/fst"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/process/memory"
)

// Parts are partitions that Builders with the same parameters have written. They need no metadata file.
type Parts struct {
	Open    func(ctx context.Context, name string) (*datafile.File, error)
	Numbers []uint64
}

// Merge merges partitions into one, with the documents in their order. The result equals a Builder's output
// for the same documents. Its memory holds the terms of all partitions, the lengths of all documents, some
// rows of each file, and one posting list with its neighbours. It calls watch with the number of newly
// written postings.
func Merge(ctx context.Context, p *fulltext.Params, of Parts, number uint64, watch func(postings int64), out index.Output) (err error) {
	defer index.Contain(&err)
	reading, done := context.WithCancel(ctx) // for reads only: they stop when Merge returns, but uploads may still run
	m := &merger{params: p, out: out, names: partition{number: number}, watch: watch, coding: coding{block: p.BlockSize, varint: true}}
	if _, m.terms, err = memory.Within(ctx); err != nil {
		done()
		return err
	}
	defer m.release(done)
	for _, n := range of.Numbers {
		s := &mergedPart{names: partition{number: n}, open: of.Open, place: len(m.parts), of: m}
		m.parts = append(m.parts, s)
		if err := s.openDocuments(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.names.name("docs"), err)
		}
	}
	if len(m.lengths) == 0 {
		return fmt.Errorf("%w: partitions without documents", lance.ErrCorrupt)
	}
	block := index.BlockBytes(ctx, len(m.parts))
	for _, s := range m.parts {
		if err := s.openLists(reading, block); err != nil {
			return fmt.Errorf("partition %d: %w", s.names.number, err)
		}
	}
	terms, err := m.writeLists(ctx, reading)
	if err != nil {
		return err
	}
	if err := writeTokens(ctx, out, m.names, terms); err != nil {
		return err
	}
	return m.writeDocuments(ctx)
}

// A merger merges partitions.
type merger struct {
	params *fulltext.Params
	out    index.Output
	names  partition
	coding coding
	watch  func(int64)
	parts  []*mergedPart
	terms  *memory.Share // holds the terms of all partitions

	lengths []uint32 // of all documents
	total   int64    // terms in all documents
	held    memory.Hold
	written memory.Hold // for rows that are not written yet

	block     block // scratch: documents of a list
	positions []uint32
	placing   memory.Hold // for positions
}

// A mergedPart is one input partition.
type mergedPart struct {
	names partition
	open  func(ctx context.Context, name string) (*datafile.File, error)
	place int // among the partitions
	of    *merger

	documents *index.Columns
	start     uint32 // the number that its first document gets
	count     uint32 // documents

	terms   *fst.Walk
	lists   *postingFile
	blocks  *index.Blocks
	columns []arrow.Array // of the rows that are at hand
	from    int64         // the first of them
}

// release stops all reads and releases all memory of the merge.
func (m *merger) release(cancel func()) {
	cancel()
	for _, s := range m.parts {
		if s.blocks != nil {
			s.blocks.Stop()
		}
		if s.terms != nil {
			s.terms.Close()
		}
	}
	m.terms.Close()
	m.held.Release()
	m.written.Release()
	m.placing.Release()
}

// documentStep is the number of documents that are read together.
const documentStep = 1 << 18

// openDocuments reads the lengths of the documents.
func (s *mergedPart) openDocuments(ctx context.Context) error {
	m := s.of
	file, err := s.open(ctx, s.names.name("docs"))
	if err != nil {
		return err
	}
	names := []string{"_rowid", "_num_tokens"}
	if m.params.OfElements() {
		names = append(names, elementColumn)
	}
	if s.documents, err = index.ColumnsOf(ctx, file, names...); err != nil {
		return err
	}
	if file.NumRows() > maxTerms-int64(len(m.lengths)) {
		return fmt.Errorf("%w: more than %d documents", lance.ErrUnsupported, maxTerms)
	}
	s.start, s.count = uint32(len(m.lengths)), uint32(file.NumRows())
	if err := m.held.Resize(ctx, m.held.Bytes()+lengthBytes*file.NumRows()); err != nil {
		return err
	}
	for from := int64(0); from < file.NumRows(); from += documentStep {
		read, err := file.ReadRange(ctx, s.documents.Fields[1:2], from, min(from+documentStep, file.NumRows()))
		if err != nil {
			return err
		}
		lengths, ok := read[0].(*array.Uint32)
		if !ok || lengths.NullN() > 0 {
			return fmt.Errorf("%w: lengths of documents of type %s", lance.ErrCorrupt, read[0].DataType())
		}
		for _, n := range lengths.Uint32Values() {
			m.lengths, m.total = append(m.lengths, n), m.total+int64(n)
		}
	}
	return nil
}

// openLists reads the terms, and begins to read the posting lists.
func (s *mergedPart) openLists(ctx context.Context, block int64) error {
	file, err := s.open(ctx, s.names.name("tokens"))
	if err != nil {
		return err
	}
	kept, _, err := readDictionary(memory.WithShare(ctx, s.of.terms), file, automatonForm)
	if err != nil {
		return err
	}
	terms := kept.(*fst.Automaton)
	s.terms = terms.Walk(math.MaxInt)
	if file, err = s.open(ctx, s.names.name("invert")); err != nil {
		return err
	}
	if s.lists, err = newPostingFile(ctx, file); err != nil {
		return err
	}
	placed := s.of.params.WithPosition
	if s.lists.coding != s.of.coding || placed && (!s.lists.streams || !s.lists.packed) {
		return fmt.Errorf("%w: posting lists in another form than the index has", lance.ErrCorrupt)
	}
	if s.lists.rows() != terms.Terms {
		return fmt.Errorf("%w: %d posting lists of %d terms", lance.ErrCorrupt, s.lists.rows(), terms.Terms)
	}
	names := []string{"_posting", "_length"}
	if placed {
		names = append(names, "_compressed_position", "_position_block_offset")
	}
	columns, err := index.ColumnsOf(ctx, file, names...)
	if err != nil {
		return err
	}
	s.blocks = index.ReadBlocks(ctx, columns, block)
	return nil
}

// next moves to the next term, and reports whether there is one.
func (s *mergedPart) next(ctx context.Context) (bool, error) {
	n := s.terms.Found
	more, err := s.terms.Next(ctx)
	if err != nil {
		return false, err
	}
	if !more {
		if s.terms.Found != s.lists.rows() {
			return false, fmt.Errorf("%w: %d terms of %d", lance.ErrCorrupt, s.terms.Found, s.lists.rows())
		}
		return false, nil
	}
	if s.terms.Number != uint64(n) {
		return false, fmt.Errorf("%w: term %d has the number %d", lance.ErrCorrupt, n, s.terms.Number)
	}
	if s.columns == nil || n == s.from+int64(s.columns[0].Len()) {
		if s.columns != nil {
			s.from = n
		}
		if s.columns, err = s.blocks.Next(ctx); err != nil {
			return false, err
		}
		if s.columns == nil {
			return false, fmt.Errorf("%w: %d posting lists of more terms", lance.ErrCorrupt, n)
		}
	}
	return true, nil
}

// list returns the posting list of the term, in the memory of the columns.
func (s *mergedPart) list() (*posting, error) {
	row := int(s.terms.Found - 1 - s.from)
	blocks, err := binaryLists(s.columns[0])
	if err != nil {
		return nil, err
	}
	counts, ok := s.columns[1].(*array.Uint32)
	if !ok {
		return nil, fmt.Errorf("%w: lengths of type %s", lance.ErrCorrupt, s.columns[1].DataType())
	}
	p := &posting{coding: s.lists.coding, length: int(counts.Value(row))}
	if p.blocks, err = blocks(row); err != nil {
		return nil, err
	}
	if p.length == 0 || p.length > int(s.count) {
		return nil, fmt.Errorf("%w: a term in %d of %d documents", lance.ErrCorrupt, p.length, s.count)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if s.of.params.WithPosition {
		return p, s.lists.placeStream(p, s.columns[2:], row)
	}
	return p, nil
}

// writeLists writes the merged posting lists of all terms. reading is the context of the reads.
func (m *merger) writeLists(ctx, reading context.Context) (tokens, error) {
	schema := listSchema(m.params.WithPosition, formsOf(m.params))
	file, err := m.out.Create(ctx, m.names.name("invert"), schema)
	if err != nil {
		return tokens{}, err
	}
	m.block = block{documents: make([]uint32, 0, maxBlock), frequencies: make([]uint32, 0, maxBlock)}
	e := newListEncoder(m.coding, corpus{documents: len(m.lengths), average: float32(m.total) / float32(len(m.lengths))}, m.params.WithPosition)
	var t tokens
	terms, postings := fst.NewBuilder(), int64(0)
	write := func() error {
		if len(e.counts) == 0 {
			return nil
		}
		if m.watch != nil {
			m.watch(postings)
		}
		postings = 0
		return file.Write(ctx, e.rows(schema))
	}
	err = m.each(reading, func(term []byte, having []*mergedPart) error {
		terms.Add(string(term))
		t.count, t.bytes = t.count+1, t.bytes+uint64(len(term))
		if err := m.writeList(ctx, e, having, terms.Bytes()); err != nil {
			return fmt.Errorf("term %d: %w", t.count-1, err)
		}
		if postings += int64(e.count); e.bytes() < writtenBytes {
			return nil
		}
		return write()
	})
	if err == nil {
		err = write()
	}
	if err != nil {
		return t, err
	}
	t.automaton = terms.Finish()
	return t, file.Close(ctx)
}

// writtenBytes is the approximate size of the posting lists that are written together.
const writtenBytes = 4 << 20

// each calls f with each term and the partitions that contain it.
func (m *merger) each(ctx context.Context, f func(term []byte, having []*mergedPart) error) error {
	var left byTerm
	for _, s := range m.parts {
		more, err := s.next(ctx)
		if err != nil {
			return err
		}
		if more {
			left = append(left, s)
		}
	}
	heap.Init(&left)
	var having []*mergedPart
	var term []byte
	for len(left) > 0 {
		having, term = having[:0], append(term[:0], left[0].terms.Term...)
		for len(left) > 0 && string(left[0].terms.Term) == string(term) {
			having = append(having, heap.Pop(&left).(*mergedPart))
		}
		if err := f(term, having); err != nil {
			return err
		}
		for _, s := range having {
			more, err := s.next(ctx)
			if err != nil {
				return err
			}
			if more {
				heap.Push(&left, s)
			}
		}
	}
	return nil
}

// byTerm is a heap of the partitions with terms left, ordered by their current term, then by partition.
type byTerm []*mergedPart

func (b byTerm) Len() int { return len(b) }

func (b byTerm) Less(i, j int) bool {
	one, other := b[i].terms.Term, b[j].terms.Term
	if string(one) != string(other) {
		return string(one) < string(other)
	}
	return b[i].place < b[j].place
}

func (b byTerm) Swap(i, j int) { b[i], b[j] = b[j], b[i] }

// Push implements heap.Interface.
func (b *byTerm) Push(x any) { *b = append(*b, x.(*mergedPart)) }

// Pop implements heap.Interface.
func (b *byTerm) Pop() any {
	last := (*b)[len(*b)-1]
	*b = (*b)[:len(*b)-1]
	return last
}

// writeList encodes the merged posting list of a term. others is the memory of the terms in bytes.
func (m *merger) writeList(ctx context.Context, e *listEncoder, having []*mergedPart, others int64) error {
	lists, holding := make([]*posting, len(having)), uint32(0)
	for i, s := range having {
		var err error
		if lists[i], err = s.list(); err != nil {
			return err
		}
		holding += uint32(lists[i].length)
	}
	e.begin(holding)
	for i, s := range having {
		if err := m.append(ctx, e, s, lists[i], others); err != nil {
			return fmt.Errorf("partition %d: %w", s.names.number, err)
		}
	}
	e.end()
	return e.err
}

// append encodes the postings of a term from one partition.
func (m *merger) append(ctx context.Context, e *listEncoder, s *mergedPart, list *posting, others int64) error {
	last, b := int64(-1), &m.block
	for n, data := range list.blocks {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if need := others + 2*e.bytes() + growth; need > m.written.Bytes() {
			if err := m.written.Resize(ctx, need+growth); err != nil {
				return err
			}
		}
		size := list.coding.block
		if err := list.coding.decode(data, min(size, list.length-n*size), b); err != nil {
			return fmt.Errorf("block %d: %w", n, err)
		}
		if first, end := int64(b.documents[0]), b.documents[len(b.documents)-1]; first <= last || end >= s.count {
			return fmt.Errorf("%w: documents from %d to %d after %d, of %d", lance.ErrCorrupt, first, end, last, s.count)
		}
		last = int64(b.documents[len(b.documents)-1])
		var places []uint32
		if list.stream != nil {
			var err error
			if places, err = m.places(ctx, list.stream, n, b.frequencies); err != nil {
				return fmt.Errorf("block %d: %w", n, err)
			}
		}
		for i, document := range b.documents {
			number := s.start + document
			e.document(number, b.frequencies[i], m.lengths[number])
			if list.stream != nil {
				before := uint32(0)
				for _, place := range places[:b.frequencies[i]] {
					e.place(place - before)
					before = place
				}
				places = places[b.frequencies[i]:]
			}
			e.endDocument()
		}
	}
	return nil
}

// places decodes where a term is in the documents of a block.
func (m *merger) places(ctx context.Context, s *positionStream, block int, frequencies []uint32) ([]uint32, error) {
	total := int64(0)
	for _, n := range frequencies {
		total += int64(n)
	}
	const placeBytes = 4 + 4 // with the room that a slice has to spare
	if need := placeBytes * total; need > m.placing.Bytes() {
		if err := m.placing.Resize(ctx, need); err != nil {
			return nil, err
		}
	}
	var err error
	m.positions, err = s.decode(block, frequencies, m.positions[:0])
	return m.positions, err
}

// writeDocuments copies the documents.
func (m *merger) writeDocuments(ctx context.Context) error {
	schema := documentSchema(m.total, m.params.OfElements())
	file, err := m.out.Create(ctx, m.names.name("docs"), schema)
	if err != nil {
		return err
	}
	for _, s := range m.parts {
		docs := s.documents
		for from := int64(0); from < int64(s.count); from += documentStep {
			to := min(from+documentStep, int64(s.count))
			room, err := memory.Take(ctx, documentBytes*(to-from))
			if err != nil {
				return err
			}
			read, err := docs.File.ReadRange(ctx, docs.Fields, from, to)
			if err == nil {
				err = checkDocuments(schema, read)
			}
			if err == nil {
				err = file.Write(ctx, array.NewRecordBatch(schema, read, to-from))
			}
			room.Release()
			if err != nil {
				return fmt.Errorf("%s: %w", s.names.name("docs"), err)
			}
		}
	}
	return file.Close(ctx)
}

// checkDocuments verifies the types of columns of documents, and that they have no NULLs.
func checkDocuments(schema *arrow.Schema, columns []arrow.Array) error {
	for i, c := range columns {
		if f := schema.Field(i); c.NullN() > 0 || !arrow.TypeEqual(c.DataType(), f.Type) {
			return fmt.Errorf("%w: column %s of type %s", lance.ErrCorrupt, f.Name, c.DataType())
		}
	}
	return nil
}
