package materialize

import (
	"context"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/arrow/take/rowchunks"
	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/process/memory"
)

// made returns the view rows for the source rows of a batch.
func (o *output) made(ctx context.Context, batch arrow.RecordBatch) iter.Seq2[arrow.RecordBatch, error] {
	if o.called != nil {
		return o.called.made(ctx, batch)
	}
	if o.plan.Each == nil {
		return rowchunks.Of(ctx, batch, o.compute)
	}
	return expand(ctx, o.plan.Each, batch, o.compute)
}

// maxExpanded is the maximal number of rows per piece of an expansion. Pieces are smaller if memory is
// short, for example if each row repeats a long text.
const maxExpanded = 8192

// A group is some rows of an expansion that are made together.
type group struct {
	rows []int32 // for each row, the position of its parent in the source batch
	// items are the positions of the values; take returns some of the values.
	items []int32
	take  func(ctx context.Context, items []int32) (arrow.Array, error)
}

// expand passes the rows of an expansion of a source batch to work, in pieces. The last column of
// the batch has the row ids, and stays the last.
func expand(ctx context.Context, x *selection.Expansion, batch arrow.RecordBatch,
	work func(context.Context, arrow.RecordBatch, int64) (arrow.RecordBatch, error),
) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for g, err := range groupsOf(ctx, x, batch) {
			if err != nil {
				yield(nil, err)
				return
			}
			places := array.NewRecordBatch(placesSchema, []arrow.Array{int32s(g.rows), int32s(g.items)}, int64(len(g.rows)))
			for made, err := range rowchunks.Of(ctx, places, func(ctx context.Context, places arrow.RecordBatch, from int64) (arrow.RecordBatch, error) {
				rows, err := g.join(ctx, x, batch, places)
				if err != nil {
					return nil, err
				}
				return work(ctx, rows, from)
			}) {
				if !yield(made, err) || err != nil {
					return
				}
			}
		}
	}
}

var placesSchema = arrow.NewSchema([]arrow.Field{{Name: "row", Type: arrow.PrimitiveTypes.Int32}, {Name: "item", Type: arrow.PrimitiveTypes.Int32}}, nil)

func int32s(values []int32) arrow.Array {
	data := array.NewData(arrow.PrimitiveTypes.Int32, len(values), []*arrowmemory.Buffer{nil, arrowmemory.NewBufferBytes(arrow.GetBytes(values))}, nil, 0, 0)
	return array.NewInt32Data(data)
}

// join returns rows of a group: the additional source columns, the values, and the row ids.
func (g *group) join(ctx context.Context, x *selection.Expansion, batch, places arrow.RecordBatch) (arrow.RecordBatch, error) {
	rows, items := places.Column(0).(*array.Int32).Int32Values(), places.Column(1).(*array.Int32).Int32Values()
	var fields []arrow.Field
	var columns []arrow.Array
	last := int(batch.NumCols()) - 1
	// Columns that no expression uses are not repeated for each value.
	for i, f := range batch.Schema().Fields() {
		if i == last {
			values, err := g.take(ctx, items)
			if err != nil {
				return nil, err
			}
			fields, columns = append(fields, x.Value()), append(columns, values)
		} else if !slices.Contains(x.Beside, f.Name) {
			continue
		}
		if err := memory.FromContext(ctx).Take(ctx, take.Bytes(batch.Column(i), rows)); err != nil {
			return nil, err
		}
		taken, err := take.Array(batch.Column(i), rows)
		if err != nil {
			return nil, err
		}
		fields, columns = append(fields, f), append(columns, taken)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(len(rows))), nil
}

// groupsOf returns the rows of an expansion in their order.
func groupsOf(ctx context.Context, x *selection.Expansion, batch arrow.RecordBatch) iter.Seq2[*group, error] {
	if x.Call == nil {
		lists := batch.Column(batch.Schema().FieldIndices(x.Column)[0]).(*array.List)
		if x.Window != nil {
			return windowsOf(ctx, x, lists)
		}
		return itemsOf(ctx, lists)
	}
	return func(yield func(*group, error) bool) {
		inPart, part, err := memory.Within(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer part.Close()
		texts, err := textsOf(inPart, x.Call, batch)
		if err != nil {
			yield(nil, err)
			return
		}
		for g, err := range chunksOf(ctx, x.Call, texts) {
			if !yield(g, err) {
				return
			}
		}
	}
}

// textsOf returns the texts that a function cuts.
func textsOf(ctx context.Context, call *selection.Call, batch arrow.RecordBatch) (array.StringLike, error) {
	texts, err := call.Text.Eval(ctx, batch)
	if err != nil {
		return nil, apierror.OfExpression("the text of "+call.Function.Name, err)
	}
	return texts.(array.StringLike), rowchunks.TakeMade(ctx, batch, texts)
}

// itemsOf returns the rows that lists expand to.
func itemsOf(ctx context.Context, lists *array.List) iter.Seq2[*group, error] {
	taken := func(ctx context.Context, items []int32) (arrow.Array, error) {
		if err := memory.FromContext(ctx).Take(ctx, take.Bytes(lists.ListValues(), items)); err != nil {
			return nil, err
		}
		return take.Array(lists.ListValues(), items)
	}
	return func(yield func(*group, error) bool) {
		g := &group{take: taken}
		for row := range lists.Len() {
			if lists.IsNull(row) {
				continue
			}
			first, end := lists.ValueOffsets(row)
			for item := first; item < end; item++ {
				g.rows, g.items = append(g.rows, int32(row)), append(g.items, int32(item))
				if len(g.rows) == maxExpanded {
					if !yield(g, ctx.Err()) {
						return
					}
					g = &group{take: taken}
				}
			}
		}
		if len(g.rows) > 0 {
			yield(g, nil)
		}
	}
}
