package fm

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"math/bits"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// A partition is complete once it has this many rows or bytes of text.
const (
	partitionRows  = 10_000
	partitionBytes = 16 << 20
)

// bytesPerByte bounds the memory for indexing one byte of text: the text, the suffix array, its sort, the
// transform and the tree.
const bytesPerByte = 12

// bytesPerRow bounds the memory for the metadata of one row, in binary and as digits.
const bytesPerRow = 96

// Build writes the files of a segment. Each batch of rows has two columns: values of type t, and the
// address of each row. Types that do not fit are lance.ErrUnsupported, and so is a row of 2 GiB.
func Build(ctx context.Context, t arrow.DataType, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error {
	if !Fits(t) {
		return fmt.Errorf("%w: an index of texts on values of type %s", lance.ErrUnsupported, t)
	}
	_, part, err := memory.Bounded(ctx, memory.FromContext(ctx).Limit()/2) // the rest is for reads and files
	if err != nil {
		return err
	}
	defer part.Close()
	b := &builder{out: out, share: part, ended: make(chan error), open: &texts{}}
	defer func() {
		for b.running > 0 {
			_ = b.wait()
		}
		b.open.held.Release()
	}()
	for batch, err := range rows {
		if err == nil {
			err = b.add(ctx, batch)
		}
		if err != nil {
			return err
		}
	}
	if len(b.open.rows) > 0 || b.partitions == 0 {
		if err := b.end(ctx); err != nil {
			return err
		}
	}
	for b.running > 0 {
		if err := b.wait(); err != nil {
			return err
		}
	}
	return nil
}

// texts are the rows of a partition that is being built.
type texts struct {
	bytes  []byte // the text, see the package
	rows   []uint64
	starts []uint64
	held   memory.Hold // memory for indexing them
}

// A builder divides rows among partitions, and indexes several partitions in parallel.
type builder struct {
	out        index.Output
	share      *memory.Share // of the texts
	writing    sync.Mutex    // held while a file is written
	open       *texts        // of the partition that gets rows
	partitions int           // complete partitions before the open one
	running    int           // partitions that are being indexed
	ended      chan error    // the end of each of these
}

// wait waits until a partition is indexed.
func (b *builder) wait() error {
	err := <-b.ended
	b.running--
	return err
}

// add adds rows to partitions.
func (b *builder) add(ctx context.Context, batch arrow.RecordBatch) error {
	values, addresses := batch.Column(0), batch.Column(1).(*array.Uint64)
	for i := range values.Len() {
		if values.IsNull(i) {
			continue
		}
		value := bytesAt(values, i)
		if err := b.makeRoom(ctx, len(value)); err != nil {
			return err
		}
		x := b.open
		x.rows, x.starts = append(x.rows, addresses.Value(i)), append(x.starts, uint64(len(x.bytes)))
		x.bytes = append(appendText(x.bytes, value), endOfRow)
		if len(x.rows) == partitionRows || len(x.bytes) >= partitionBytes {
			if err := b.end(ctx); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func bytesAt(values arrow.Array, i int) []byte {
	switch values := values.(type) {
	case *array.String:
		return []byte(values.Value(i))
	case *array.LargeString:
		return []byte(values.Value(i))
	case *array.Binary:
		return values.Value(i)
	}
	return values.(*array.LargeBinary).Value(i)
}

// heldAhead is the memory in bytes that is reserved for rows to come.
const heldAhead = 1 << 20

// makeRoom reserves memory for a row of n bytes. If none is available, it waits for running partitions to
// finish, or completes the open one.
func (b *builder) makeRoom(ctx context.Context, n int) error {
	for {
		x := b.open
		if int64(len(x.bytes))+int64(n)+2 > maxText {
			return fmt.Errorf("%w: an FM index of a row of %d bytes", lance.ErrUnsupported, n)
		}
		need := bytesPerByte*int64(len(x.bytes)+n+2) + bytesPerRow*int64(len(x.rows)+1)
		if need <= x.held.Bytes() || x.held.TryResize(memory.WithShare(ctx, b.share), need+heldAhead) {
			return nil
		}
		var err error
		switch {
		case b.running > 0:
			err = b.wait()
		case len(x.rows) > 0:
			err = b.end(ctx)
		default: // a row that needs more than half of the memory
			x.held = memory.Hold{}
			return x.held.Resize(ctx, need)
		}
		if err != nil {
			return err
		}
	}
}

// end starts to index the open partition, and opens the next one.
func (b *builder) end(ctx context.Context) error {
	if b.partitions == maxPartitions {
		return errPartitions
	}
	for b.running >= runtime.GOMAXPROCS(0) {
		if err := b.wait(); err != nil {
			return err
		}
	}
	x, name := b.open, FileName(b.partitions)
	b.open = &texts{}
	b.partitions++
	b.running++
	go func() {
		err := b.index(ctx, x, name)
		x.held.Release()
		b.ended <- err
	}()
	return nil
}

// index writes the file of a partition.
func (b *builder) index(ctx context.Context, x *texts, name string) (err error) {
	defer index.Contain(&err)
	t, samples := &tree{}, []uint64(nil)
	if len(x.rows) > 0 {
		if t, samples, err = transform(ctx, append(x.bytes, endOfText)); err != nil {
			return err
		}
	}
	b.writing.Lock()
	defer b.writing.Unlock()
	file, err := b.out.Create(ctx, name, fileSchema)
	if err != nil {
		return err
	}
	rows := blocks{file: file}
	for i, n := range t.nodes {
		if err := rows.add(ctx, uint32(i), n.bits.words, n.bits.size); err != nil {
			return err
		}
	}
	nodeRows := rows.count
	if len(samples) > 0 {
		if err := rows.add(ctx, sampleNode, samples, len(samples)); err != nil {
			return err
		}
	}
	number := func(key string, n int) { file.SetMetadata(key, strconv.Itoa(n)) }
	digits := func(key string, b []byte) { file.SetMetadata(key, hex.EncodeToString(b)) }
	number(nodesKey, len(t.nodes))
	number(textLenKey, t.before[256])
	number(sampleRowsKey, rows.count-nodeRows)
	number(samplesKey, len(samples))
	number(nodeRowsKey, nodeRows)
	number(sampleRateKey, sampleRate)
	number(alphabetKey, 256)
	var counts []byte
	for _, n := range t.before {
		counts = binary.LittleEndian.AppendUint64(counts, uint64(n))
	}
	digits(countsKey, counts)
	digits(codesKey, t.encodedCodes())
	digits(shapeKey, t.shape())
	digits(rowsKey, encoded(x.rows))
	digits(startsKey, encoded(x.starts))
	return file.Close(ctx)
}

// transform returns the tree of a text, and its samples.
func transform(ctx context.Context, text []byte) (*tree, []uint64, error) {
	order := make([]int32, len(text))
	if err := sortSuffixes(ctx, text, 256, order); err != nil {
		return nil, nil, err
	}
	var counts [256]int
	for _, b := range text {
		counts[b]++
	}
	t := newTree(counts)
	for value, n := range counts {
		t.before[value+1] = t.before[value] + n
		for _, s := range t.codes[value] {
			t.nodes[s.node].bits.size += n
		}
	}
	for i := range t.nodes {
		v := &t.nodes[i].bits
		v.words, v.size = make([]uint64, (v.size+63)/64), 0
	}
	samples := make([]uint64, 0, (len(text)+sampleRate-1)/sampleRate)
	for i, at := range order {
		if i%sampleRate == 0 {
			samples = append(samples, uint64(at))
		}
		before := byte(endOfText)
		if at > 0 {
			before = text[at-1]
		}
		for _, s := range t.codes[before] {
			v := &t.nodes[s.node].bits
			v.words[v.size/64] |= uint64(s.bit) << (v.size % 64)
			v.size++
		}
	}
	return t, samples, ctx.Err()
}

// encoded returns numbers as little-endian bytes.
func encoded(numbers []uint64) []byte {
	b := make([]byte, 0, wordBytes*len(numbers))
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

var fileSchema = arrow.NewSchema([]arrow.Field{
	{Name: "node_id", Type: arrow.PrimitiveTypes.Uint32},
	{Name: "block_id", Type: arrow.PrimitiveTypes.Uint32},
	{Name: "words", Type: arrow.BinaryTypes.LargeBinary},
	{Name: "prefix_rank", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "bit_len", Type: arrow.PrimitiveTypes.Uint64},
}, nil)

// blocks are the rows of a file that is being written.
type blocks struct {
	file  index.FileWriter
	count int
}

// add writes words as rows of a node, or of the samples. size is the size of the node.
func (r *blocks) add(ctx context.Context, node uint32, words []uint64, size int) error {
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, fileSchema)
	defer b.Release()
	before := uint64(0)
	for block := range slices.Chunk(words, blockWords) {
		b.Field(0).(*array.Uint32Builder).Append(node)
		b.Field(1).(*array.Uint32Builder).Append(uint32(b.Field(0).Len() - 1))
		b.Field(2).(*array.BinaryBuilder).Append(encoded(block))
		b.Field(3).(*array.Uint64Builder).Append(before)
		b.Field(4).(*array.Uint64Builder).Append(uint64(size))
		if node != sampleNode {
			for _, word := range block {
				before += uint64(bits.OnesCount64(word))
			}
		}
	}
	rows := b.NewRecordBatch()
	r.count += int(rows.NumRows())
	return r.file.Write(ctx, rows)
}
