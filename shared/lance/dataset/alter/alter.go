package alter

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// DropColumns commits d without some columns or struct members, named by path. Their values stay in
// the files. A struct that loses its last member is dropped too, and so are indices on dropped
// columns.
func DropColumns(ctx context.Context, d *dataset.Dataset, paths []string) (*dataset.Dataset, error) {
	left, err := Without(d.Snapshot, paths)
	if err != nil {
		return nil, err
	}
	return d.Commit(ctx, &pb.Project{Schema: left, PreservesNullability: true})
}

// Apply commits several alterations of columns at once. cast is needed if a type changes.
//
// It returns operation.ErrInvalid if a column with nulls becomes non-nullable, if one call both
// casts and forbids nulls, or if a cast column has an index.
func Apply(ctx context.Context, d *dataset.Dataset, alterations []Alteration, cast Cast) (*dataset.Dataset, error) {
	if err := operation.CheckWritable(d.Manifest()); err != nil {
		return nil, err
	}
	p, err := New(ctx, d.Snapshot, alterations)
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
	return commitCasts(ctx, d, p, s, cast)
}

// commitCasts writes cast columns to new files and commits them.
func commitCasts(ctx context.Context, d *dataset.Dataset, p *Plan, s *schema.Schema, cast Cast) (*dataset.Dataset, error) {
	reads, writes, nullable, err := p.Columns(s)
	if err != nil {
		return nil, err
	}
	files, err := writeColumns(ctx, d, writes, snapshot.ProjectionOf(reads.Fields), func(ctx context.Context, batch arrow.RecordBatch) ([]arrow.Array, error) {
		return CastFields(ctx, batch.Columns(), writes.Fields, cast)
	})
	if err != nil {
		return nil, err
	}
	op := &pb.Merge{Schema: p.Fields, SchemaMetadata: d.Schema().Metadata, PreservesNullability: nullable}
	op.Fragments = ReplaceFields(d.Manifest().Fragments, files.files, s)
	return d.Table().Commit(ctx, &dataset.Change{Read: d, Operation: op, Wait: files.puts.Wait})
}
