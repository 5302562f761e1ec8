package build

import (
	"context"
	"iter"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/fm"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
)

// pieces builds an index FM, whose partitions have nothing in common: shards write them, and a join only puts those of
// some fragments together.
type pieces struct{ source }

// planPieces plans the build of an index FM, which is of addresses.
func planPieces(d *dataset.Dataset, n Index, column arrow.Field) (plan, error) {
	p := pieces{source{dataset: d, column: n.Column, stores: snapshot.RowAddr, kind: column.Type, watch: n.Watch}}
	return plan{version: fm.Version, write: p.write, parts: p}, nil
}

// write builds a segment of all rows.
func (p pieces) write(ctx context.Context, out index.Output) error {
	rows, err := p.scan(ctx, nil)
	if err != nil {
		return err
	}
	return fm.Build(ctx, p.kind, rows, out)
}

// Train implements Parts.
func (p pieces) Train(context.Context, index.Output) (bool, error) { return true, nil }

// Effort implements Parts. What a shard holds does not depend on how many rows it has. Its keys are partitions.
func (p pieces) Effort() Effort {
	const (
		rowNanos, byteNanos = 500, 200 // for a row beside its text, and to sort a byte of that
		partitionNanos      = 40e6     // to read a file of a partition and to write it, beside the bytes
	)
	bytes := p.rowBytes()
	return Effort{RowNanos: rowNanos + byteNanos*bytes, RowBytes: bytes, KeyNanos: partitionNanos}
}

// Shard implements Parts.
func (p pieces) Shard(ctx context.Context, span Span, name string, _ Staged, out index.Output) (Shard, error) {
	rows, err := p.scan(ctx, span)
	if err != nil {
		return Shard{}, err
	}
	shard := Shard{Name: name}
	files := &prefixed{Output: out, shard: name}
	if err := fm.Build(ctx, p.kind, counted(rows, &shard.Rows), files); err != nil {
		return Shard{}, err
	}
	shard.Keys, shard.Bytes = files.files, files.bytes
	return shard, nil
}

// Join implements Parts.
func (p pieces) Join(ctx context.Context, shards []Shard, staged Staged, out index.Output) (_ Joined, err error) {
	defer index.Contain(&err)
	return Joined{}, fm.Join(ctx, p.partitions(ctx, shards, staged), out)
}

// partitions opens the partitions of shards, one after the other.
func (p pieces) partitions(ctx context.Context, shards []Shard, staged Staged) iter.Seq2[*datafile.File, error] {
	return func(yield func(*datafile.File, error) bool) {
		for _, s := range shards {
			for i := range int(s.Keys) {
				file, err := staged.Shards(ctx, pieceName(s.Name, fm.FileName(i)))
				if !yield(file, err) || err != nil {
					return
				}
				if p.watch != nil {
					p.watch(1)
				}
			}
		}
	}
}

// prefixed puts the name of a shard before those of its files, and counts what is in them.
type prefixed struct {
	index.Output
	shard string
	written
}

// Create implements index.Output.
func (p *prefixed) Create(ctx context.Context, name string, schema *arrow.Schema) (index.FileWriter, error) {
	return p.create(ctx, p.Output, pieceName(p.shard, name), schema)
}

func pieceName(shard, file string) string { return strings.TrimSuffix(shard, ".lance") + "_" + file }
