package fm

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// The name of a partition's file has its number between these.
const fileStart, fileEnd = "part_", "_fm.lance"

const (
	blockWords = 4096           // of a row of the file
	sampleRate = 32             // suffixes to a sample
	sampleNode = math.MaxUint32 // the node of rows with samples
	wordBytes  = 8
)

// maxText bounds the text of a partition in bytes, because positions have 31 bits.
const maxText = math.MaxInt32 - 1

// The entries of a file's metadata.
const (
	textLenKey, samplesKey, sampleRateKey = "bwt_len", "sa_samples_len", "sa_sample_rate"
	nodesKey, nodeRowsKey, sampleRowsKey  = "num_bwt_nodes", "total_wavelet_rows", "num_sa_blocks"
	alphabetKey, countsKey, codesKey      = "alphabet_size", "c_table", "huffman_codes"
	shapeKey, rowsKey, startsKey          = "tree_topology", "row_ids", "doc_start_positions"
)

// A head holds the metadata of a partition's file.
type head struct {
	size    int     // of the text
	samples int     // number of samples
	shape   []byte  // of the tree, see parseShape
	before  []int64 // number of text bytes less than each of 0 to 256
	rows    []uint64
	starts  []int64 // where the text of each row begins
}

// parseHead parses the metadata of a partition file. A sample rate other than sampleRate is
// lance.ErrUnsupported.
func parseHead(words map[string]string) (*head, error) {
	h := &head{}
	var err error
	number := func(key string) int64 {
		n, failed := strconv.ParseInt(words[key], 10, 64)
		if (failed != nil || n < 0) && err == nil {
			err = fmt.Errorf("%w: %s is %.40q", lance.ErrCorrupt, key, words[key])
		}
		return n
	}
	digits := func(key string) []byte {
		b, failed := hex.DecodeString(words[key])
		if failed != nil && err == nil {
			err = fmt.Errorf("%w: %s: %w", lance.ErrCorrupt, key, failed)
		}
		return b
	}
	size, samples, rate := number(textLenKey), number(samplesKey), int64(sampleRate)
	if words[sampleRateKey] != "" {
		rate = number(sampleRateKey)
	}
	h.shape = digits(shapeKey)
	h.before, h.starts = numbers[int64](digits(countsKey)), numbers[int64](digits(startsKey))
	h.rows = numbers[uint64](digits(rowsKey))
	switch {
	case err != nil:
		return nil, err
	case size > maxText || rate != sampleRate:
		return nil, fmt.Errorf("%w: a text of %d bytes with a sample for %d suffixes", lance.ErrUnsupported, size, rate)
	case samples != (size+sampleRate-1)/sampleRate || len(h.starts) != len(h.rows) || len(h.before) != 257:
		return nil, fmt.Errorf("%w: %d samples, %d rows, %d texts and %d counts for %d bytes", lance.ErrCorrupt,
			samples, len(h.rows), len(h.starts), len(h.before), size)
	}
	h.size, h.samples = int(size), int(samples)
	for i, at := range h.starts {
		if i == 0 && at != 0 || i > 0 && at <= h.starts[i-1] || at >= size {
			return nil, fmt.Errorf("%w: text %d begins at %d", lance.ErrCorrupt, i, at)
		}
	}
	return h, nil
}

// numbers decodes little-endian numbers of 64 bits. Bytes that are left over are lost.
func numbers[T int64 | uint64](b []byte) []T {
	all := make([]T, 0, len(b)/wordBytes)
	for ; len(b) >= wordBytes; b = b[wordBytes:] {
		all = append(all, T(binary.LittleEndian.Uint64(b)))
	}
	return all
}

// bytes estimates the memory of the head.
func (h *head) bytes() int64 { return int64(16*len(h.rows) + len(h.shape) + 257*wordBytes) }

// expected returns the expected number of occurrences of a pattern in the text.
func (h *head) expected(pattern string) float64 {
	n := float64(h.size)
	for i := range len(pattern) {
		n *= float64(h.before[int(pattern[i])+1]-h.before[pattern[i]]) / float64(max(h.size, 1))
	}
	return max(n, 0)
}

