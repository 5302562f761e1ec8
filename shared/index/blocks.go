package index

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

const (
	// mergedBytes bounds, approximately, the memory of the blocks of all files of a merge.
	mergedBytes = 256 << 20
	// leastBlock and mostBlock bound the size of a block in bytes. Below 64 KiB the latency of requests
	// dominates, and above 8 MiB larger requests are not faster.
	leastBlock, mostBlock = 64 << 10, 8 << 20
)

// BlockBytes returns the block size for a merge of the given number of files, each with two blocks in
// memory.
func BlockBytes(ctx context.Context, files int) int64 {
	all := int64(2 * max(files, 1))
	block := min(max(mergedBytes/all, leastBlock), mostBlock)
	for ; block > leastBlock; block /= 2 {
		if part, ok := memory.FromContext(ctx).TryPart(all * block); ok {
			part.Close()
			break
		}
	}
	return block
}

// Blocks reads some columns of a file sequentially, and prefetches one block of rows.
type Blocks struct {
	columns *Columns
	rows    int64 // of a block
	from    int64 // the first row that has not been requested

	held  memory.Hold  // for the block that the caller has
	ahead chan fetched // the next block; nil after the last
}

// fetched is the result of the prefetch of a block. held accounts for its memory.
type fetched struct {
	block []arrow.Array
	held  memory.Hold
	err   error
}

// ReadBlocks begins to read blocks of about the given size in bytes. A caller that stops early must cancel
// the context.
func ReadBlocks(ctx context.Context, columns *Columns, bytes int64) *Blocks {
	width := max(columns.File.BytesPerRow(columns.Fields), 1)
	b := &Blocks{columns: columns, rows: max(int64(float64(bytes)/width), 1)}
	b.fetch(ctx)
	return b
}

// fetch begins to read the next block.
func (b *Blocks) fetch(ctx context.Context) {
	c := b.columns
	from, to := b.from, min(b.from+b.rows, c.File.NumRows())
	if b.ahead = nil; from == to {
		return
	}
	b.from = to
	ahead := make(chan fetched, 1)
	b.ahead = ahead
	go func() {
		var f fetched
		defer func() { ahead <- f }()
		defer Contain(&f.err)
		if f.block, f.err = c.File.ReadRange(ctx, c.Fields, from, to); f.err != nil {
			return
		}
		bytes := int64(0)
		for i, column := range f.block {
			if int64(column.Len()) != to-from {
				f.err = fmt.Errorf("%w: column %s has %d rows, want %d", lance.ErrCorrupt, c.Fields[i].Name, column.Len(), to-from)
				return
			}
			bytes += int64(column.Data().SizeInBytes())
		}
		f.held, f.err = memory.Take(ctx, bytes)
	}()
}

// Next returns the columns of the next block, which has at least one row, or nil after the last one. The
// arrays are valid until the next call.
func (b *Blocks) Next(ctx context.Context) ([]arrow.Array, error) {
	if b.ahead == nil {
		b.held.Release()
		return nil, nil
	}
	got := <-b.ahead
	b.held.Release()
	if b.ahead, b.held = nil, got.held; got.err != nil {
		return nil, got.err
	}
	b.fetch(ctx)
	return got.block, nil
}

// Stop waits for the end of the prefetch.
func (b *Blocks) Stop() {
	if b.ahead != nil {
		last := <-b.ahead
		last.held.Release()
		b.ahead = nil
	}
	b.held.Release()
}
