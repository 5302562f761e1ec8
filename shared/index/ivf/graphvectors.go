package ivf

import (
	"context"
	"fmt"

	"tiltyard/shared/index/internal/hnsw"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// graphVectors returns the vectors of the current partition for its graph. They are the codes themselves if
// distances can be computed from codes, and otherwise the decoded vectors. If the codes are of residuals,
// the distances are the same, because all vectors of a partition have the same centroid.
func (w *writer) graphVectors(ctx context.Context) (hnsw.Vectors, memory.Hold, error) {
	decoder, ok := w.encoder.(quantize.Decoder)
	if !ok {
		return nil, memory.Hold{}, fmt.Errorf("%w: a graph of codes that stand for no vectors", lance.ErrUnsupported)
	}
	if steps, ok := w.encoder.(interface{ Step() float32 }); ok && w.grouping() == vector.L2 {
		return &stepVectors{codes: w.codes, dim: w.dim, square: steps.Step() * steps.Step()}, memory.Hold{}, nil
	}
	rows, width := len(w.ids), quantize.RowBytes(decoder.Columns())
	held, err := memory.Take(ctx, 4*int64(rows*w.dim))
	if err != nil {
		return nil, memory.Hold{}, err
	}
	values := make([]float32, rows*w.dim)
	for i := range rows {
		decoder.Decode(w.codes[i*width:(i+1)*width], values[i*w.dim:(i+1)*w.dim])
	}
	return &plainVectors{values: values, dim: w.dim, metric: w.grouping()}, held, nil
}

// stepVectors are codes of SQ, row by row.
type stepVectors struct {
	codes  []byte
	dim    int
	square float32 // the squared length of a step of the codes
}

func (v *stepVectors) Len() int                { return len(v.codes) / v.dim }
func (v *stepVectors) Measurer() hnsw.Measurer { return &stepMeasurer{stepVectors: v} }

type stepMeasurer struct {
	*stepVectors
	rows []*byte
	sums []uint32
}

func (m *stepMeasurer) Distances(from uint32, to []uint32, out []float32) {
	m.rows = m.rows[:0]
	for _, n := range to {
		m.rows = append(m.rows, &m.codes[int(n)*m.dim])
	}
	if len(m.sums) < len(to) {
		m.sums = make([]uint32, 2*len(to))
	}
	vector.BytesL2(m.codes[int(from)*m.dim:][:m.dim], m.rows, m.sums)
	for i := range to {
		out[i] = float32(m.sums[i]) * m.square
	}
}

// plainVectors are vectors of float32, row by row. The metric is L2 or Dot.
type plainVectors struct {
	values []float32
	dim    int
	metric vector.Metric
}

func (v *plainVectors) Len() int                { return len(v.values) / v.dim }
func (v *plainVectors) Measurer() hnsw.Measurer { return plainMeasurer{v} }

func (v *plainVectors) at(n uint32) []float32 { return v.values[int(n)*v.dim:][:v.dim] }

type plainMeasurer struct{ *plainVectors }

func (m plainMeasurer) Distances(from uint32, to []uint32, out []float32) {
	query, _ := vector.NewQuery(m.metric, m.at(from)) // vectors are not empty
	for i, n := range to {
		query.Distances(m.at(n), out[i:i+1])
	}
}
