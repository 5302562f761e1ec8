// Package sortkey sorts values by byte keys. [Of] makes the keys: their byte order is the order of
// the values. Numbers are written with their most significant byte first, and texts so that none is
// a prefix of another. Floats follow their total order, as in native Lance: -NaN, -inf … -0, 0 … inf,
// NaN. A [Sorter] sorts more keys than memory holds.
package sortkey

import (
	"bufio"
	"bytes"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/process/scratch"
)

// NoLimit is the limit of a Sorter that keeps all keys.
const NoLimit = math.MaxInt64

// Overhead is the memory of a key in addition to its bytes.
const Overhead = 24

// A Sorter sorts keys and keeps the first ones. Keys that exceed the memory are written to a temporary file
// in sorted runs, which are merged at the end.
type Sorter struct {
	limit  int64 // number of keys to keep; NoLimit for all
	budget int64
	share  *memory.Share
	spare  memory.Spare // accounts for the keys in the share
	held   int64        // bytes taken from spare

	keys  [][]byte
	added [][][]byte // keys that are not among keys yet
	count int64      // of both
	pairs sortedPairs
	bytes int64 // size of keys and pairs
	file  *os.File
	runs  []int64 // the end of each run in the file
}

// NewSorter returns a Sorter whose keys take up to budget bytes, or less if the share of the context has
// less free memory. It leaves half of the share's limit to other work.
func NewSorter(ctx context.Context, limit, budget int64) *Sorter {
	share := memory.FromContext(ctx)
	return &Sorter{limit: limit, budget: budget, share: share, spare: memory.NewSpare(share)}
}

// leastSortBytes of keys stay in memory even if the share has none free.
const leastSortBytes = 1 << 20

// hold reserves memory for the keys, and reports whether it was available.
func (s *Sorter) hold() bool {
	more := s.bytes - s.held
	if more < 0 {
		s.spare.Give(-more)
		s.spare.Trim()
	} else if !s.spare.Take(more) {
		return s.bytes <= leastSortBytes
	}
	s.held = s.bytes
	return true
}

// Add adds keys, which must not change afterwards.
func (s *Sorter) Add(keys [][]byte) error {
	s.added, s.count = append(s.added, keys), s.count+int64(len(keys))
	for _, k := range keys {
		s.bytes += int64(len(k)) + Overhead
	}
	if s.limit < s.count/2 {
		s.cut()
	}
	return s.fit()
}

// fit spills what the sorter holds if it takes too much memory.
func (s *Sorter) fit() error {
	if s.bytes <= s.budget && s.hold() {
		return nil
	}
	if s.cut(); s.bytes <= s.budget/2 && s.hold() {
		return nil
	}
	return s.spill()
}

// cut sorts the keys in memory, and drops the keys beyond the limit with their memory.
func (s *Sorter) cut() {
	if len(s.added) > 0 {
		s.keys = slices.Concat(append([][][]byte{s.keys}, s.added...)...)
		s.added = nil
	}
	if extra := radixBytes * int64(len(s.keys)); len(s.keys) >= fewKeys && s.share.Try(extra) {
		s.keys = sortByPrefix(s.keys)
		s.share.Give(extra)
	} else {
		slices.SortFunc(s.keys, bytes.Compare)
	}
	s.keys, s.bytes = firstSorted(s.keys, s.limit)
	s.count = int64(len(s.keys))
	s.pairs.sort(s.share)
	s.bytes += s.pairs.bytes()
}

// First sorts keys and returns the first ones and their size. If it drops keys, it copies the remaining
// ones, so that the memory of the others can be freed.
func First(keys [][]byte, limit int64) (first [][]byte, size int64) {
	slices.SortFunc(keys, bytes.Compare)
	return firstSorted(keys, limit)
}

// firstSorted is First of sorted keys.
func firstSorted(keys [][]byte, limit int64) (first [][]byte, size int64) {
	first = keys[:min(int64(len(keys)), limit)]
	for _, k := range first {
		size += int64(len(k))
	}
	if len(first) < len(keys) {
		block, copied := make([]byte, 0, size), make([][]byte, len(first))
		for i, k := range first {
			start := len(block)
			block = append(block, k...)
			copied[i] = block[start:len(block):len(block)]
		}
		first = copied
	}
	return first, size + Overhead*int64(len(first))
}

// spill writes the sorted keys in memory to the file as another run.
func (s *Sorter) spill() error {
	if s.file == nil {
		file, err := scratch.File()
		if err != nil {
			return err
		}
		s.file = file
	}
	keys, pairs := &sortedRun{keys: s.keys}, &sortedRun{pairs: s.pairs.all, width: s.pairs.width}
	for _, run := range []*sortedRun{keys, pairs} {
		if err := s.write(run); err != nil {
			return fmt.Errorf("sort in a temporary file: %w", err)
		}
	}
	s.keys, s.bytes, s.count = nil, 0, 0
	s.pairs.drop()
	s.hold()
	return nil
}

