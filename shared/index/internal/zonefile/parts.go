package zonefile

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
)

// Parts builds an index of a kind that summarizes consecutive rows.
type Parts struct {
	index.Build
	Summarize func(ctx context.Context, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error
	File      string // the name of the only file of a segment
}

// Write implements index.Parts.
func (z Parts) Write(ctx context.Context, out index.Output) error {
	return z.Summarize(ctx, z.Scan(ctx, nil), out)
}

// Train implements index.Parts.
func (z Parts) Train(context.Context, index.Output) (bool, error) { return true, nil }

// Effort implements index.Parts.
func (z Parts) Effort() index.Effort {
	const rowNanos, heldBytes = 300, 4 // for the summary of a row, and that its part of it takes
	return index.Effort{RowNanos: rowNanos, RowBytes: z.Rows.RowBytes(), Held: heldBytes}
}

// Shard implements index.Parts.
func (z Parts) Shard(ctx context.Context, span index.Span, name string, _ index.Staged, out index.Output) (index.Shard, error) {
	shard := index.Shard{Name: name}
	file := &index.RenamedOutput{Output: out, Name: func(string) string { return name }}
	if err := z.Summarize(ctx, index.Counted(z.Scan(ctx, span), &shard.Rows), file); err != nil {
		return index.Shard{}, err
	}
	shard.Keys, shard.Bytes = file.Rows, file.Bytes
	return shard, nil
}

// Join implements index.Parts.
func (z Parts) Join(ctx context.Context, shards []index.Shard, staged index.Staged, out index.Output) (_ index.Joined, err error) {
	defer index.Contain(&err)
	files, err := index.OpenShards(ctx, shards, staged)
	if err != nil {
		return index.Joined{}, err
	}
	return index.Joined{}, Join(ctx, files, z.File, out)
}
