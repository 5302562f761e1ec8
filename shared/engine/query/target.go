package query

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/internal/explain"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// A target is a vector column together with the query vectors.
type target struct {
	column  string // or the path of a member of structs
	measure measurer
	metric  vector.Metric
	// lists means that a row has a list of vectors, and that all query vectors form one query. The
	// distance of a row is the sum, over the query vectors, of the distance to the nearest vector of
	// the row.
	lists bool
	batch bool // each query vector is a query of its own, with its number in the answer

	only  func(fragment uint64) bool // the fragments to search; nil: all
	index *snapshot.Index            // answers the search; nil: all rows are measured
	use   string                     // use of the index, for the plan
}

// queries returns the number of queries, for each of which the search returns k rows.
func (t *target) queries() int {
	if t.lists {
		return 1
	}
	return t.measure.queries()
}

// A measurer computes distances between vectors and each query vector.
type measurer interface {
	queries() int
	measure(items arrow.ArrayData, from, rows int, out [][]float32)
}

// newTarget resolves the column and the query vectors of a search.
func newTarget(d *dataset.Dataset, q *Query) (*target, error) {
	n := q.Nearest
	column, err := vectorColumn(d, n.Column, len(n.Vectors[0]))
	if err != nil {
		return nil, err
	}
	vectors, lists := vectorType(column.Type)
	if vectors == nil {
		why := "the table has none"
		if all, _ := vectorPaths(d.Schema().Fields, 0); len(all) > 0 {
			why = "choose one of " + listed(all)
		}
		return nil, protocol.Errorf(protocol.InvalidInput, "column %s of type %s does not hold vectors, which are fixed-size lists of numbers; %s", column.Name, column.Type, why)
	}
	t := &target{column: column.Name, lists: lists, batch: n.Numbered && !lists}
	if given := len(n.Vectors[0]); given != int(vectors.Len()) {
		return nil, protocol.Errorf(protocol.InvalidInput, "vector has %d dimensions; column %s has %d", given, column.Name, vectors.Len())
	}
	asked, err := t.useIndex(d, q)
	if err != nil {
		return nil, err
	}
	if t.metric, err = metricOf(vectors.Elem(), asked); err == nil {
		t.measure, err = newMeasurer(vectors.Elem(), t.metric, n.Vectors)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.InvalidInput, "column %s: %w", column.Name, err)
	}
	return t, nil
}

// useIndex finds the index that answers the search. If the query names no metric, it uses the
// metric of the index; if the metrics differ, the search measures all rows. A fast search covers
// only the rows in the index, and no rows if there is no index with the metric, even if the query
// bypasses the index.
func (t *target) useIndex(d *dataset.Dataset, q *Query) (asked *vector.Metric, err error) {
	asked, t.use = q.Nearest.Metric, "index=none"
	index, err := vectorIndex(d, t.column)
	if err != nil {
		return asked, err
	}
	if index != nil && (q.FastSearch || !q.Nearest.BypassIndex) {
		var metric *vector.Metric // nil for metrics of newer writers
		if known, err := vector.ParseMetric(index.Kind.Metric); err == nil {
			metric = &known
		}
		if asked == nil {
			asked = metric
		}
		if asked != nil && (metric == nil || *asked != *metric) {
			index = nil
		}
	}
	switch {
	case index != nil && (q.FastSearch || !q.Nearest.BypassIndex):
		t.index, t.use = index, "index="+index.Name
		if q.FastSearch {
			t.only = index.Covers
		}
	case q.FastSearch:
		t.use, t.only = "index=none (nothing to search fast)", func(uint64) bool { return false }
	case index != nil:
		t.use = fmt.Sprintf("index=%s (bypassed: all rows are measured)", index.Name)
	}
	return asked, nil
}

// newMeasurer converts the query vectors to the type of the column.
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
	return nil, fmt.Errorf("a column with vectors of %s cannot be searched", item)
}

// float32s rounds the elements of a query vector for a column of float32.
func float32s(v []float64) ([]float32, error) {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out, nil
}

// bytesOf converts a query vector for a column of bytes. The error names an element that is no byte.
func bytesOf(v []float64) ([]uint8, error) {
	out := make([]uint8, len(v))
	for i, x := range v {
		if x < 0 || x > math.MaxUint8 || x != math.Trunc(x) {
			return nil, fmt.Errorf("vector element %d is not an integer from 0 to 255, which a column of bytes needs", i)
		}
		out[i] = uint8(x)
	}
	return out, nil
}