// A partition is some rows of a segment.
type partition struct {
	files index.Files
	name  string
	head  *head
}

// open reads the head.
func (p *partition) open(ctx context.Context) error {
	kept, err := p.files.Keep(p.name+" head", func() (any, int64, error) {
		file, err := p.files.Open(ctx, p.name)
		if err != nil {
			return nil, 0, err
		}
		s, err := file.Schema(ctx)
		if err != nil {
			return nil, 0, err
		}
		size := int64(0)
		for _, value := range s.Metadata {
			size += int64(len(value)) // decoded, the digits take half of it
		}
		held, err := memory.Take(ctx, size)
		if err != nil {
			return nil, 0, err
		}
		defer held.Release()
		h, err := parseHead(s.Metadata)
		if err != nil {
			return nil, 0, err
		}
		return h, h.bytes(), nil
	})
	if err == nil {
		p.head = kept.(*head)
	}
	return err
}

// A body holds the tree and the samples, which locate patterns in the text of a partition.
type body struct {
	tree    *tree
	samples []uint32
}

// read returns the body, cached or read from storage. Its memory is accounted to the context's share.
func (p *partition) read(ctx context.Context) (*body, error) {
	kept, err := p.files.Keep(p.name+" body", func() (any, int64, error) {
		file, err := p.files.Open(ctx, p.name)
		if err != nil {
			return nil, 0, err
		}
		columns, err := index.ColumnsOf(ctx, file, "node_id", "words", "bit_len")
		if err != nil {
			return nil, 0, err
		}
		b, err := p.readBody(ctx, columns)
		if err != nil {
			return nil, 0, err
		}
		return b, b.tree.bytes() + 4*int64(len(b.samples)), nil
	})
	if err != nil {
		return nil, err
	}
	return kept.(*body), nil
}

// rowsAtOnce is the number of rows of a file that one read fetches: 8 MiB of words.
const rowsAtOnce = 256

// readBody reads the rows of a partition file to the tree and the samples, rowsAtOnce at a time. It checks
// the number of samples and that each is a position in the text.
func (p *partition) readBody(ctx context.Context, columns *index.Columns) (*body, error) {
	t, err := parseShape(p.head.shape)
	if err != nil {
		return nil, err
	}
	if err := memory.FromContext(ctx).Take(ctx, 4*int64(p.head.samples)); err != nil {
		return nil, err
	}
	b := &body{tree: t, samples: make([]uint32, 0, p.head.samples)}
	for from := int64(0); from < columns.File.NumRows(); from += rowsAtOnce {
		if err := p.readRows(ctx, b, columns, from, min(from+rowsAtOnce, columns.File.NumRows())); err != nil {
			return nil, err
		}
	}
	if len(b.samples) != p.head.samples {
		return nil, fmt.Errorf("%w: %d samples, want %d", lance.ErrCorrupt, len(b.samples), p.head.samples)
	}
	for _, at := range b.samples {
		if int(at) >= p.head.size {
			return nil, fmt.Errorf("%w: a suffix at %d of %d", lance.ErrCorrupt, at, p.head.size)
		}
	}
	return b, t.finish(ctx, p.head.size)
}

