package quantize

import (
	"fmt"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
)

// EncoderOf returns an encoder for a Quantizer that was read from a file. centroids are the centroids of
// all partitions. A quantizer that cannot encode is lance.ErrUnsupported.
func EncoderOf(q Quantizer, centroids []float32) (Encoder, error) {
	switch q := q.(type) {
	case *flat:
		return &flatEncoder{*q}, nil
	case *scalar:
		return &scalarEncoder{*q}, nil
	case *product:
		p := &productEncoder{product: *q, dim: q.places * q.width}
		for _, t := range q.tables {
			p.codebook = append(p.codebook, t.Vectors()...)
		}
		p.transposed = true // as encoders write codes
		p.tables = tablesOf(vector.L2, p.codebook, p.width<<p.bits, p.width)
		return p, nil
	case *rabit:
		if q.rotation.matrix != nil {
			return nil, fmt.Errorf("%w: codes of RQ under a rotation by a matrix", lance.ErrUnsupported)
		}
		return newRabitEncoder(*q, centroids), nil
	}
	return nil, fmt.Errorf("%w: codes of %T", lance.ErrUnsupported, q)
}
