package quantize

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
)

// flat is no quantizer: the codes are the vectors.
//
//	flat  fixed-size list of the column's elements
type flat struct {
	column Column
	metric vector.Metric
}

func newFlat(s Spec) (Quantizer, error) {
	var m struct {
		Dim int `json:"dim"`
	}
	if err := decode(s, &m); err != nil {
		return nil, err
	}
	if m.Dim != s.Dim {
		return nil, fmt.Errorf("%w: vectors of %d dimensions under centroids of %d", lance.ErrCorrupt, m.Dim, s.Dim)
	}
	return &flat{Column{"flat", s.Element, s.Dim}, s.Metric}, nil
}

func (f *flat) Columns() []Column { return []Column{f.column} }
func (f *flat) Bytes() int64      { return 0 }
func (f *flat) QueryBytes() int64 { return int64(f.column.RowBytes()) }

func (f *flat) Prepare(v *Vector) (Prepared, error) {
	switch f.column.Element {
	case arrow.FLOAT32:
		return prepareFlat(f.metric, v.Values)
	case arrow.FLOAT16:
		return prepareFlat(f.metric, vector.RoundToFloat16(v.Values))
	case arrow.FLOAT64:
		return prepareFlat(f.metric, v.Wide)
	case arrow.UINT8:
		return prepareFlat(f.metric, v.Bytes)
	}
	return nil, fmt.Errorf("%w: vectors of %s", lance.ErrUnsupported, f.column.Element)
}

func prepareFlat[T vector.Element](metric vector.Metric, values []T) (Prepared, error) {
	query, err := vector.NewQuery(metric, values)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lance.ErrUnsupported, err)
	}
	return flatQuery[T]{query}, nil
}

type flatQuery[T vector.Element] struct{ query *vector.Query[T] }

func (q flatQuery[T]) Meter(codes *Codes) Meter {
	return flatMeter[T]{q.query, arrow.GetData[T](codes.Columns[0])}
}

type flatMeter[T vector.Element] struct {
	query *vector.Query[T]
	rows  []T
}

func (m flatMeter[T]) Measure(from int, out []float32) {
	dim := m.query.Dim()
	m.query.Distances(m.rows[from*dim:(from+len(out))*dim], out)
}

func (m flatMeter[T]) Near(from, to int, limit float32, found []Found) []Found {
	return nearOf(m, from, to, limit, found)
}

func (m flatMeter[T]) One(row int) float32 {
	var out [1]float32
	m.Measure(row, out[:])
	return out[0]
}
