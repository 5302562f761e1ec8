package engine

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/vector"
)

// A target is a vector column and what to look for in it.
type target struct {
	column  string // or the path of a member of structs
	measure measurer
	metric  vector.Metric
	// lists says that a row holds a list of vectors, and that all query vectors are one
	// query: the distance of a row is the sum of those from each query vector to the vector
	// of the row that is nearest to it.
	lists bool
	batch bool // each query vector is a query of its own, and the answer tells them apart

	only  func(fragment uint64) bool // which fragments are searched; nil: all
	index string                     // for the plan: what is made of an index
}

func (t *target) queries() int {
	if t.lists {
		return 1
	}
	return t.measure.queries()
}

// A measurer writes the distances of vectors to each of its query vectors.
type measurer interface {
	queries() int
	measure(items arrow.ArrayData, from, rows int, out [][]float32)
}

// newTarget resolves the column and the query vectors of a request against each other.
func newTarget(d *dataset.Dataset, req *protocol.QueryTableRequest) (*target, error) {
	column, err := vectorColumn(d, req.VectorColumn, len(req.Vector.Vectors[0]))
	if err != nil {
		return nil, err
	}
	vectors, lists := vectorType(column.Type)
	if vectors == nil {
		return nil, protocol.Errorf(protocol.InvalidInput, "column %s of type %s holds no vectors, which are fixed-size lists of numbers", column.Name, column.Type)
	}
	t := &target{column: column.Name, lists: lists, batch: req.Vector.Several && !lists}
	if given := len(req.Vector.Vectors[0]); given != int(vectors.Len()) {
		return nil, protocol.Errorf(protocol.InvalidInput, "vector has %d dimensions; column %s has %d", given, column.Name, vectors.Len())
	}
	asked, err := t.useIndex(d, req)
	if err != nil {
		return nil, err
	}
	if t.metric, err = metricOf(vectors.Elem(), asked); err == nil {
		t.measure, err = newMeasurer(vectors.Elem(), t.metric, req.Vector.Vectors)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.InvalidInput, "column %s: %w", column.Name, err)
	}
	return t, nil
}

// useIndex says what an index of the column means to the search. It is not searched yet,
// so all rows are measured: but its metric is the one meant when the request names none,
// and a fast search is one of the rows that it covers, which are none without an index of
// the metric. It is one of an index also where the request says to pass by the index.
func (t *target) useIndex(d *dataset.Dataset, req *protocol.QueryTableRequest) (asked protocol.DistanceType, err error) {
	asked, t.index = req.DistanceType, "index=none"
	index, err := vectorIndex(d, t.column)
	if err != nil {
		return asked, err
	}
	if index != nil && (req.FastSearch || !req.BypassVectorIndex) {
		var metric protocol.DistanceType
		if err := metric.UnmarshalText([]byte(index.Kind.Metric)); err != nil {
			return asked, fmt.Errorf("index %s: %w", index.Name, err)
		}
		if asked == protocol.DistanceUnset {
			asked = metric
		}
		if asked != metric {
			index = nil
		}
	}
	switch {
	case index != nil && req.FastSearch:
		t.index, t.only = fmt.Sprintf("index=%s (its rows are measured)", index.Name), index.Covers
	case req.FastSearch:
		t.index, t.only = "index=none (nothing to search fast)", func(uint64) bool { return false }
	case index != nil:
		t.index = fmt.Sprintf("index=%s (not used: all rows are measured)", index.Name)
	}
	return asked, nil
}

// newMeasurer prepares the query vectors in the type of the column.
func newMeasurer(item arrow.DataType, metric vector.Metric, vectors [][]float64) (measurer, error) {
	switch item.ID() {
	case arrow.FLOAT32:
		return prepare(metric, vectors, float32s)
	case arrow.FLOAT64:
		return prepare(metric, vectors, func(v []float64) ([]float64, error) { return v, nil })
	case arrow.FLOAT16:
		return prepare(metric, vectors, func(v []float64) ([]uint16, error) {
			narrow, err := float32s(v)
			return vector.RoundToFloat16(narrow), err
		})
	case arrow.UINT8:
		return prepare(metric, vectors, bytesOf)
	}
	return nil, fmt.Errorf("vectors of %s cannot be searched", item)
}

func float32s(v []float64) ([]float32, error) {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out, nil
}

func bytesOf(v []float64) ([]uint8, error) {
	out := make([]uint8, len(v))
	for i, x := range v {
		if x < 0 || x > math.MaxUint8 || x != math.Trunc(x) {
			return nil, fmt.Errorf("vector element %d is not a whole number from 0 to 255, as bytes are", i)
		}
		out[i] = uint8(x)
	}
	return out, nil
}

// metricOf returns the metric asked for, or the default of the column's type.
func metricOf(item arrow.DataType, asked protocol.DistanceType) (vector.Metric, error) {
	metric, known := map[protocol.DistanceType]vector.Metric{
		protocol.DistanceL2: vector.L2, protocol.DistanceCosine: vector.Cosine,
		protocol.DistanceDot: vector.Dot, protocol.DistanceHamming: vector.Hamming,
	}[asked]
	isBytes := item.ID() == arrow.UINT8
	switch {
	case !known && isBytes:
		return vector.Hamming, nil
	case !known:
		return vector.L2, nil
	case isBytes != (metric == vector.Hamming):
		return 0, fmt.Errorf("distance_type %s does not measure vectors of %s", metric, item)
	}
	return metric, nil
}

