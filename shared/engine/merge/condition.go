package merge

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/failure"
	"tiltyard/shared/sql/cast"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
	"tiltyard/shared/take"
)

// dropUnless drops the pairs of rows for which a condition over the structs source and target is
// not true. It reads the rows of the table batch by batch, and only the columns that the condition
// names.
func (p *Plan) dropUnless(ctx context.Context, condition string) error {
	const what = "when_matched_update_all_filt"
	columns := p.mentioned(condition)
	fields := make([]arrow.Field, len(columns))
	for i, name := range columns {
		fields[i] = p.Dataset.Schema().Field(name).Arrow()
		fields[i].Nullable = true
	}
	sides := arrow.StructOf(fields...)
	schema := arrow.NewSchema([]arrow.Field{{Name: "source", Type: sides}, {Name: "target", Type: sides}}, nil)
	expr, err := syntax.Parse(condition)
	if err != nil {
		return failure.OfExpression(what, err)
	}
	bound, err := plan.BindFilter(ctx, expr, schema, p.Dataset.Now())
	if err != nil {
		return failure.OfFilter(failure.OfExpression(what, err))
	}
	for source, err := range p.source.batches(ctx) {
		if err != nil {
			return err
		}
		var all []merged
		p.pairs.each(source.first, source.first+int(source.NumRows()), func(m merged) { all = append(all, m) })
		for pairs := range slices.Chunk(all, batchRows) {
			batch, err := p.sides(ctx, source, pairs, schema, columns)
			if err != nil {
				return err
			}
			rows, err := bound.Select(ctx, batch, nil)
			if err != nil {
				return failure.OfExpression(what, err)
			}
			p.dropOthers(pairs, rows)
		}
	}
	return nil
}

// dropOthers drops the pairs at all positions except the given ascending ones.
func (p *Plan) dropOthers(pairs []merged, kept []int32) {
	for i, pair := range pairs {
		if len(kept) > 0 && int(kept[0]) == i {
			kept = kept[1:]
			continue
		}
		p.pairs.drop(pair)
	}
}

// mentioned returns the columns whose names occur in the text of a condition. They include all
// columns that the condition reads.
func (p *Plan) mentioned(condition string) []string {
	text := strings.ToLower(condition)
	var names []string
	for _, f := range p.Dataset.Schema().Fields {
		if strings.Contains(text, strings.ToLower(f.Name)) {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		names = append(names, p.Dataset.Schema().Fields[0].Name) // a struct needs at least one member
	}
	return names
}

// sides returns the pairs of a source batch as a batch of two structs.
func (p *Plan) sides(ctx context.Context, from sourceBatch, pairs []merged, schema *arrow.Schema, columns []string) (arrow.RecordBatch, error) {
	positions := make([]int32, len(pairs))
	addresses := make([]uint64, len(pairs))
	for i, pair := range pairs {
		positions[i], addresses[i] = pair.row-int32(from.first), pair.replaces
	}
	target, err := p.Dataset.Take(ctx, columns, addresses)
	if err != nil {
		return nil, err
	}
	source := make([]arrow.Array, len(columns))
	fields := schema.Field(0).Type.(*arrow.StructType).Fields()
	for i, name := range columns {
		at := from.Schema().FieldIndices(name)
		if len(at) == 0 {
			source[i] = take.Nulls(fields[i].Type, len(pairs))
			continue
		}
		if source[i], err = take.Array(from.Column(at[0]), positions); err != nil {
			return nil, err
		}
		if !arrow.TypeEqual(source[i].DataType(), fields[i].Type) {
			if source[i], err = cast.Convert(ctx, source[i], fields[i].Type); err != nil {
				return nil, failure.OfExpression("source column "+name, err)
			}
		}
	}
	structs := make([]arrow.Array, 2)
	for i, members := range [][]arrow.Array{source, target.Columns()} {
		if structs[i], err = array.NewStructArrayWithFields(members, fields); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(schema, structs, int64(len(pairs))), nil
}