// readRows adds some rows of the file to the body.
func (p *partition) readRows(ctx context.Context, b *body, columns *index.Columns, from, to int64) error {
	reading, room, err := memory.Within(ctx)
	if err != nil {
		return err
	}
	defer room.Close()
	read, err := columns.Read(reading, from, to)
	if err != nil {
		return err
	}
	nodes, ok := read[0].(*array.Uint32)
	words, alsoOK := read[1].(*array.LargeBinary)
	lengths, andOK := read[2].(*array.Uint64)
	if !ok || !alsoOK || !andOK || nodes.NullN()+words.NullN()+lengths.NullN() > 0 {
		return fmt.Errorf("%w: columns of types %s, %s and %s", lance.ErrCorrupt, read[0].DataType(), read[1].DataType(), read[2].DataType())
	}
	for i := range words.Len() {
		block := words.Value(i)
		if len(block)%wordBytes != 0 || len(block) > blockWords*wordBytes {
			return fmt.Errorf("%w: a block of %d bytes", lance.ErrCorrupt, len(block))
		}
		if node := nodes.Value(i); node == sampleNode {
			err = p.addSamples(b, block)
		} else {
			err = p.addBits(ctx, b, node, lengths.Value(i), block)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addSamples adds a block of samples.
func (p *partition) addSamples(b *body, block []byte) error {
	if len(b.samples)+len(block)/wordBytes > p.head.samples {
		return fmt.Errorf("%w: more than %d samples", lance.ErrCorrupt, p.head.samples)
	}
	for ; len(block) > 0; block = block[wordBytes:] {
		b.samples = append(b.samples, uint32(min(binary.LittleEndian.Uint64(block), math.MaxUint32)))
	}
	return nil
}

// addBits adds a block of a node. size is the number of bits of the node.
func (p *partition) addBits(ctx context.Context, b *body, node uint32, size uint64, block []byte) error {
	if int64(node) >= int64(len(b.tree.nodes)) || size > uint64(p.head.size) {
		return fmt.Errorf("%w: node %d of %d bits", lance.ErrCorrupt, node, size)
	}
	v, words := &b.tree.nodes[node].bits, int((size+63)/64)
	if v.words == nil {
		if err := memory.FromContext(ctx).Take(ctx, int64(words)*wordBytes); err != nil {
			return err
		}
		v.words, v.size = make([]uint64, 0, words), int(size)
	}
	if v.size != int(size) || len(v.words)+len(block)/wordBytes > words {
		return fmt.Errorf("%w: node %d has more than %d bits", lance.ErrCorrupt, node, v.size)
	}
	for ; len(block) > 0; block = block[wordBytes:] {
		v.words = append(v.words, binary.LittleEndian.Uint64(block))
	}
	return nil
}

// bytesPerStep is the number of text bytes that a scan examines in the time of one backward step of a
// search, about.
const bytesPerStep = 256

// search returns the addresses of the rows that contain all patterns, ascending. If locating the matches
// would take longer than scanning all texts, it returns all rows, and exact is false.
func (p *partition) search(ctx context.Context, patterns []string) (rows []uint64, exact bool, err error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, false, err
	}
	defer room.Close()
	if p.head.size == 0 {
		return nil, true, nil
	}
	b, err := p.read(ctx)
	if err != nil {
		return nil, false, err
	}
	steps, exact := p.head.size/bytesPerStep+blockWords, true
	var found []int32
	for i, pattern := range patterns {
		texts, ok, err := p.textsWith(ctx, b, pattern, &steps)
		switch {
		case err != nil:
			return nil, false, err
		case i == 0:
			found = texts
		default:
			found = common(found, texts)
		}
		exact = exact && ok
	}
	for _, text := range found {
		rows = append(rows, p.head.rows[text])
	}
	slices.Sort(rows)
	return rows, exact, nil
}

// textsWith returns the ascending numbers of the texts that contain a pattern. If that exceeds the
// remaining steps, it returns all texts and false.
func (p *partition) textsWith(ctx context.Context, b *body, pattern string, steps *int) ([]int32, bool, error) {
	from, to := b.tree.find(pattern)
	seen := make([]bool, len(p.head.rows))
	ok := true
	for i := from; i < to && ok; i++ {
		if i%blockWords == 0 && ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		var at int64
		if at, ok = p.place(b, i, steps); ok {
			text, isStart := slices.BinarySearch(p.head.starts, at)
			if !isStart {
				text--
			}
			if text >= 0 {
				seen[text] = true
			}
		}
	}
	var texts []int32
	for text, has := range seen {
		if has || !ok {
			texts = append(texts, int32(text))
		}
	}
	return texts, ok, nil
}

// place returns the position in the text of the suffix with the given rank. It steps backwards through the
// text to the next sampled suffix.
func (p *partition) place(b *body, suffix int, steps *int) (int64, bool) {
	for back := 0; ; back++ {
		if suffix%sampleRate == 0 {
			return (int64(b.samples[suffix/sampleRate]) + int64(back)) % int64(p.head.size), true
		}
		if *steps--; *steps < 0 {
			return 0, false
		}
		suffix = b.tree.previous(suffix)
	}
}
