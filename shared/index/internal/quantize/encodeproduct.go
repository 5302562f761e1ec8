package quantize

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/index/internal/kmeans"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
)

// ProductOptions holds the training parameters of product quantization.
type ProductOptions struct {
	Places     int // sub-vectors of a vector: a divisor of its dimensions, and even with 4 bits
	Bits       int // 4 or 8, of the code of a sub-vector
	Iterations int
	Random     *rand.Rand
}

// A productEncoder makes the codes of PQ.
type productEncoder struct {
	product  // its tables find the nearest centroids, under any metric by L2
	dim      int
	codebook []float32
}

// TrainProduct returns the encoder of PQ with a codebook of sample vectors, which are in random order
// and, under L2 and cosine, residuals. There must be a vector for each of the 2^Bits codes.
func TrainProduct(ctx context.Context, sample *Vectors, o ProductOptions) (Decoder, error) {
	p := &productEncoder{dim: sample.Dim, codebook: make([]float32, sample.Dim<<o.Bits)}
	p.product = product{
		metric: sample.Metric, element: sample.Element, bits: o.Bits, places: o.Places, width: sample.Dim / o.Places, transposed: true,
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for place := range o.Places {
		random := rand.New(rand.NewPCG(o.Random.Uint64(), o.Random.Uint64()))
		group.Go(func() error {
			held, err := memory.Take(ctx, 4*int64(sample.Rows()*p.width))
			if err != nil {
				return err
			}
			defer held.Release()
			centroids, err := kmeans.Train(ctx, p.part(sample, place), p.width, kmeans.Options{
				Clusters: 1 << o.Bits, Iterations: o.Iterations, Metric: vector.L2, Workers: 1, Random: random,
			})
			copy(p.codebook[place*p.width<<o.Bits:], centroids)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if p.element == arrow.FLOAT16 {
		RoundHalf(p.codebook)
	}
	p.tables = tablesOf(vector.L2, p.codebook, p.width<<p.bits, p.width)
	return p, nil
}

// part returns the contiguous sub-vectors of all vectors at one place.
func (p *productEncoder) part(v *Vectors, place int) []float32 {
	part := make([]float32, 0, v.Rows()*p.width)
	for at := place * p.width; at < len(v.Values); at += v.Dim {
		part = append(part, v.Values[at:at+p.width]...)
	}
	return part
}

func (p *productEncoder) Residual() bool { return p.metric != vector.Dot }

// Encode writes the nearest centroid of each sub-vector. Codes of 4 bits share a byte, the even place in
// its low half.
func (p *productEncoder) Encode(v *Vectors, _ []uint32, out []byte) {
	rows, width := v.Rows(), p.rowBytes()
	numbers, distances := make([]uint32, rows), make([]float32, rows)
	for place, table := range p.tables {
		table.Nearest(p.part(v, place), nil, numbers, distances)
		for row, number := range numbers {
			switch code := byte(number); {
			case p.bits == 8:
				out[row*width+place] = code
			case place%2 == 0:
				out[row*width+place/2] = code
			default:
				out[row*width+place/2] |= code << 4
			}
		}
	}
}

// Decode concatenates the centroids that a code selects.
func (p *productEncoder) Decode(code []byte, out []float32) {
	for place := range p.places {
		number := int(code[place*p.bits/8])
		if p.bits == 4 {
			number = number >> (place % 2 * 4) & 15
		}
		copy(out[place*p.width:(place+1)*p.width], p.codebook[(place<<p.bits+number)*p.width:])
	}
}

func (p *productEncoder) Buffer() []byte {
	t := Tensor{Element: p.element, Rows: 1 << p.bits, Width: p.dim, Values: p.codebook}
	return t.Encode()
}

// Metadata returns the storage_metadata of PQ. buffer is the number of the global buffer with the codebook.
func (p *productEncoder) Metadata(buffer int) ([]byte, error) {
	return json.Marshal(struct {
		Buffer     int   `json:"codebook_position"`
		Bits       int   `json:"nbits"`
		Places     int   `json:"num_sub_vectors"`
		Dim        int   `json:"dimension"`
		Tensor     []int `json:"codebook_tensor"`
		Transposed bool  `json:"transposed"`
	}{buffer, p.bits, p.places, p.dim, []int{}, true})
}

// Store transposes the codes: the first bytes of all rows, then the second bytes, and so on.
func (p *productEncoder) Store(codes []byte, rows int) [][]byte {
	width := p.rowBytes()
	turned := make([]byte, len(codes))
	for row := range rows {
		for i, c := range codes[row*width : (row+1)*width] {
			turned[i*rows+row] = c
		}
	}
	return [][]byte{turned}
}
