package engine

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
	"os"
	"slices"

	"tiltyard/shared/memory"
)

// sortBytes is how much of its keys a sorter holds in memory.
const sortBytes = 64 << 20

// keyOverhead is what a key occupies beside its bytes.
const keyOverhead = 24

// A sorter puts keys in order and keeps the first of them. What does not fit into memory it
// writes to a temporary file, sorted in runs that it merges at the end.
type sorter struct {
	limit  int64 // how many keys are wanted, noLimit for all
	budget int64
	share  *memory.Share // that its keys are counted in
	held   int64         // of it

	keys  [][]byte
	bytes int64 // of keys
	file  *os.File
	runs  []int64 // where each run in the file ends
}

// newSorter returns a sorter whose keys take up to budget bytes, and of the share of the
// context what it gives at once.
func newSorter(ctx context.Context, limit, budget int64) *sorter {
	return &sorter{limit: limit, budget: budget, share: memory.FromContext(ctx)}
}

// leastSortBytes are kept in memory even when the share gives nothing.
const leastSortBytes = 1 << 20

// hold counts the keys in memory, and reports whether there is room for them.
func (s *sorter) hold() bool {
	more := s.bytes - s.held
	if more < 0 {
		s.share.Give(-more)
	} else if !s.share.Try(more) {
		return s.bytes <= leastSortBytes
	}
	s.held = s.bytes
	return true
}

// add takes keys, which must not change afterwards.
func (s *sorter) add(keys [][]byte) error {
	s.keys = append(s.keys, keys...)
	for _, k := range keys {
		s.bytes += int64(len(k)) + keyOverhead
	}
	if s.limit < int64(len(s.keys))/2 {
		s.cut()
	}
	if s.bytes <= s.budget && s.hold() {
		return nil
	}
	if s.cut(); s.bytes <= s.budget/2 && s.hold() {
		return nil
	}
	return s.spill()
}

// cut sorts the keys in memory and drops those past the limit, with the memory they are in.
func (s *sorter) cut() {
	s.keys, s.bytes = firstKeys(s.keys, s.limit)
}

// firstKeys sorts keys and returns the first of them, copied together if there are more,
// and what they occupy.
func firstKeys(keys [][]byte, limit int64) (first [][]byte, size int64) {
	slices.SortFunc(keys, bytes.Compare)
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
	return first, size + keyOverhead*int64(len(first))
}

// spill writes the keys in memory, which are sorted, to the file as one more run.
func (s *sorter) spill() error {
	if s.file == nil {
		file, err := os.CreateTemp("", "tiltyard-sort-*")
		if err != nil {
			return fmt.Errorf("sort in a temporary file: %w", err)
		}
		// Nobody finds it by its name, so that it goes with the process whatever happens.
		if err := os.Remove(file.Name()); err != nil {
			return errors.Join(fmt.Errorf("sort in a temporary file: %w", err), file.Close())
		}
		s.file = file
	}
	w := bufio.NewWriterSize(s.file, 1<<20)
	written := int64(0)
	var size [binary.MaxVarintLen64]byte
	for _, k := range s.keys {
		n := binary.PutUvarint(size[:], uint64(len(k)))
		// The writer keeps its first error for Flush.
		_, _ = w.Write(size[:n])
		_, _ = w.Write(k)
		written += int64(n + len(k))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("sort in a temporary file: %w", err)
	}
	end := written
	if len(s.runs) > 0 {
		end += s.runs[len(s.runs)-1]
	}
	s.runs = append(s.runs, end)
	s.keys, s.bytes = nil, 0
	s.hold()
	return nil
}

// spilled returns the bytes in the file.
func (s *sorter) spilled() int64 {
	if len(s.runs) == 0 {
		return 0
	}
	return s.runs[len(s.runs)-1]
}

// close gives up the keys and the file.
func (s *sorter) close() {
	s.share.Give(s.held)
	s.keys, s.bytes, s.held = nil, 0, 0
	if s.file != nil {
		_ = s.file.Close() // it was only read since
		s.file = nil
	}
}

// sorted yields the keys in order, once. A key is only used until the next one.
func (s *sorter) sorted() iter.Seq2[[]byte, error] {
	s.cut()
	if s.file == nil {
		return func(yield func([]byte, error) bool) {
			defer s.close()
			for _, k := range s.keys {
				if !yield(k, nil) {
					return
				}
			}
		}
	}
	return func(yield func([]byte, error) bool) {
		defer s.close()
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

// open begins to read all runs, that in memory among them.
func (s *sorter) open() (mergedRuns, error) {
	var runs mergedRuns
	from := int64(0)
	for _, end := range s.runs {
		runs = append(runs, &sortedRun{in: bufio.NewReaderSize(io.NewSectionReader(s.file, from, end-from), runBuffer)})
		from = end
	}
	runs = append(runs, &sortedRun{keys: s.keys})
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

// runBuffer is read of a run at a time.
const runBuffer = 64 << 10

// A sortedRun is a run being read, in a file or in memory.
type sortedRun struct {
	key  []byte // the current one
	in   *bufio.Reader
	keys [][]byte
}

// next moves to the next key and says whether there is one.
func (r *sortedRun) next() (bool, error) {
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

// mergedRuns is a heap of runs by their current keys.
type mergedRuns []*sortedRun

func (m mergedRuns) Len() int           { return len(m) }
func (m mergedRuns) Less(i, j int) bool { return bytes.Compare(m[i].key, m[j].key) < 0 }
func (m mergedRuns) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }

// Push is never called: runs only end.
func (m *mergedRuns) Push(x any) { *m = append(*m, x.(*sortedRun)) }

// Pop removes the last run.
func (m *mergedRuns) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