// metricOf returns the metric of the query, or the default for the column's type.
func metricOf(item arrow.DataType, asked *vector.Metric) (vector.Metric, error) {
	isBytes := item.ID() == arrow.UINT8
	switch {
	case asked == nil && isBytes:
		return vector.Hamming, nil
	case asked == nil:
		return vector.L2, nil
	case isBytes != (*asked == vector.Hamming):
		return 0, fmt.Errorf("distance_type %s does not measure vectors of %s", asked, item)
	}
	return *asked, nil
}

// measuring implements measurer for one element type.
type measuring[T vector.Element] struct {
	prepared []*vector.Query[T]
}

// prepare converts the query vectors to the element type of the column, and prepares them for the
// metric.
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

// nearest measures rows and returns the k nearest for each query, nearest first, query by query.
// The ids of the hits are row addresses. It counts the rows for the plan step read.
func (t *target) nearest(ctx context.Context, d *dataset.Dataset, opts snapshot.ScanOptions, read *explain.Step, k int, limit vector.Bounds) ([]found, error) {
	parts, err := snapshot.Map(ctx, d.Snapshot, opts, func(ctx context.Context, batch arrow.RecordBatch) ([]*vector.TopK, error) {
		read.Made(batch)
		return t.nearestOf(ctx, batch, k, limit)
	})
	if err != nil {
		return nil, err
	}
	// This is the memory of the best hits of all batches, and of a copy.
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
	return hitsOfAll(best), nil
}

// hitsOfAll returns the hits of all queries, query by query.
func hitsOfAll(best []*vector.TopK) []found {
	var hits []found
	for q := range best {
		for _, h := range best[q].Hits() {
			hits = append(hits, found{Hit: h, query: int32(q)})
		}
	}
	return hits
}

func (t *target) newTopKs(k int, limit vector.Bounds) []*vector.TopK {
	tops := make([]*vector.TopK, t.queries())
	for q := range tops {
		tops[q] = vector.NewTopK(k, limit)
	}
	return tops
}

// hitBytes is the memory of a hit in a TopK, whose capacity may be twice its length.
const hitBytes = 32

// measureRows is the number of rows measured at a time. It bounds the memory of their distances to
// all query vectors.
const measureRows = 1 << 12

// nearestOf measures the rows of one batch, which has a column of vectors and one of addresses. The
// context holds the memory of the result.
func (t *target) nearestOf(ctx context.Context, batch arrow.RecordBatch, k int, limit vector.Bounds) ([]*vector.TopK, error) {
	tops := t.newTopKs(k, limit)
	rows := int(batch.NumRows())
	if rows == 0 {
		return tops, nil
	}
	if _, err := memory.Take(ctx, hitBytes*int64(len(tops))*int64(min(k, rows))); err != nil {
		return nil, err
	}
	return tops, t.eachDistance(ctx, batch, func(query int, distances []float32, at []uint64) {
		tops[query].AddAll(distances, at)
	})
}

// eachDistance measures the rows of a batch in blocks. For each block and query it calls show with
// the distances and addresses of the rows.
func (t *target) eachDistance(ctx context.Context, batch arrow.RecordBatch, show func(query int, distances []float32, at []uint64)) error {
	rows := int(batch.NumRows())
	column := batch.Column(0)
	at := batch.Column(1).(*array.Uint64).Uint64Values()
	// A run of lists may exceed a block by the longest list.
	vectors := measureRows
	if t.lists {
		vectors += listBlock + longest(column.(*array.List))
	}
	held, err := memory.Take(ctx, 4*int64(t.measure.queries())*int64(min(vectors, max(rows, vectors-measureRows))))
	if err != nil {
		return err
	}
	defer held.Release()
	distances := make([][]float32, t.queries())
	for q := range distances {
		distances[q] = make([]float32, min(rows, measureRows))
	}
	for from := 0; from < rows; from += measureRows {
		if err := ctx.Err(); err != nil {
			return err
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
		for q := range distances {
			if !t.lists {
				dropNulls(part, distances[q])
			}
			show(q, distances[q], at[from:to])
		}
	}
	return nil
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

// dropNulls sets the distances of vectors that are null or contain a null to NaN, so that they are
// never found.
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
