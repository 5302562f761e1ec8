package inverted

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// partitionBytes bounds the memory of the documents of a partition before it is written, within the memory
// share.
const partitionBytes = 1 << 30

// A Builder writes a segment. Add may be called from several goroutines: each fills a collector of its own.
// When the collectors together exceed their memory, they are written as a partition. So the order of
// documents in a partition differs from the order of the rows.
type Builder struct {
	out    index.Output
	params fulltext.Params
	coding coding
	share  *memory.Share // holds the memory of the collectors

	free       chan *collector // idle collectors
	held       atomic.Int64    // bytes of all collectors
	writing    sync.Mutex      // serializes the writing of partitions
	first      uint64          // number of the first partition
	partitions []uint64
	sizes      Sizes
	written    atomic.Int64 // partitions
}

// Sizes are the summed sizes of some partitions.
type Sizes struct {
	Documents int64
	Postings  int64 // documents of all posting lists
	Bytes     int64 // of the files, about
	Terms     int64 // bytes of the terms in memory
}

// MergedBytes estimates the memory of [Merge] for partitions of these sizes: the terms, old and new, and
// the lengths of the documents.
func (s Sizes) MergedBytes() int64 { return 2*s.Terms + lengthBytes*s.Documents }

// Version returns the version of the format of a segment with some parameters: 2, or 3 if the posting
// lists have blocks of 256 documents or the documents are program text.
func Version(p *fulltext.Params) int32 {
	if p.BlockSize == maxBlock || p.BaseTokenizer == fulltext.CodeTokenizer {
		return 3
	}
	return 2
}

// NewBuilder begins a segment. Documents that are not written yet are accounted to the context's memory
// share.
func NewBuilder(ctx context.Context, analyzer *fulltext.Analyzer, out index.Output) *Builder {
	b := &Builder{out: out, params: *analyzer.Params(), share: memory.FromContext(ctx)}
	b.coding = coding{block: b.params.BlockSize, varint: true}
	b.free = make(chan *collector, runtime.GOMAXPROCS(0))
	for range cap(b.free) {
		b.free <- newCollector(analyzer)
	}
	return b
}

// NumberFrom sets the number of the first partition, which is 0 otherwise. Builders that write to the same
// segment must not have partitions with the same number.
func (b *Builder) NumberFrom(first uint64) { b.first = first }

// Documents are some documents to add.
type Documents struct {
	Rows     []uint64 // address or id of each row
	Elements []uint32 // their places in the lists of the rows, if documents are elements of lists; else nil
	// Text returns the text of document i. null is true if it has none.
	Text func(i int) (text string, null bool)
}

func (d *Documents) element(i int) uint32 {
	if d.Elements == nil {
		return 0
	}
	return d.Elements[i]
}

// Add adds documents.
func (b *Builder) Add(ctx context.Context, d Documents) error {
	ctx = memory.WithShare(ctx, b.share)
	for next, alone := 0, false; next < len(d.Rows); {
		written := b.written.Load()
		c, err := b.take(ctx)
		if err != nil {
			return err
		}
		from := next
		next, err = b.fill(ctx, c, &d, next, alone)
		b.free <- c
		if err != nil {
			return err
		}
		if next < len(d.Rows) {
			if err := b.flush(ctx, written); err != nil {
				return err
			}
			// Memory is available for one document only.
			alone = next == from
		}
	}
	return nil
}