// write appends a run to the file, unless the run is empty.
func (s *Sorter) write(run *sortedRun) error {
	w := bufio.NewWriterSize(s.file, 1<<20)
	written := int64(0)
	var size [binary.MaxVarintLen64]byte
	for {
		more, err := run.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		n := binary.PutUvarint(size[:], uint64(len(run.key)))
		// The writer keeps its first error for Flush.
		_, _ = w.Write(size[:n])
		_, _ = w.Write(run.key)
		written += int64(n + len(run.key))
	}
	if err := w.Flush(); err != nil || written == 0 {
		return err
	}
	s.runs = append(s.runs, s.Spilled()+written)
	return nil
}

// Spilled returns the size of the file in bytes.
func (s *Sorter) Spilled() int64 {
	if len(s.runs) == 0 {
		return 0
	}
	return s.runs[len(s.runs)-1]
}

// Close drops the keys and the file.
func (s *Sorter) Close() {
	s.spare.Release()
	s.keys, s.added, s.count, s.bytes, s.held = nil, nil, 0, 0, 0
	s.pairs.drop()
	if s.file != nil {
		_ = s.file.Close() // the file was only read since its last write
		s.file = nil
	}
}

// Sorted yields the keys in order, once. A key is valid until the next one.
func (s *Sorter) Sorted() iter.Seq2[[]byte, error] {
	s.cut()
	if s.file == nil && len(s.pairs.all) == 0 {
		return func(yield func([]byte, error) bool) {
			defer s.Close()
			for _, k := range s.keys {
				if !yield(k, nil) {
					return
				}
			}
		}
	}
	return func(yield func([]byte, error) bool) {
		defer s.Close()
		runs, err := s.open()
		if err != nil {
			yield(nil, err)
			return
		}
		for left := s.limit; left > 0 && len(runs) > 0; left-- {
			first := runs[0]
			if !yield(first.key, nil) {
				return
			}
			more, err := first.next()
			switch {
			case more && len(runs) == 1:
			case err != nil:
				yield(nil, err)
				return
			case more:
				heap.Fix(&runs, 0)
			default:
				heap.Pop(&runs)
			}
		}
	}
}

// open starts to read all runs, including the one in memory.
func (s *Sorter) open() (mergedRuns, error) {
	var runs mergedRuns
	from := int64(0)
	for _, end := range s.runs {
		runs = append(runs, &sortedRun{in: bufio.NewReaderSize(io.NewSectionReader(s.file, from, end-from), runBuffer)})
		from = end
	}
	runs = append(runs, &sortedRun{keys: s.keys}, &sortedRun{pairs: s.pairs.all, width: s.pairs.width})
	kept := runs[:0]
	for _, r := range runs {
		more, err := r.next()
		if err != nil {
			return nil, err
		}
		if more {
			kept = append(kept, r)
		}
	}
	heap.Init(&kept)
	return kept, nil
}

// runBuffer is the size of the read buffer of a run.
const runBuffer = 64 << 10

// A sortedRun is a run that is being read, from the file or from memory.
type sortedRun struct {
	key   []byte // the current key
	in    *bufio.Reader
	keys  [][]byte
	pairs []pair
	width int // bytes of a value of pairs
}

// next moves to the next key and reports whether there is one.
func (r *sortedRun) next() (bool, error) {
	if len(r.pairs) > 0 {
		r.key, r.pairs = r.pairs[0].appendKey(r.key[:0], r.width), r.pairs[1:]
		return true, nil
	}
	if r.in == nil {
		if len(r.keys) == 0 {
			return false, nil
		}
		r.key, r.keys = r.keys[0], r.keys[1:]
		return true, nil
	}
	size, err := binary.ReadUvarint(r.in)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err == nil {
		r.key = slices.Grow(r.key[:0], int(size))[:size]
		_, err = io.ReadFull(r.in, r.key)
	}
	if err != nil {
		return false, fmt.Errorf("read back a sorted run: %w", err)
	}
	return true, nil
}

// mergedRuns is a heap of runs, ordered by their current keys.
type mergedRuns []*sortedRun

func (m mergedRuns) Len() int           { return len(m) }
func (m mergedRuns) Less(i, j int) bool { return bytes.Compare(m[i].key, m[j].key) < 0 }
func (m mergedRuns) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }

// Push is never called: the number of runs only shrinks.
func (m *mergedRuns) Push(x any) { *m = append(*m, x.(*sortedRun)) }

// Pop removes the last run.
func (m *mergedRuns) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
