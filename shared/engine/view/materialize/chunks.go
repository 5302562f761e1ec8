package materialize

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/chunking"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/process/memory"
)

// chunksOf returns the rows that a function cuts from texts. A group holds the positions of its pieces, and
// copies the texts only when its rows are taken.
func chunksOf(ctx context.Context, call *selection.Call, texts array.StringLike) iter.Seq2[*group, error] {
	return func(yield func(*group, error) bool) {
		g := new(group)
		var chunks []chunking.Chunk
		flush := func() bool {
			all := chunks
			// The closure keeps this group's chunks, because the variable is reused for the next group.
			g.take = func(ctx context.Context, items []int32) (arrow.Array, error) {
				return chunkArray(ctx, call.Function, all, items)
			}
			more := yield(g, ctx.Err())
			g, chunks = new(group), nil
			return more
		}
		for row := range texts.Len() {
			if texts.IsNull(row) {
				continue
			}
			for c := range call.Split(texts.Value(row)) {
				g.rows, g.items = append(g.rows, int32(row)), append(g.items, int32(len(chunks)))
				if chunks = append(chunks, c); len(chunks) == maxExpanded && !flush() {
					return
				}
			}
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
		}
		if len(chunks) > 0 {
			flush()
		}
	}
}

// chunkArray returns pieces as an array. items are neighbours.
func chunkArray(ctx context.Context, f *chunking.Function, chunks []chunking.Chunk, items []int32) (arrow.Array, error) {
	if len(items) == 0 {
		return f.Array(nil), nil
	}
	chunks = chunks[items[0] : items[len(items)-1]+1]
	bytes := int64(0)
	for i := range chunks {
		bytes += chunks[i].Bytes()
	}
	if err := memory.FromContext(ctx).Take(ctx, bytes); err != nil {
		return nil, err
	}
	return f.Array(chunks), nil
}