// take waits for an idle collector.
func (b *Builder) take(ctx context.Context) (*collector, error) {
	select {
	case c := <-b.free:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fill adds documents from index i on to a collector while memory permits, and returns the index of the
// first one left. If wait is true, it waits for the memory of the first document.
func (b *Builder) fill(ctx context.Context, c *collector, d *Documents, i int, wait bool) (int, error) {
	held := c.held.Bytes()
	defer func() { b.held.Add(c.held.Bytes() - held) }()
	for ; i < len(d.Rows); i++ {
		if err := ctx.Err(); err != nil {
			return i, err
		}
		document, null := d.Text(i)
		if null {
			continue
		}
		if !wait && !b.room(ctx, c, held) {
			return i, nil
		}
		wait = false
		if err := c.add(ctx, d.Rows[i], d.element(i), document); err != nil {
			return i, err
		}
	}
	return i, nil
}

// room reserves memory for one more document if available. It leaves half of the share to the readers of
// texts and the writer of the partition. counted is the part of the collector's memory that b.held
// includes.
func (b *Builder) room(ctx context.Context, c *collector, counted int64) bool {
	need := c.size + growth
	more := need - c.held.Bytes()
	if more <= growth/2 {
		return true
	}
	if b.held.Load()+c.held.Bytes()-counted+more > partitionBytes {
		return false
	}
	left, ok := b.share.TryPart(more)
	if !ok {
		return false
	}
	left.Close()
	return c.held.TryResize(ctx, need)
}

// flush writes the documents of all collectors as a partition, unless another goroutine has written one
// since written was read.
func (b *Builder) flush(ctx context.Context, written int64) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	if b.written.Load() != written {
		return nil
	}
	var all []*collector
	defer func() {
		for _, c := range all {
			b.free <- c
		}
	}()
	for range cap(b.free) {
		c, err := b.take(ctx)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	return b.write(ctx, all)
}

// write writes the documents of collectors as a partition, if there are any, and empties the collectors.
func (b *Builder) write(ctx context.Context, all []*collector) error {
	w := &partitionWriter{
		out: b.out, names: partition{number: b.first + uint64(len(b.partitions))}, coding: b.coding, placed: b.params.WithPosition,
		metadata: formsOf(&b.params),
	}
	for _, c := range all {
		if len(c.rows) > 0 {
			w.collectors = append(w.collectors, c)
		}
	}
	if len(w.collectors) == 0 {
		return nil
	}
	if err := w.write(ctx); err != nil {
		return err
	}
	b.partitions = append(b.partitions, w.names.number)
	b.sizes.Documents += int64(w.corpus.documents)
	b.sizes.Postings += w.postings
	b.sizes.Terms += w.terms
	b.sizes.Bytes += w.bytes + w.terms + documentBytes*int64(w.corpus.documents)
	b.written.Add(1)
	for _, c := range all {
		b.held.Add(-c.held.Bytes())
		c.held.Release()
		*c = *newCollector(c.analyzer)
	}
	return nil
}

// formsOf returns the formats of posting lists, as recorded in the metadata of the files.
func formsOf(p *fulltext.Params) map[string]string {
	m := map[string]string{
		"posting_tail_codec": "varint_delta_v1", "posting_block_size": strconv.Itoa(p.BlockSize),
		"format_version": strconv.Itoa(int(Version(p))),
	}
	if p.WithPosition {
		m["positions_layout"], m["positions_codec"] = "shared_stream_v2", "packed_delta_v1"
	}
	return m
}

// Close writes the documents that are left, and the file that describes the segment.
func (b *Builder) Close(ctx context.Context) error {
	partitions, _, err := b.Flush(ctx)
	if err != nil {
		return err
	}
	return Describe(ctx, &b.params, partitions, b.out)
}

// Flush writes the remaining documents, and returns the numbers of all partitions. No documents may be
// added afterwards. [Describe] completes the segment.
func (b *Builder) Flush(ctx context.Context) ([]uint64, Sizes, error) {
	if err := b.flush(ctx, b.written.Load()); err != nil {
		return nil, Sizes{}, err
	}
	return b.partitions, b.sizes, nil
}

// Describe writes the metadata file of a segment with the given partitions, which Builders have written. No row, and
// no list element, has several documents in them.
func Describe(ctx context.Context, p *fulltext.Params, partitions []uint64, out index.Output) error {
	if len(partitions) > maxPartitions {
		return fmt.Errorf("%w: an index of %d partitions", lance.ErrUnsupported, len(partitions))
	}
	numbers, err := json.Marshal(append([]uint64{}, partitions...))
	if err != nil {
		return err
	}
	stored := *p
	stored.DocumentGranularity = "" // as in native Lance, only the manifest entry records it
	params, err := json.Marshal(&stored)
	if err != nil {
		return err
	}
	m := formsOf(p)
	m["partitions"], m["params"], m["token_set_format"] = string(numbers), string(params), automatonForm
	m[distinctKey] = "true"
	metadata := arrow.MetadataFrom(m)
	schema := arrow.NewSchema([]arrow.Field{{Name: "deleted_fragments", Type: arrow.BinaryTypes.Binary}}, &metadata)
	none, err := roaring.New().ToBytes()
	if err != nil {
		return err
	}
	column := array.NewBinaryBuilder(arrowmemory.DefaultAllocator, arrow.BinaryTypes.Binary)
	column.Append(none)
	return writeFile(ctx, out, metadataFile, array.NewRecordBatch(schema, []arrow.Array{column.NewArray()}, 1))
}

// Release releases the memory of documents that were not written.
func (b *Builder) Release() {
	for range cap(b.free) {
		(<-b.free).held.Release()
	}
}
