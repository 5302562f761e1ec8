package build

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
)

// zones builds an index whose kind summarises rows that follow each other.
type zones struct {
	source
	build func(ctx context.Context, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error
	join  func(ctx context.Context, files []*datafile.File, out index.Output) error
}

// planZones plans the build of an index of zones, which are of addresses.
func planZones(d *dataset.Dataset, n Index, t arrow.DataType, z zones) plan {
	z.source = source{dataset: d, column: n.Column, stores: snapshot.RowAddr, kind: t, watch: n.Watch}
	return plan{write: z.write, parts: z}
}

// write builds a segment of all rows.
func (z zones) write(ctx context.Context, out index.Output) error {
	rows, err := z.scan(ctx, nil)
	if err != nil {
		return err
	}
	return z.build(ctx, rows, out)
}

// Train implements Parts.
func (z zones) Train(context.Context, index.Output) (bool, error) { return true, nil }

// Effort implements Parts.
func (z zones) Effort() Effort {
	const rowNanos, heldBytes = 300, 4 // for the summary of a row, and that its part of it takes
	return Effort{RowNanos: rowNanos, RowBytes: z.rowBytes(), Held: heldBytes}
}

// Shard implements Parts.
func (z zones) Shard(ctx context.Context, span Span, name string, _ Staged, out index.Output) (Shard, error) {
	rows, err := z.scan(ctx, span)
	if err != nil {
		return Shard{}, err
	}
	shard := Shard{Name: name}
	file := &renamed{Output: out, name: name}
	if err := z.build(ctx, counted(rows, &shard.Rows), file); err != nil {
		return Shard{}, err
	}
	shard.Keys, shard.Bytes = file.rows, file.bytes
	return shard, nil
}

// Join implements Parts.
func (z zones) Join(ctx context.Context, shards []Shard, staged Staged, out index.Output) (_ Joined, err error) {
	defer index.Contain(&err)
	files, err := open(ctx, shards, staged)
	if err != nil {
		return Joined{}, err
	}
	return Joined{}, z.join(ctx, files, out)
}

// renamed gives the only file of a segment another name, and counts what is in it.
type renamed struct {
	index.Output
	name string
	written
}

// Create implements index.Output.
func (r *renamed) Create(ctx context.Context, _ string, schema *arrow.Schema) (index.FileWriter, error) {
	return r.create(ctx, r.Output, r.name, schema)
}

// written counts files and what is in them. It is not safe for concurrent use.
type written struct{ files, rows, bytes int64 }

// create begins a file that is counted.
func (w *written) create(ctx context.Context, out index.Output, name string, schema *arrow.Schema) (index.FileWriter, error) {
	file, err := out.Create(ctx, name, schema)
	w.files++
	return counting{file, w}, err
}

// counting counts the rows of a file.
type counting struct {
	index.FileWriter
	of *written
}

// Write implements index.FileWriter.
func (c counting) Write(ctx context.Context, rows arrow.RecordBatch) error {
	c.of.rows += rows.NumRows()
	for _, column := range rows.Columns() {
		c.of.bytes += int64(column.Data().SizeInBytes())
	}
	return c.FileWriter.Write(ctx, rows)
}
