package quantize

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tiltyard/shared/index/vector"
)

// randomProduct returns a quantizer with a random codebook, and a partition of random codes.
func randomProduct(random *rand.Rand, metric vector.Metric, bits, places, rows int) (*product, *Codes) {
	const width = 4
	p := &product{metric: metric, bits: bits, places: places, width: width, transposed: true}
	book := make([]float32, places*width<<bits)
	for i := range book {
		book[i] = float32(random.NormFloat64())
	}
	p.tables = tablesOf(vector.Dot, book, width<<bits, width)
	if metric != vector.Dot {
		for centroid := range slices.Chunk(book, width) {
			square := float32(0)
			for _, x := range centroid {
				square += x * x
			}
			p.squares = append(p.squares, square)
		}
	}
	codes := &Codes{Rows: rows, Columns: [][]byte{make([]byte, rows*p.rowBytes())}, Centroid: make([]float32, places*width)}
	for i := range codes.Columns[0] {
		codes.Columns[0][i] = byte(random.Uint32())
	}
	for i := range codes.Centroid {
		codes.Centroid[i] = float32(random.NormFloat64()) * 3
	}
	p.arrange(codes)
	return p, codes
}

// A limit does not change the distances of measured rows, and skipped rows are farther than the limit.
func TestPQLeavesOutRowsThatAreFar(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	left, kernels := 0, false
	for _, c := range []struct{ bits, places int }{{8, 96}, {8, 16}, {8, 7}, {4, 30}, {8, 1}} {
		for _, metric := range []vector.Metric{vector.L2, vector.Dot} {
			p, codes := randomProduct(random, metric, c.bits, c.places, 700)
			v := &Vector{Values: make([]float32, len(codes.Centroid))}
			for i := range v.Values {
				v.Values[i] = codes.Centroid[i] + float32(random.NormFloat64())
			}
			prepared, err := p.Prepare(v)
			if err != nil {
				t.Fatal(err)
			}
			kernels = prepared.(*productQuery).boundsTable() != nil
			exact := make([]float32, codes.Rows)
			prepared.Meter(codes).Measure(0, exact)
			sorted := slices.Sorted(slices.Values(exact))
			for _, limit := range []float32{sorted[0], sorted[40], sorted[350], sorted[699], sorted[0] - 1} {
				const from = 13
				got := make([]float32, codes.Rows-from-5)
				meter := prepared.Meter(codes)
				for i := range got {
					got[i] = noLimit
				}
				for _, found := range meter.Near(from, from+len(got), limit, nil) {
					got[found.Row-from] = found.Distance
				}
				for i, d := range got {
					switch want := exact[from+i]; {
					case d == noLimit && want <= limit:
						t.Fatalf("%+v, %s: row %d is left out, which is %v far; the limit is %v", c, metric, i, want, limit)
					case d == noLimit:
						left++
					case d != want || meter.One(from+i) != want:
						t.Fatalf("%+v, %s: row %d is %v far under a limit, %v alone, and else %v", c, metric, i, d, meter.One(from+i), want)
					}
				}
			}
		}
	}
	if !kernels {
		t.Skip("NO ROW CAN BE LEFT OUT: this processor has no kernel for codes")
	}
	if left < 10_000 {
		t.Errorf("%d rows are left out, too few", left)
	}
}
