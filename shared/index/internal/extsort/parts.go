package extsort

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/index"
)

// Sorting builds an index of a kind that writes its files from sorted keys.
type Sorting struct {
	index.Build
	KeysOf  float64 // keys per byte of a value; 0: one key per value
	Sort    func(ctx context.Context, t arrow.DataType, rows iter.Seq2[arrow.RecordBatch, error]) (*sortkey.Sorter, error)
	Combine func(ctx context.Context, t arrow.DataType, keys iter.Seq2[[]byte, error], out index.Output) error
}

// Write implements index.Parts.
func (s Sorting) Write(ctx context.Context, out index.Output) error {
	sorter, err := s.Sort(ctx, s.Field.Type, s.Scan(ctx, nil))
	if err != nil {
		return err
	}
	defer sorter.Close()
	return s.Combine(ctx, s.Field.Type, sorter.Sorted(), out)
}

// Train implements index.Parts.
func (s Sorting) Train(context.Context, index.Output) (bool, error) { return true, nil }

// Effort implements index.Parts.
func (s Sorting) Effort() index.Effort {
	const keyNanos, numberBytes = 1000, 9 // to sort and write a key; bytes of a key beside its value
	e := index.Effort{RowBytes: s.Rows.RowBytes(), KeyNanos: keyNanos}
	if s.KeysOf == 0 {
		e.RowNanos, e.Held = keyNanos, e.RowBytes+numberBytes+sortkey.Overhead
	} else {
		keys := e.RowBytes * s.KeysOf
		e.RowNanos, e.Held = keyNanos*keys, keys*(4+numberBytes+sortkey.Overhead)
	}
	return e
}

// Shard implements index.Parts.
func (s Sorting) Shard(ctx context.Context, span index.Span, name string, _ index.Staged, out index.Output) (index.Shard, error) {
	shard := index.Shard{Name: name}
	sorter, err := s.Sort(ctx, s.Field.Type, index.Counted(s.Scan(ctx, span), &shard.Rows))
	if err != nil {
		return index.Shard{}, err
	}
	defer sorter.Close()
	shard.Keys, shard.Bytes, err = Write(ctx, sorter.Sorted(), out, name)
	return shard, err
}

// Join implements index.Parts.
func (s Sorting) Join(ctx context.Context, shards []index.Shard, staged index.Staged, out index.Output) (_ index.Joined, err error) {
	defer index.Contain(&err)
	files, err := index.OpenShards(ctx, shards, staged)
	if err != nil {
		return index.Joined{}, err
	}
	return index.Joined{}, s.Combine(ctx, s.Field.Type, s.Watched(Merge(ctx, files)), out)
}
