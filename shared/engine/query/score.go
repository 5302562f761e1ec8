package query

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/condition"
	"tiltyard/shared/engine/failure"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/sql/plan"
)

// whereFound makes a filter for found rows. It may also refer to the distance or score of a row, in
// a column named scored. That column is not read from the table but added to the columns that the
// filter reads.
func whereFound(ctx context.Context, what, sql string, r condition.Relation, scored string) (*snapshot.Where, error) {
	bound, err := r.Bind(ctx, what, sql, plan.BindFilter, scoreField(scored))
	if err != nil {
		return nil, failure.OfFilter(err)
	}
	return condition.Where(what, bound, scored), nil
}

// scoreField is the column that a search adds.
func scoreField(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float32, Nullable: true}
}

// withScore adds the distance or score of each row to a batch.
func withScore(read arrow.RecordBatch, name string, scores arrow.Array) arrow.RecordBatch {
	schema := arrow.NewSchema(append(slices.Clone(read.Schema().Fields()), scoreField(name)), nil)
	return array.NewRecordBatch(schema, append(slices.Clone(read.Columns()), scores), read.NumRows())
}
