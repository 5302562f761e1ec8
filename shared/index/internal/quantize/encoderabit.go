package quantize

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"

	"tiltyard/shared/index/vector"
)

// A rabitEncoder makes the codes of RQ.
type rabitEncoder struct {
	rabit
	centroids []float32 // of all partitions, rotated
	places    []place   // of the bits of the magnitudes of a block
}

// A place is where a bit is: its byte in a block, and the bit in that byte.
type place struct{ at, shift uint16 }

// NewRabitEncoder returns the RQ encoder with bits, 1 to 9, per dimension. dim is a multiple of 8.
// centroids are the centroids of all partitions. The rotation is random.
func NewRabitEncoder(metric vector.Metric, centroids []float32, dim, bits int, random *rand.Rand) Encoder {
	signs := make([]byte, signBytes(dim))
	for i := range signs {
		signs[i] = byte(random.Uint32())
	}
	return newRabitEncoder(rabit{metric, dim, bits, &rotation{dim: dim, signs: signs}}, centroids)
}

func newRabitEncoder(r rabit, centroids []float32) *rabitEncoder {
	e := &rabitEncoder{rabit: r, centroids: make([]float32, len(centroids))}
	for i := range blockDims * r.magnitude() {
		at, shift := magnitudeBit(r.magnitude(), i/r.magnitude(), i%r.magnitude())
		e.places = append(e.places, place{uint16(at), uint16(shift)})
	}
	for from := 0; from < len(centroids); from += r.dim {
		e.rotation.apply(centroids[from:from+r.dim], e.centroids[from:from+r.dim])
	}
	return e
}

func (e *rabitEncoder) Residual() bool { return true }
func (e *rabitEncoder) Buffer() []byte { return nil }

// Encode rotates each residual and encodes it with the rotated centroid of its partition, on which the
// factors depend.
func (e *rabitEncoder) Encode(v *Vectors, partitions []uint32, out []byte) {
	width := RowBytes(e.Columns())
	row := rabitRow{encoder: e, residual: make([]float32, e.dim), sizes: make([]float32, e.dim), magnitudes: make([]uint8, e.dim)}
	for i, partition := range partitions {
		e.rotation.apply(v.Values[i*e.dim:(i+1)*e.dim], row.residual)
		row.centroid = e.centroids[int(partition)*e.dim:][:e.dim]
		row.encode(out[i*width : (i+1)*width])
	}
}

// Store packs the signs.
func (e *rabitEncoder) Store(codes []byte, rows int) [][]byte {
	columns := split(codes, rows, e.Columns())
	columns[0] = packSigns(columns[0], rows, e.signWidth())
	return columns
}

// Metadata returns the storage_metadata of RQ, with the fields and their order as native Lance writes them.
func (e *rabitEncoder) Metadata(int) ([]byte, error) {
	signs := make([]int, len(e.rotation.signs))
	for i, b := range e.rotation.signs {
		signs[i] = int(b)
	}
	return json.Marshal(struct {
		Buffer    *int   `json:"rotate_mat_position"`
		Signs     []int  `json:"fast_rotation_signs"`
		Rotation  string `json:"rotation_type"`
		Dim       int    `json:"code_dim"`
		Bits      int    `json:"num_bits"`
		Packed    bool   `json:"packed"`
		Estimator string `json:"query_estimator"`
	}{nil, signs, rabitFast, e.dim, e.bits, true, rabitRawQuery})
}

// A rabitRow is a vector that is being encoded.
type rabitRow struct {
	encoder            *rabitEncoder
	residual, centroid []float32 // rotated
	sizes              []float32 // of the elements of the residual, without their signs
	magnitudes         []uint8
}

// encode writes the code and the factors of the row.
func (r *rabitRow) encode(out []byte) {
	e := r.encoder
	clear(out)
	square := float32(0)
	for i, x := range r.residual {
		square += x * x
		r.sizes[i] = float32(math.Abs(float64(x)))
		if !math.Signbit(float64(x)) {
			out[i/8] |= 1 << (i % 8)
		}
	}
	clear(r.magnitudes)
	factors := out[e.signWidth():]
	signs := r.products()
	add, scale := r.factors(square, signs)
	putFloats(factors, add, scale, r.errorFactor(square, signs.residual))
	if e.bits == 1 {
		return
	}
	r.setMagnitudes()
	code := factors[3*4:]
	for i, m := range r.magnitudes {
		if math.Signbit(float64(r.residual[i])) {
			m = uint8(r.highest()) - m
		}
		block := code[i/blockDims*8*e.magnitude():]
		for bit, to := range e.places[i%blockDims*e.magnitude():][:e.magnitude()] {
			block[to.at] |= m >> bit & 1 << to.shift
		}
	}
	add, scale = r.factors(square, r.products())
	putFloats(code[magnitudeBytes(e.dim, e.magnitude()):], add, scale)
}

