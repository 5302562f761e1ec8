package merge

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// dropUnless drops the pairs of rows for which a condition is not true. The condition is over the
// structs source and target. It reads the rows of the table batch by batch, and only the columns in
// the condition. The struct source contains only columns and members that the source has.
func (p *Plan) dropUnless(ctx context.Context, condition string) error {
	const what = "when_matched_update_all_filt"
	expr, err := syntax.Parse(condition)
	if err != nil {
		return apierror.OfExpression(what, err)
	}
	both := sides{source: p.source.match.Schema, target: p.Dataset.Schema()}
	paths, err := plan.Paths(expr, both.schema(), p.Dataset.Now())
	if err != nil {
		return apierror.OfFilter(apierror.OfExpression(what, err))
	}
	// Only the columns of the condition are read.
	both = both.only(paths)
	bound, err := plan.BindFilter(ctx, expr, both.schema(), p.Dataset.Now())
	if err != nil {
		return apierror.OfFilter(apierror.OfExpression(what, err))
	}
	for source, err := range p.source.batches(ctx) {
		if err != nil {
			return err
		}
		var all []merged
		p.pairs.each(source.first, source.first+int(source.NumRows()), func(m merged) { all = append(all, m) })
		for pairs := range slices.Chunk(all, batchRows) {
			batch, err := both.of(ctx, p.Dataset, source, pairs)
			if err != nil {
				return err
			}
			rows, err := bound.Select(ctx, batch, nil)
			if err != nil {
				return apierror.OfExpression(what, err)
			}
			p.dropOthers(pairs, rows)
		}
	}
	return nil
}

// dropOthers drops the pairs whose positions are not in kept, which ascends.
func (p *Plan) dropOthers(pairs []merged, kept []int32) {
	for i, pair := range pairs {
		if len(kept) > 0 && int(kept[0]) == i {
			kept = kept[1:]
			continue
		}
		p.pairs.drop(pair)
	}
}

// sides are the columns of the structs source and target. A struct without columns is absent.
type sides struct{ source, target *schema.Schema }

// schema returns the schema of the batches from of.
func (s sides) schema() *arrow.Schema {
	var fields []arrow.Field
	for i, side := range []*schema.Schema{s.source, s.target} {
		if len(side.Fields) > 0 {
			columns := side.Arrow().Fields()
			for k := range columns {
				columns[k].Nullable = true
			}
			fields = append(fields, arrow.Field{Name: []string{"source", "target"}[i], Type: arrow.StructOf(columns...)})
		}
	}
	return arrow.NewSchema(fields, nil)
}

// only returns the sides restricted to the columns in paths.
func (s sides) only(paths [][]string) sides {
	named := func(side string, columns *schema.Schema) *schema.Schema {
		found := &schema.Schema{}
		for _, f := range columns.Fields {
			if slices.ContainsFunc(paths, func(path []string) bool {
				return path[0] == side && (len(path) == 1 || path[1] == f.Name)
			}) {
				found.Fields = append(found.Fields, f)
			}
		}
		return found
	}
	return sides{named("source", s.source), named("target", s.target)}
}

// of reads the pairs of a source batch into a batch with the two structs.
func (s sides) of(ctx context.Context, d *dataset.Dataset, from sourceBatch, pairs []merged) (arrow.RecordBatch, error) {
	positions := make([]int32, len(pairs))
	addresses := make([]uint64, len(pairs))
	// Row numbers are relative to the source, positions to the batch.
	for i, pair := range pairs {
		positions[i], addresses[i] = pair.row-int32(from.first), pair.replaces
	}
	whole := s.schema()
	var structs []arrow.Array
	add := func(columns []arrow.Array) error {
		fields := whole.Field(len(structs)).Type.(*arrow.StructType).Fields()
		side, err := array.NewStructArrayWithFields(columns, fields)
		structs = append(structs, side)
		return err
	}
	if names := namesOf(s.source); len(names) > 0 {
		columns, err := from.columns(names)
		if err != nil {
			return nil, err
		}
		for i := range columns {
			if columns[i], err = take.Array(columns[i], positions); err != nil {
				return nil, err
			}
		}
		if err := add(columns); err != nil {
			return nil, err
		}
	}
	if names := namesOf(s.target); len(names) > 0 {
		taken, err := d.Take(ctx, names, addresses)
		if err != nil {
			return nil, err
		}
		if err := add(taken.Columns()); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(whole, structs, int64(len(pairs))), nil
}

// namesOf returns the names of the top-level columns.
func namesOf(s *schema.Schema) []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}
