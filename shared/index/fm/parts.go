package fm

import (
	"context"
	"iter"
	"strings"

	"tiltyard/shared/index"
	"tiltyard/shared/lance/datafile"
)

// parts builds an FM index in parallel. Partitions are independent, so shards write them, and a join only
// collects them into one segment.
type parts struct{ index.Build }

// Write implements index.Parts.
func (p parts) Write(ctx context.Context, out index.Output) error {
	return Build(ctx, p.Field.Type, p.Scan(ctx, nil), out)
}

// Train implements index.Parts.
func (p parts) Train(context.Context, index.Output) (bool, error) { return true, nil }

// Effort implements index.Parts. The size of a shard does not depend on its rows, and its keys are
// partitions.
func (p parts) Effort() index.Effort {
	const (
		rowNanos, byteNanos = 500, 200 // for a row beside its text, and to sort a byte of that
		partitionNanos      = 40e6     // to read a file of a partition and to write it, beside the bytes
	)
	bytes := p.Rows.RowBytes()
	return index.Effort{RowNanos: rowNanos + byteNanos*bytes, RowBytes: bytes, KeyNanos: partitionNanos}
}

// Shard implements index.Parts.
func (p parts) Shard(ctx context.Context, span index.Span, name string, _ index.Staged, out index.Output) (index.Shard, error) {
	shard := index.Shard{Name: name}
	files := &index.RenamedOutput{Output: out, Name: func(file string) string { return pieceName(name, file) }}
	if err := Build(ctx, p.Field.Type, index.Counted(p.Scan(ctx, span), &shard.Rows), files); err != nil {
		return index.Shard{}, err
	}
	shard.Keys, shard.Bytes = files.Files, files.Bytes
	return shard, nil
}

// Join implements index.Parts.
func (p parts) Join(ctx context.Context, shards []index.Shard, staged index.Staged, out index.Output) (_ index.Joined, err error) {
	defer index.Contain(&err)
	return index.Joined{}, Join(ctx, p.partitions(ctx, shards, staged), out)
}

// partitions opens the partition files of shards, one at a time.
func (p parts) partitions(ctx context.Context, shards []index.Shard, staged index.Staged) iter.Seq2[*datafile.File, error] {
	return func(yield func(*datafile.File, error) bool) {
		for _, s := range shards {
			for i := range int(s.Keys) {
				file, err := staged.Shards(ctx, pieceName(s.Name, FileName(i)))
				if !yield(file, err) || err != nil {
					return
				}
				if p.Watch != nil {
					p.Watch(1)
				}
			}
		}
	}
}

func pieceName(shard, file string) string { return strings.TrimSuffix(shard, ".lance") + "_" + file }
