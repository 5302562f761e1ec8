package merge

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/process/scratch"
)

// This file matches rows when there are too many keys for a map. It is a hash join on disk: the
// keys of the source and of the table are divided into buckets by their hashes, so that one bucket
// at a time fits into a map.

// A rowKey is a 128-bit hash of a row's key with random seeds. A collision is less likely than an
// undetected disk error, so keys with equal hashes count as equal.
type rowKey [2]uint64

// keyed is the key of a row with the row itself: a number in the source, or an address in the
// table.
type keyed struct {
	key rowKey
	row uint64
}

const keyedBytes = 24

// A keyHash computes the rowKeys of one merge.
type keyHash struct{ a, b maphash.Seed }

// of returns the keys of the rows without a null in their key columns. rows returns the row at a
// position. nulls are the rows with a null. The memory of the result is charged to the context, for
// the case that each row has a key and matches nothing.
func (h keyHash) of(ctx context.Context, columns []arrow.Array, rows func(i int) uint64) (keys []keyed, nulls []uint64, err error) {
	readers, err := newKeyReaders(columns)
	if err != nil {
		return nil, nil, err
	}
	if _, err := memory.Take(ctx, (keyedBytes+2*addressBytes)*int64(columns[0].Len())); err != nil {
		return nil, nil, err
	}
	var buffer []byte
	key := onceAValue(columns, func(i int) rowKey {
		buffer = readers.text(buffer[:0], i)
		return rowKey{maphash.Bytes(h.a, buffer), maphash.Bytes(h.b, buffer)}
	})
	keys = make([]keyed, 0, columns[0].Len())
	for i := range columns[0].Len() {
		if err := readers.look(ctx); err != nil {
			return nil, nil, err
		}
		// A null key matches nothing.
		if readers.null(i) {
			nulls = append(nulls, rows(i))
			continue
		}
		keys = append(keys, keyed{key(i), rows(i)})
	}
	return keys, nulls, nil
}

// buckets divides keys by their hashes and stores them in a file. Each bucket has a small buffer;
// when it is full, it becomes the next chunk of the file.
type buckets struct {
	file   *os.File
	chunks int64 // number of chunks in the file
	each   []bucket
}

// A bucket is the keys with certain hashes: chunks are their positions in the file, in units of
// chunkBytes.
type bucket struct {
	pending []byte
	chunks  []int64
}

const chunkBytes = keyedBytes << 10

// newBuckets returns n empty buckets. Their memory is charged to the context.
func newBuckets(ctx context.Context, n int) (*buckets, error) {
	if _, err := memory.Take(ctx, chunkBytes*int64(n)); err != nil {
		return nil, err
	}
	file, err := scratch.File()
	if err != nil {
		return nil, err
	}
	return &buckets{file: file, each: make([]bucket, n)}, nil
}

func (b *buckets) close() { _ = b.file.Close() } // the file is no longer needed

// add adds a key to its bucket.
func (b *buckets) add(k keyed) error {
	to := &b.each[k.key[0]%uint64(len(b.each))]
	if to.pending == nil {
		to.pending = make([]byte, 0, chunkBytes)
	}
	to.pending = binary.LittleEndian.AppendUint64(to.pending, k.key[0])
	to.pending = binary.LittleEndian.AppendUint64(to.pending, k.key[1])
	to.pending = binary.LittleEndian.AppendUint64(to.pending, k.row)
	if len(to.pending) < chunkBytes {
		return nil
	}
	if _, err := b.file.WriteAt(to.pending, b.chunks*chunkBytes); err != nil {
		return fmt.Errorf("write keys of a merge: %w", err)
	}
	to.chunks = append(to.chunks, b.chunks)
	b.chunks++
	to.pending = to.pending[:0]
	return nil
}

// rows returns the number of keys in a bucket.
func (b *buckets) rows(n int) int64 {
	return int64(len(b.each[n].chunks))*(chunkBytes/keyedBytes) + int64(len(b.each[n].pending)/keyedBytes)
}

// read calls f with the keys of a bucket, in the order in which they were added.
func (b *buckets) read(n int, f func(k keyed)) error {
	from := b.each[n]
	chunk := make([]byte, chunkBytes)
	for _, at := range from.chunks {
		if _, err := b.file.ReadAt(chunk, at*chunkBytes); err != nil {
			return fmt.Errorf("read keys of a merge back: %w", err)
		}
		eachKey(chunk, f)
	}
	eachKey(from.pending, f)
	return nil
}

// eachKey decodes keys.
func eachKey(b []byte, f func(k keyed)) {
	for ; len(b) >= keyedBytes; b = b[keyedBytes:] {
		f(keyed{
			rowKey{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])},
			binary.LittleEndian.Uint64(b[16:]),
		})
	}
}

// maxBuckets bounds the memory of buckets: 24 KiB each, for two sides.
const maxBuckets = 512

// A diskJoin is a running hash join.
type diskJoin struct {
	on     []string
	rest   bool // the caller needs unmatched
	hash   keyHash
	source *buckets
	table  *buckets
	filter keyFilter // avoids writing most rows of the table without a match

	pairs     *pairing
	next      []int32 // by source row, the next row with the same key
	unmatched *rowset.Set
	held      memory.Hold // memory of unmatched
}

// mapBytes is the memory of a source row in the map of its bucket, with its part of the chunk.
const mapBytes = 64