// measuring measures vectors of one type of element.
type measuring[T vector.Element] struct {
	prepared []*vector.Query[T]
}

func prepare[T vector.Element](metric vector.Metric, vectors [][]float64, convert func([]float64) ([]T, error)) (measurer, error) {
	m := &measuring[T]{}
	for _, v := range vectors {
		converted, err := convert(v)
		if err != nil {
			return nil, err
		}
		query, err := vector.NewQuery(metric, converted)
		if err != nil {
			return nil, err
		}
		m.prepared = append(m.prepared, query)
	}
	return m, nil
}

func (m *measuring[T]) queries() int { return len(m.prepared) }

func (m *measuring[T]) measure(items arrow.ArrayData, from, rows int, out [][]float32) {
	dim := m.prepared[0].Dim()
	values := arrow.GetData[T](items.Buffers()[1].Bytes())[items.Offset():]
	vector.DistancesMany(m.prepared, values[from*dim:(from+rows)*dim], out)
}

// nearest returns the k nearest rows of each query among some, nearest first, query by
// query. The ids of the hits are row addresses. What was read is counted as made by a step.
func (t *target) nearest(ctx context.Context, d *dataset.Dataset, among asked, read *step, k int, limit vector.Bounds) ([]found, error) {
	opts := among.options([]string{t.column, dataset.RowAddr})
	opts.Only = inBoth(t.only, among.only)
	parts, err := dataset.Map(ctx, d, opts, func(ctx context.Context, batch arrow.RecordBatch) ([]*vector.TopK, error) {
		read.made(batch)
		return t.nearestOf(ctx, batch, k, limit)
	})
	if err != nil {
		return nil, err
	}
	// The best of all, and what they are copied to.
	held, err := memory.Take(ctx, 2*hitBytes*int64(t.queries())*min(int64(k), d.CountRows()))
	if err != nil {
		return nil, err
	}
	defer held.Release()
	best := t.newTopKs(k, limit)
	for part, err := range parts {
		if err != nil {
			return nil, err
		}
		for q := range part {
			best[q].Merge(part[q])
		}
	}
	var hits []found
	for q := range best {
		for _, h := range best[q].Hits() {
			hits = append(hits, found{Hit: h, query: int32(q)})
		}
	}
	return hits, nil
}

func (t *target) newTopKs(k int, limit vector.Bounds) []*vector.TopK {
	tops := make([]*vector.TopK, t.queries())
	for q := range tops {
		tops[q] = vector.NewTopK(k, limit)
	}
	return tops
}

// hitBytes is what a hit takes in a TopK, which may have room for as many more.
const hitBytes = 32

// measureRows is how many rows are measured at a time, which bounds the memory for their
// distances from all query vectors.
const measureRows = 1 << 12

// nearestOf measures the rows of one batch: a column of vectors and one of addresses. The
// memory for its result is of the share of the context.
func (t *target) nearestOf(ctx context.Context, batch arrow.RecordBatch, k int, limit vector.Bounds) ([]*vector.TopK, error) {
	tops := t.newTopKs(k, limit)
	rows := int(batch.NumRows())
	if rows == 0 {
		return tops, nil
	}
	if _, err := memory.Take(ctx, hitBytes*int64(len(tops))*int64(min(k, rows))); err != nil {
		return nil, err
	}
	column := batch.Column(0)
	at := batch.Column(1).(*array.Uint64).Uint64Values()
	vectors := measureRows
	if t.lists {
		vectors += listBlock + longest(column.(*array.List))
	}
	held, err := memory.Take(ctx, 4*int64(t.measure.queries())*int64(min(vectors, max(rows, vectors-measureRows))))
	if err != nil {
		return nil, err
	}
	defer held.Release()
	distances := make([][]float32, len(tops))
	for q := range distances {
		distances[q] = make([]float32, min(rows, measureRows))
	}
	for from := 0; from < rows; from += measureRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		to := min(from+measureRows, rows)
		for q := range distances {
			distances[q] = distances[q][:to-from]
		}
		part := array.NewSlice(column, int64(from), int64(to))
		if t.lists {
			t.measureLists(part.(*array.List), distances[0])
		} else {
			t.measure.measure(part.Data().Children()[0], part.Data().Offset(), to-from, distances)
		}
		for q := range tops {
			if !t.lists {
				dropNulls(part, distances[q])
			}
			tops[q].AddAll(distances[q], at[from:to])
		}
	}
	return tops, nil
}

// longest returns the length of the longest list.
func longest(column *array.List) int {
	most := int64(0)
	for i := range column.Len() {
		from, to := column.ValueOffsets(i)
		most = max(most, to-from)
	}
	return int(most)
}

// dropNulls makes the distances of null vectors, and of those with a null in them, NaN:
// they are never found.
func dropNulls(column arrow.Array, distances []float32) {
	nan := float32(math.NaN())
	if column.NullN() > 0 {
		for i := range distances {
			if column.IsNull(i) {
				distances[i] = nan
			}
		}
	}
	list := column.(*array.FixedSizeList)
	items := list.ListValues()
	if items.NullN() == 0 {
		return
	}
	for i := range distances {
		start, end := list.ValueOffsets(i)
		for j := start; j < end; j++ {
			if items.IsNull(int(j)) {
				distances[i] = nan
				break
			}
		}
	}
}
