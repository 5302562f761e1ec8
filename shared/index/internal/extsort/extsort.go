// Package extsort stores sorted keys in files, called runs, for a distributed external sort. Each worker
// writes a run of some rows ([Write]), and one worker merges all runs ([Merge]). The kind of index defines
// the meaning of a key.
//
// A run is an ordinary data file with one column, key, of binary values in ascending order. Runs are
// garbage once the segment is written.
package extsort

import (
	"bytes"
	"container/heap"
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/process/memory"
)

// column is the name of the column.
const column = "key"

// writtenBytes is the approximate size of the keys that are written together.
const writtenBytes = 4 << 20

// Write writes sorted keys as a file, and returns the number of keys and their size in bytes.
func Write(ctx context.Context, keys iter.Seq2[[]byte, error], out index.Output, name string) (count, size int64, err error) {
	schema := arrow.NewSchema([]arrow.Field{{Name: column, Type: arrow.BinaryTypes.LargeBinary}}, nil)
	file, err := out.Create(ctx, name, schema)
	if err != nil {
		return 0, 0, err
	}
	held, err := memory.Take(ctx, 2*writtenBytes)
	if err != nil {
		return 0, 0, err
	}
	defer held.Release()
	block := array.NewBinaryBuilder(arrowmemory.DefaultAllocator, arrow.BinaryTypes.LargeBinary)
	write := func() error {
		n := int64(block.Len())
		if n == 0 {
			return nil
		}
		return file.Write(ctx, array.NewRecordBatch(schema, []arrow.Array{block.NewArray()}, n))
	}
	for key, err := range keys {
		if err != nil {
			return 0, 0, err
		}
		block.Append(key)
		count, size = count+1, size+int64(len(key))
		if block.DataLen()+offsetBytes*block.Len() >= writtenBytes {
			if err := write(); err != nil {
				return 0, 0, err
			}
		}
	}
	if err := write(); err != nil {
		return 0, 0, err
	}
	return count, size, file.Close(ctx)
}

// offsetBytes is the memory of a key beside its bytes.
const offsetBytes = 8

// Merge yields the keys of runs in order. A key is valid until the next one. Each run prefetches one block.
// A run that is not sorted is lance.ErrCorrupt.
func Merge(ctx context.Context, files []*datafile.File) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		ctx, done := context.WithCancel(ctx)
		defer done()
		open, err := start(ctx, files, index.BlockBytes(ctx, len(files)))
		defer open.stop(done)
		for err == nil && len(open) > 0 {
			first := open[0]
			if !yield(first.key, nil) {
				return
			}
			var more bool
			if more, err = first.next(ctx); !more {
				heap.Pop(&open)
			} else {
				heap.Fix(&open, 0)
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// start begins to read all files, and returns the runs that have keys.
func start(ctx context.Context, files []*datafile.File, block int64) (merged, error) {
	var all, open merged
	for _, file := range files {
		columns, err := index.ColumnsOf(ctx, file, column)
		if err == nil && columns.Fields[0].Type.ID() != arrow.LARGE_BINARY {
			err = fmt.Errorf("%w: keys of type %s", lance.ErrCorrupt, columns.Fields[0].Type)
		}
		if err != nil {
			return all, err
		}
		r := &run{blocks: index.ReadBlocks(ctx, columns, block)}
		all = append(all, r)
	}
	for _, r := range all {
		more, err := r.next(ctx)
		if err != nil {
			return all, err
		}
		if more {
			open = append(open, r)
		}
	}
	heap.Init(&open)
	return open, nil
}

// A run is a file that is being read.
type run struct {
	blocks *index.Blocks
	block  *array.LargeBinary
	at     int    // the place of the key in the block
	key    []byte // the current key
}

// next moves to the next key, and reports whether there is one.
func (r *run) next(ctx context.Context) (bool, error) {
	if r.at++; r.block == nil || r.at == r.block.Len() {
		got, err := r.blocks.Next(ctx)
		if got == nil || err != nil {
			return false, err
		}
		r.block, r.at = got[0].(*array.LargeBinary), 0
	}
	key := r.block.Value(r.at)
	if bytes.Compare(key, r.key) < 0 {
		return false, fmt.Errorf("%w: the keys of a run are not in order", lance.ErrCorrupt)
	}
	r.key = key
	return true, nil
}

// merged are the runs that have keys left, as a heap.
type merged []*run

func (m merged) Len() int           { return len(m) }
func (m merged) Less(i, j int) bool { return bytes.Compare(m[i].key, m[j].key) < 0 }
func (m merged) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }

// Push implements heap.Interface. Runs are never added.
func (m *merged) Push(x any) { *m = append(*m, x.(*run)) }

// Pop implements heap.Interface.
func (m *merged) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

// stop cancels and waits for all prefetches.
func (m merged) stop(cancel func()) {
	cancel()
	for _, r := range m {
		r.blocks.Stop()
	}
}
