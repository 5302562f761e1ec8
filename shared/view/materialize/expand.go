package materialize

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine/pieces"
	"tiltyard/shared/memory"
	"tiltyard/shared/sql/selection"
	"tiltyard/shared/take"
)

// made returns the rows of the view that the rows of a batch of the source give.
func (o *output) made(ctx context.Context, batch arrow.RecordBatch) iter.Seq2[arrow.RecordBatch, error] {
	if o.plan.Each == nil {
		return pieces.Of(ctx, batch, o.compute)
	}
	return expand(ctx, o.plan.Each, batch, o.compute)
}

// maxExpanded is how many rows of an expansion are made at once at most. They are fewer when memory is
// too short for that many, as when a long text stands beside each.
const maxExpanded = 8192

// expand passes the rows that an expansion makes of a batch of the source to work, some at a time.
func expand(ctx context.Context, x *selection.Expansion, batch arrow.RecordBatch,
	work func(context.Context, arrow.RecordBatch, int64) (arrow.RecordBatch, error),
) iter.Seq2[arrow.RecordBatch, error] {
	at := batch.Schema().FieldIndices(x.Column)[0]
	lists := batch.Column(at).(*array.List)
	fields := batch.Schema().Fields()
	fields[at] = x.Item()
	schema := arrow.NewSchema(fields, nil)

	// join returns rows of the expansion. A row of places has where the row of the source and where
	// the item is.
	join := func(ctx context.Context, places arrow.RecordBatch) (arrow.RecordBatch, error) {
		rows, items := places.Column(0).(*array.Int32).Int32Values(), places.Column(1).(*array.Int32).Int32Values()
		taken := make([]arrow.Array, len(fields))
		for i, c := range batch.Columns() {
			from := rows
			if i == at {
				c, from = lists.ListValues(), items
			}
			err := memory.FromContext(ctx).Take(ctx, take.Bytes(c, from))
			if err == nil {
				taken[i], err = take.Array(c, from)
			}
			if err != nil {
				return nil, err
			}
		}
		return array.NewRecordBatch(schema, taken, int64(len(rows))), nil
	}
	return func(yield func(arrow.RecordBatch, error) bool) {
		for places := range placesOf(lists) {
			for piece, err := range pieces.Of(ctx, places, func(ctx context.Context, places arrow.RecordBatch, from int64) (arrow.RecordBatch, error) {
				rows, err := join(ctx, places)
				if err != nil {
					return nil, err
				}
				return work(ctx, rows, from)
			}) {
				if !yield(piece, err) || err != nil {
					return
				}
			}
		}
	}
}

var placesSchema = arrow.NewSchema([]arrow.Field{{Name: "row", Type: arrow.PrimitiveTypes.Int32}, {Name: "item", Type: arrow.PrimitiveTypes.Int32}}, nil)

// placesOf returns the rows that lists expand to, at most maxExpanded at a time: for each one the place
// of its list, and the place of its item among the items of all lists.
func placesOf(lists *array.List) iter.Seq[arrow.RecordBatch] {
	return func(yield func(arrow.RecordBatch) bool) {
		var rows, items []int32
		flush := func() bool {
			batch := array.NewRecordBatch(placesSchema, []arrow.Array{int32s(rows), int32s(items)}, int64(len(rows)))
			rows, items = nil, nil
			return yield(batch)
		}
		for row := range lists.Len() {
			if lists.IsNull(row) {
				continue
			}
			first, end := lists.ValueOffsets(row)
			for item := first; item < end; item++ {
				rows, items = append(rows, int32(row)), append(items, int32(item))
				if len(rows) == maxExpanded && !flush() {
					return
				}
			}
		}
		if len(rows) > 0 {
			flush()
		}
	}
}

func int32s(values []int32) arrow.Array {
	data := array.NewData(arrow.PrimitiveTypes.Int32, len(values), []*arrowmemory.Buffer{nil, arrowmemory.NewBufferBytes(arrow.GetBytes(values))}, nil, 0, 0)
	return array.NewInt32Data(data)
}