func putFloats(out []byte, values ...float32) {
	for i, x := range values {
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(x))
	}
}

// rabitProducts are the inner products of a code with the residual and with the centroid, and that of
// these two. A code is the magnitude and a half, with the sign of the residual.
type rabitProducts struct{ residual, centroid, both float32 }

// products returns the inner products of the decoded code with the residual and the centroid, and of these
// two with each other.
func (r *rabitRow) products() (p rabitProducts) {
	for i, x := range r.residual {
		code := float32(math.Copysign(float64(r.magnitudes[i])+0.5, float64(x)))
		p.residual += x * code
		p.centroid += r.centroid[i] * code
		p.both += x * r.centroid[i]
	}
	return p
}

// factors returns the numbers that turn inner products with the code into distances. square is the squared
// length of the residual. A row too long for float32 is infinitely far from every query.
func (r *rabitRow) factors(square float32, p rabitProducts) (add, scale float32) {
	if p.residual != 0 {
		add, scale = square*p.centroid/p.residual, -square/p.residual
	}
	if r.encoder.metric == vector.Dot {
		add = 1 - p.both + add
	} else {
		add, scale = square+2*add, 2*scale
	}
	if sum := add + scale; sum-sum != 0 {
		return float32(math.Inf(1)), 0
	}
	return add, scale
}

// rabitDeviations is the number of standard deviations in the error bound.
const rabitDeviations = 1.9

// errorFactor returns a bound of the error that signs alone make, for a query at distance 1 from the
// centroid.
func (r *rabitRow) errorFactor(square, product float32) float32 {
	if product == 0 {
		return 0
	}
	dim := float64(len(r.residual))
	angle := float64(square) * dim / 4 / (float64(product) * float64(product))
	bound := rabitDeviations * math.Sqrt(float64(square)*max(angle-1, 0)/(dim-1))
	if r.encoder.metric == vector.Dot {
		return float32(bound)
	}
	return float32(2 * bound)
}

// Scales that are tried to find the best for the magnitudes of a row: first some over the whole range,
// then some around the best of these. The fewer dimensions, the more does the scale matter.
const coarseScales, fineScales, scaleElements = 16, 8, 2048

// tiny is the residual size below which all magnitudes are 0, because computing them would overflow.
const tiny = 1e-30

// setMagnitudes sets the magnitudes so that the code has nearly the direction of the residual. Native
// Lance tries all scales at which a magnitude changes; these here are fewer, and nearly as good.
func (r *rabitRow) setMagnitudes() {
	largest := slices.Max(r.sizes)
	if largest < tiny || math.IsInf(float64(largest), 0) {
		return
	}
	// At the first scale the largest element has half of the highest magnitude. At the last scale it
	// exceeds the highest magnitude and is clamped.
	steps := float64(r.highest() + 1)
	from, to := steps/2/float64(largest), (steps+9)/float64(largest)
	coarse := coarseScales + scaleElements/len(r.sizes)
	best := r.bestScale(from, math.Pow(to/from, 1/float64(coarse)), coarse)
	factor := math.Pow(to/from, 2/float64(coarse)/fineScales)
	best = r.bestScale(best*math.Pow(factor, -fineScales/2), factor, fineScales)
	for i, x := range r.sizes {
		r.magnitudes[i] = uint8(min(x*float32(best), r.highest()))
	}
}

// highest returns the highest magnitude.
func (r *rabitRow) highest() float32 { return float32(int(1)<<r.encoder.magnitude() - 1) }

// bestScale returns the best of more + 1 scales: first, and each following one larger by factor.
func (r *rabitRow) bestScale(first, factor float64, more int) float64 {
	best, most := first, 0.
	for scale := first; more >= 0; scale, more = scale*factor, more-1 {
		if c := r.likeness(float32(scale)); c > most {
			best, most = scale, c
		}
	}
	return best
}

// likeness returns the cosine of the code at a scale and the residual, times the length of the residual. No scaled element
// is far above the highest magnitude.
func (r *rabitRow) likeness(scale float32) float64 {
	product, squares := vector.Rounded(r.sizes, scale, int32(r.highest()))
	return product / math.Sqrt(float64(squares)+float64(len(r.sizes))/4)
}
