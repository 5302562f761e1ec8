package quantize

import (
	"fmt"
	"math"
	"math/bits"

	"tiltyard/shared/lance"
)

// A rotation turns vectors before RQ encodes them, so that each dimension carries about the same part of
// the length. It preserves lengths and inner products.
type rotation struct {
	dim    int
	signs  []byte    // a fast rotation: the sign bits of its rounds
	matrix []float32 // otherwise: dim rows of dim numbers
}

// rotationRounds is the number of rounds of a fast rotation.
const rotationRounds = 4

// signBytes is the length of the sign bits of a fast rotation.
func signBytes(dim int) int { return rotationRounds * ((dim + 7) / 8) }

// newRotation returns the rotation of a segment: fast if it has sign bits, else that of the matrix in a
// tensor.
func newRotation(dim int, signs []int, tensor []byte) (*rotation, error) {
	r := &rotation{dim: dim}
	if tensor == nil {
		if len(signs) != signBytes(dim) {
			return nil, fmt.Errorf("%w: %d bytes of signs rotate %d dimensions", lance.ErrCorrupt, len(signs), dim)
		}
		for _, b := range signs {
			if b < 0 || b > math.MaxUint8 {
				return nil, fmt.Errorf("%w: a rotation has the byte %d", lance.ErrCorrupt, b)
			}
			r.signs = append(r.signs, byte(b))
		}
		return r, nil
	}
	t, err := DecodeTensor(tensor)
	if err != nil {
		return nil, fmt.Errorf("rotation: %w", err)
	}
	if t.Rows != dim || t.Width != dim {
		return nil, fmt.Errorf("%w: a rotation of shape [%d, %d] for %d dimensions", lance.ErrCorrupt, t.Rows, t.Width, dim)
	}
	r.matrix = t.Values
	return r, nil
}

// apply writes a vector rotated.
func (r *rotation) apply(v, out []float32) {
	if r.matrix != nil {
		for i := range out {
			out[i] = 0
			for j, x := range r.matrix[i*r.dim : (i+1)*r.dim] {
				out[i] += x * v[j]
			}
		}
		return
	}
	copy(out, v)
	r.mix(out)
}

// mix rotates a vector in place, in rounds. A round changes signs and then mixes a window whose length is a
// power of two: the first dimensions in even rounds, the last in odd ones. If the window is shorter than
// the vector, a round also mixes the first half of the vector with the second.
//
// Source: vector/bq/rotation.rs of crate lance-index.
func (r *rotation) mix(v []float32) {
	window := 1 << (bits.Len(uint(r.dim)) - 1)
	each := len(r.signs) / rotationRounds
	for round := range rotationRounds {
		for i, b := range r.signs[round*each : (round+1)*each] {
			for ; b != 0; b &= b - 1 {
				if at := 8*i + bits.TrailingZeros8(b); at < len(v) {
					v[at] = -v[at]
				}
			}
		}
		if round%2 == 0 {
			hadamard(v[:window])
		} else {
			hadamard(v[r.dim-window:])
		}
		if window < r.dim {
			butterfly(v[:r.dim/2], v[r.dim/2:])
		}
	}
	if window < r.dim {
		for i := range v {
			v[i] /= 1 << (rotationRounds / 2) // each butterfly makes vectors longer by the root of 2
		}
	}
}

// hadamard is the Walsh-Hadamard transform, scaled so that it keeps lengths.
func hadamard(v []float32) {
	for half := 1; half < len(v); half *= 2 {
		for from := 0; from < len(v); from += 2 * half {
			butterfly(v[from:from+half], v[from+half:from+2*half])
		}
	}
	scale := 1 / float32(math.Sqrt(float64(len(v))))
	for i := range v {
		v[i] *= scale
	}
}

// butterfly replaces pairs of numbers by their sum and their difference.
func butterfly(a, b []float32) {
	b = b[:len(a)]
	for i, x := range a {
		a[i], b[i] = x+b[i], x-b[i]
	}
}