// matchOnDisk is like keys.match, for a source of many rows. The map of a bucket has about mapRows
// rows at most. The memory of the pairs is charged to the context.
func matchOnDisk(ctx context.Context, d *dataset.Dataset, source *Source, on []string, rest bool, mapRows int) (*pairing, *rowset.Set, error) {
	pairs, err := newPairing(ctx, source.rows)
	if err != nil {
		return nil, nil, err
	}
	inPart, part, err := memory.Within(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer part.Close()
	// This is the memory of the filter, and of the chains of rows with equal keys.
	if _, err := memory.Take(inPart, (2+4)*int64(source.rows)); err != nil {
		return nil, nil, err
	}
	n := min(4*(source.rows/mapRows+1), maxBuckets)
	j := &diskJoin{
		pairs: pairs, next: make([]int32, source.rows),
		on: on, rest: rest, hash: keyHash{maphash.MakeSeed(), maphash.MakeSeed()},
		filter: newKeyFilter(source.rows, 16), unmatched: rowset.At(),
	}
	if j.source, err = newBuckets(inPart, n); err != nil {
		return nil, nil, err
	}
	defer j.source.close()
	if j.table, err = newBuckets(inPart, n); err != nil {
		return nil, nil, err
	}
	defer j.table.close()
	if err := j.readSource(inPart, source); err != nil {
		return nil, nil, err
	}
	if err := j.readTable(ctx, d); err != nil {
		return nil, nil, err
	}
	for i := range n {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if err := j.joinBucket(ctx, i); err != nil {
			return nil, nil, err
		}
	}
	pairs.sort()
	return pairs, j.unmatched, nil
}

// readSource adds the keys of the source to buckets.
func (j *diskJoin) readSource(ctx context.Context, source *Source) error {
	for batch, err := range source.batches(ctx) {
		if err == nil {
			err = j.addSource(ctx, batch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addSource adds the keys of one batch.
func (j *diskJoin) addSource(ctx context.Context, batch sourceBatch) error {
	ctx, part, err := memory.Within(ctx)
	if err != nil {
		return err
	}
	defer part.Close()
	columns, err := batch.columns(j.on)
	if err != nil {
		return err
	}
	keys, _, err := j.hash.of(ctx, columns, func(i int) uint64 { return uint64(batch.first + i) })
	if err != nil {
		return err
	}
	for _, k := range keys {
		j.filter.add(k.key[1])
		if err := j.source.add(k); err != nil {
			return err
		}
	}
	return nil
}

// readTable adds the keys of the table to buckets, in parallel.
func (j *diskJoin) readTable(ctx context.Context, d *dataset.Dataset) error {
	type part struct {
		keys      []keyed
		unmatched []uint64
	}
	opts := snapshot.ScanOptions{Columns: append(append([]string{}, j.on...), snapshot.RowAddr)}
	parts, err := snapshot.Map(ctx, d.Snapshot, opts, func(ctx context.Context, batch arrow.RecordBatch) (part, error) {
		at := batch.Column(len(j.on)).(*array.Uint64).Uint64Values()
		all, unmatched, err := j.hash.of(ctx, batch.Columns()[:len(j.on)], func(i int) uint64 { return at[i] })
		keys := all[:0]
		// The filter has no false negatives, so a row that it rejects has no match.
		for _, k := range all {
			if j.filter.has(k.key[1]) {
				keys = append(keys, k)
			} else {
				unmatched = append(unmatched, k.row)
			}
		}
		if !j.rest {
			unmatched = nil
		}
		return part{keys, unmatched}, err
	})
	if err != nil {
		return err
	}
	for p, err := range parts {
		if err != nil {
			return err
		}
		if err := j.unmatched.AddHeld(ctx, &j.held, p.unmatched); err != nil {
			return err
		}
		for _, k := range p.keys {
			if err := j.table.add(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// joinBucket pairs the rows of one bucket.
func (j *diskJoin) joinBucket(ctx context.Context, n int) error {
	room, err := memory.Take(ctx, mapBytes*j.source.rows(n)+chunkBytes+addressBytes*batchRows)
	if err != nil {
		return err
	}
	defer room.Release()
	// Chain the source rows of the bucket by their keys.
	next := j.next
	first, last := map[rowKey]int32{}, map[int32]int32{}
	err = j.source.read(n, func(k keyed) {
		row := int32(k.row)
		next[row] = -1
		head, known := first[k.key]
		if !known {
			first[k.key] = row
			return
		}
		end, ok := last[head]
		if !ok {
			end = head
		}
		next[end], last[head] = row, row
	})
	if err != nil {
		return err
	}
	var unmatched []uint64
	looked, failed := 0, error(nil)
	// Take memory for the pairs and the unmatched rows so far.
	count := func() {
		if failed == nil {
			failed = errors.Join(j.pairs.count(ctx), j.unmatched.AddHeld(ctx, &j.held, unmatched))
		}
		unmatched = unmatched[:0]
	}
	// Look up the table rows of the bucket.
	err = j.table.read(n, func(k keyed) {
		if looked++; looked%batchRows == 0 {
			count()
		}
		if row, ok := first[k.key]; ok && failed == nil {
			j.pairs.add(k.row, row, next)
		} else if j.rest {
			unmatched = append(unmatched, k.row)
		}
	})
	count()
	return errors.Join(err, failed)
}
