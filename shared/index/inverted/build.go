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

	"tiltyard/shared/fulltext"
	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/memory"
)

// partitionBytes is how much memory the documents of a partition take at most before it is written, if
// the share has so much.
const partitionBytes = 1 << 30

// A Builder writes a segment. Add may be called from several goroutines: each fills a collector of its
// own. When these take too much memory together, they are written as a partition. So the order of
// the documents in a partition is not that of the rows.
type Builder struct {
	out    index.Output
	params fulltext.Params
	coding coding
	share  *memory.Share // holds the memory of the collectors

	free       chan *collector // those that no goroutine fills
	held       atomic.Int64    // bytes of all of them
	writing    sync.Mutex      // one partition at a time
	first      uint64          // number of the first partition
	partitions []uint64
	sizes      Sizes
	written    atomic.Int64 // partitions
}

// Sizes are those of partitions together.
type Sizes struct {
	Documents int64
	Postings  int64 // documents of all posting lists
	Bytes     int64 // of the files, about
	Terms     int64 // bytes of the terms, as they are in memory
}

// MergedBytes returns about how much memory [Merge] needs as long as it works, for partitions of these sizes: the terms,
// those of the new partition too, and the lengths of the documents.
func (s Sizes) MergedBytes() int64 { return 2*s.Terms + lengthBytes*s.Documents }

// Version returns the version of the format of a segment with some parameters: 2, or 3 if the posting
// lists have blocks of 256 documents or the documents are program text.
func Version(p *fulltext.Params) int32 {
	if p.BlockSize == maxBlock || p.BaseTokenizer == fulltext.CodeTokenizer {
		return 3
	}
	return 2
}

// NewBuilder begins a segment. The memory of the documents that are not written yet is of the share of
// the context.
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
	Rows     []uint64 // what the segment stores of their rows
	Elements []uint32 // their places in the lists of the rows, if documents are elements of lists; else nil
	// Text returns the text of a document, and whether there is none.
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
			// Then there is no more memory to be had than for one document.
			alone = next == from
		}
	}
	return nil
}

// take returns a collector that no other goroutine fills.
func (b *Builder) take(ctx context.Context) (*collector, error) {
	select {
	case c := <-b.free:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fill adds documents from the i-th on to a collector while there is memory, and returns the first one that
// is left. For the first it waits for memory if that is asked for.
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

// room takes memory for a further document if there is some to spare. It leaves half of the share to
// others: those that read the texts, and those that write the partition. counted is how much of the
// memory of the collector b.held has.
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

// flush writes what all collectors hold as a partition, unless another goroutine has done so since there
// were so many partitions.
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

// write writes what collectors hold as a partition, if they hold something, and empties them.
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

// formsOf returns how posting lists are written, as the metadata of the files name it.
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

// Flush writes the documents that are left, and returns the numbers of all partitions. Nothing may be
// added any more. [Describe] completes the segment.
func (b *Builder) Flush(ctx context.Context) ([]uint64, Sizes, error) {
	if err := b.flush(ctx, b.written.Load()); err != nil {
		return nil, Sizes{}, err
	}
	return b.partitions, b.sizes, nil
}

// Describe writes the file that describes a segment of some partitions, which Builders have written.
func Describe(ctx context.Context, p *fulltext.Params, partitions []uint64, out index.Output) error {
	if len(partitions) > maxPartitions {
		return fmt.Errorf("%w: an index of %d partitions", lance.ErrUnsupported, len(partitions))
	}
	numbers, err := json.Marshal(append([]uint64{}, partitions...))
	if err != nil {
		return err
	}
	stored := *p
	stored.DocumentGranularity = "" // as in native Lance, only the entry in the manifest has it
	params, err := json.Marshal(&stored)
	if err != nil {
		return err
	}
	m := formsOf(p)
	m["partitions"], m["params"], m["token_set_format"] = string(numbers), string(params), "fst"
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

// Release gives back the memory of documents that were not written.
func (b *Builder) Release() {
	for range cap(b.free) {
		(<-b.free).held.Release()
	}
}
