// Package runs keeps sorted keys in files, called runs, so that several workers sort the rows of one
// column side by side: each writes a run of some rows ([Write]), and one reads all runs as if they
// were one ([Merge]). What a key means is up to the kind of index.
//
// A run is an ordinary data file with one column, key, of binary values in ascending order. Runs are
// garbage as soon as the segment is written that is made of them.
package runs

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
	"tiltyard/shared/memory"
)

// column is the name of the column.
const column = "key"

// writtenBytes is about how many bytes of keys are written together.
const writtenBytes = 4 << 20

// Write writes keys, which come in order, as a file of a name. It returns how many keys there are and
// their size in bytes.
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

// offsetBytes is what a key takes in memory in addition to its bytes.
const offsetBytes = 8

const (
	// mergeBytes is about how much memory the blocks of all runs take together.
	mergeBytes = 256 << 20
	// leastBlock and mostBlock bound the size of a block. Reading smaller ones takes more time for
	// requests than for bytes, and larger ones do not come sooner.
	leastBlock, mostBlock = 64 << 10, 8 << 20
)

// Merge yields the keys of runs in order. A key is valid until the next one. It reads one block of each
// run ahead. Keys that are not in order are lance.ErrCorrupt.
func Merge(ctx context.Context, files []*datafile.File) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		ctx, done := context.WithCancel(ctx)
		defer done()
		open, err := start(ctx, files, blockBytes(ctx, len(files)))
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

// blockBytes returns the size of the blocks of so many runs, two of each.
func blockBytes(ctx context.Context, runs int) int64 {
	all := int64(2 * max(runs, 1))
	block := min(max(mergeBytes/all, leastBlock), mostBlock)
	for ; block > leastBlock; block /= 2 {
		if part, ok := memory.FromContext(ctx).TryPart(all * block); ok {
			part.Close()
			break
		}
	}
	return block
}

// start begins to read all files, and returns those that have keys.
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
		width := max(file.BytesPerRow(columns.Fields), 1)
		r := &run{columns: columns, rows: max(int64(float64(block)/width), 1)}
		r.fetch(ctx)
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
	columns *index.Columns
	rows    int64 // of a block
	from    int64 // the first row that has not been asked for

	block *array.LargeBinary
	held  memory.Hold // for the block
	at    int         // the place of the key in the block
	key   []byte      // the current one

	ahead chan fetched // the next block; nil after the last
}

type fetched struct {
	block *array.LargeBinary
	held  memory.Hold
	err   error
}

// fetch begins to read the next block.
func (r *run) fetch(ctx context.Context) {
	file := r.columns.File
	from, to := r.from, min(r.from+r.rows, file.NumRows())
	if r.ahead = nil; from == to {
		return
	}
	r.from = to
	ahead := make(chan fetched, 1)
	r.ahead = ahead
	go func() {
		var f fetched
		defer func() { ahead <- f }()
		defer index.Contain(&f.err)
		var read []arrow.Array
		if read, f.err = file.ReadRange(ctx, r.columns.Fields, from, to); f.err == nil {
			f.block = read[0].(*array.LargeBinary)
			f.held, f.err = memory.Take(ctx, int64(f.block.Data().SizeInBytes()))
		}
	}()
}

// next moves to the next key, and reports whether there is one.
func (r *run) next(ctx context.Context) (bool, error) {
	if r.at++; r.block == nil || r.at == r.block.Len() {
		if r.ahead == nil {
			r.held.Release()
			return false, nil
		}
		got := <-r.ahead
		r.held.Release()
		if r.ahead, r.held = nil, got.held; got.err != nil {
			return false, got.err
		}
		if got.block.Len() == 0 {
			return false, fmt.Errorf("%w: a block of a run without keys", lance.ErrCorrupt)
		}
		r.block, r.at = got.block, 0
		r.fetch(ctx)
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

// stop waits until nothing is read any more.
func (m merged) stop(cancel func()) {
	cancel()
	for _, r := range m {
		if r.ahead != nil {
			last := <-r.ahead
			last.held.Release()
		}
		r.held.Release()
	}
}
