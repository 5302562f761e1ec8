package query

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/sql/plan"
)

// A rating describes the columns that a search adds to its answer. The zero value is for a scan,
// which adds none.
type rating struct {
	columns  []ratedColumn
	numbered bool // the first column of the answer is the number of the query that found the row
}

// A ratedColumn is a column that a search adds, and the function that returns its values.
type ratedColumn struct {
	field  arrow.Field
	values func(hits []found) arrow.Array
}

// fields returns the added columns.
func (r rating) fields() []arrow.Field {
	fields := make([]arrow.Field, len(r.columns))
	for i, c := range r.columns {
		fields[i] = c.field
	}
	return fields
}

// of returns the values of the added columns.
func (r rating) of(hits []found) []arrow.Array {
	values := make([]arrow.Array, len(r.columns))
	for i, c := range r.columns {
		values[i] = c.values(hits)
	}
	return values
}

// index returns the position of an added column, or -1 if the search adds none of this name.
func (r rating) index(name string) int {
	return slices.IndexFunc(r.columns, func(c ratedColumn) bool { return c.field.Name == name })
}

// with adds the columns of the search to a batch.
func (r rating) with(read arrow.RecordBatch, added []arrow.Array) arrow.RecordBatch {
	schema := arrow.NewSchema(append(slices.Clone(read.Schema().Fields()), r.fields()...), nil)
	return array.NewRecordBatch(schema, append(slices.Clone(read.Columns()), added...), read.NumRows())
}

// where compiles a filter on found rows. It may also refer to the added columns, which are not read
// from the table.
func (r rating) where(ctx context.Context, what, sql string, of condition.Relation) (*snapshot.Where, error) {
	bound, err := of.Bind(ctx, what, sql, plan.BindFilter, r.fields()...)
	if err != nil {
		return nil, apierror.OfFilter(err)
	}
	var names []string
	for _, f := range r.fields() {
		names = append(names, f.Name)
	}
	return condition.Where(what, bound, names...), nil
}

// scoreField is the column of the distance or score.
func scoreField(name string) arrow.Field {
	return arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float32, Nullable: true}
}

// elementField is the column with the position of an element in its list, from 0. A position is a
// list because lists may be nested.
var elementField = arrow.Field{Name: elementColumn, Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Uint32)}

// scores returns the distances or scores by which the search has ordered the found rows.
func scores(hits []found) arrow.Array {
	values := make([]float32, len(hits))
	for i, h := range hits {
		values[i] = h.Distance
	}
	return plain(arrow.PrimitiveTypes.Float32, arrow.Float32Traits.CastToBytes(values), len(hits))
}

// elements returns the positions of found elements, each as a list of one number.
func elements(hits []found) arrow.Array {
	values, offsets := make([]uint32, len(hits)), make([]int32, len(hits)+1)
	for i, h := range hits {
		values[i], offsets[i+1] = h.Part, int32(i+1)
	}
	inside := plain(arrow.PrimitiveTypes.Uint32, arrow.Uint32Traits.CastToBytes(values), len(hits))
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))}
	return array.MakeFromData(array.NewData(elementField.Type, len(hits), buffers, []arrow.ArrayData{inside.Data()}, 0, 0))
}
