package dataset

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// DropColumns commits that d lacks columns, or members of structs, named by their paths.
// Their values stay in the files. A struct that loses its last member goes too. Indices
// on what is dropped are dropped.
func (d *Dataset) DropColumns(ctx context.Context, paths []string) (*Dataset, error) {
	left, err := alter.Without(d.Snapshot, paths)
	if err != nil {
		return nil, err
	}
	return d.Commit(ctx, &pb.Project{Schema: left, PreservesNullability: true})
}

// AlterColumns commits alterations of d, together. cast is needed when some change types.
//
// It is operation.ErrInvalid to forbid nulls in a column that has some, to forbid nulls
// and cast in one call, and to cast a column that has an index: drop that first.
func (d *Dataset) AlterColumns(ctx context.Context, alterations []alter.Alteration, cast alter.Cast) (*Dataset, error) {
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return nil, err
	}
	p, err := alter.New(ctx, d.Snapshot, alterations)
	if err != nil {
		return nil, err
	}
	s, err := p.Schema()
	if err != nil {
		return nil, err
	}
	if !p.Casts() {
		return d.Commit(ctx, &pb.Project{Schema: p.Fields, PreservesNullability: !p.Tightened})
	}
	if p.Tightened {
		return nil, fmt.Errorf("%w: to forbid nulls and to cast are two calls: cast first", operation.ErrInvalid)
	}
	return d.commitCasts(ctx, p, s, cast)
}

// commitCasts writes the columns of new types to new files.
func (d *Dataset) commitCasts(ctx context.Context, p *alter.Plan, s *schema.Schema, cast alter.Cast) (*Dataset, error) {
	reads, writes, nullable, err := p.Columns(s)
	if err != nil {
		return nil, err
	}
	files, err := d.writeColumns(ctx, writes, snapshot.ProjectionOf(reads.Fields), func(ctx context.Context, batch arrow.RecordBatch) ([]arrow.Array, error) {
		return alter.CastFields(ctx, batch.Columns(), writes.Fields, cast)
	})
	if err != nil {
		return nil, err
	}
	op := &pb.Merge{Schema: p.Fields, SchemaMetadata: d.Schema().Metadata, PreservesNullability: nullable}
	op.Fragments = alter.ReplaceFields(d.Manifest().Fragments, files.files, s)
	return d.table.commit(ctx, &change{read: d, operation: op, wait: files.puts.Wait})
}
