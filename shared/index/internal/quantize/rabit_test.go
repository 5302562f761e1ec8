package quantize

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/vector"
)

func TestSignsArePackedInGroups(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 5))
	for _, rows := range []int{0, 1, 31, 32, 33, 64, 100} {
		for _, width := range []int{1, 3, 16} {
			signs := make([]byte, rows*width)
			for i := range signs {
				signs[i] = byte(random.Uint32())
			}
			got := unpackSigns(packSigns(signs, rows, width), rows, width)
			for i, want := range signs {
				if got[i%width*rows+i/width] != want {
					t.Fatalf("%d rows of %d bytes: got columns %x of %x", rows, width, got, signs)
				}
			}
		}
	}
	// Row 8 is the second of a group. Its high bits follow the low bits of all rows.
	signs := make([]byte, packedRows)
	signs[8], signs[24] = 0xa5, 0x3c
	packed := packSigns(signs, packedRows, 1)
	if packed[1] != 0xc5 || packed[17] != 0x3a {
		t.Errorf("got %x", packed)
	}
}

// Each bit of each magnitude has a place of its own, and no place is left over.
func TestMagnitudesHaveTheirBitsInPlacesOfTheirOwn(t *testing.T) {
	const dim = 2 * blockDims
	for bits := 1; bits < maxRabitBits; bits++ {
		places := make([]byte, magnitudeBytes(dim, bits))
		for d := range dim {
			for bit := range bits {
				at, shift := magnitudeBit(bits, d, bit)
				places[at] |= 1 << shift
			}
		}
		if i := slices.IndexFunc(places, func(b byte) bool { return b != 0xff }); i >= 0 || len(places)*8 != dim*bits {
			t.Errorf("%d bits: %d bytes, byte %d has the places %x", bits, len(places), i, places)
		}
	}
}

func TestTablesSumUpTheirBits(t *testing.T) {
	table := newByteTable([8]float32{1, 2, 4, 8, 16, 32, 64, 128})
	for b, sum := range table {
		if sum != float32(b) {
			t.Errorf("byte %d adds %v", b, sum)
		}
	}
}

// A rotation keeps the inner products of vectors, also where no power of two holds all dimensions.
func TestRotationsKeepInnerProducts(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 5))
	for _, dim := range []int{8, 24, 64, 72, 96, 128, 1000} {
		signs := make([]int, signBytes(dim))
		for i := range signs {
			signs[i] = random.IntN(256)
		}
		r, err := newRotation(dim, signs, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, b := make([]float32, dim), make([]float32, dim)
		for i := range dim {
			a[i], b[i] = float32(random.NormFloat64()), float32(random.NormFloat64())
		}
		before, after := innerProduct(a, b), innerProduct(rotated(r, a), rotated(r, b))
		if math.Abs(before-after) > 1e-4*math.Sqrt(innerProduct(a, a)*innerProduct(b, b)) {
			t.Errorf("%d dimensions: the product is %v, and %v after it", dim, before, after)
		}
		if slices.Equal(rotated(r, a), a) {
			t.Errorf("%d dimensions: nothing is rotated", dim)
		}
	}
}

func rotated(r *rotation, v []float32) []float32 {
	out := make([]float32, len(v))
	r.apply(v, out)
	return out
}

func innerProduct(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestRotationRotatesByAMatrix(t *testing.T) {
	quarter := &Tensor{Element: elements[1].ID(), Rows: 2, Width: 2, Values: []float32{0, -1, 1, 0}}
	r, err := newRotation(2, nil, quarter.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if got := rotated(r, []float32{3, 4}); !slices.Equal(got, []float32{-4, 3}) {
		t.Errorf("got %v", got)
	}
	if _, err := newRotation(4, nil, quarter.Encode()); err == nil {
		t.Error("a matrix of other dimensions is taken")
	}
}

// Distances to RQ codes approximate the distances to the encoded vectors, better with each bit.
func TestCodesOfRQAreMeasuredAsTheVectorsTheyWereMadeOf(t *testing.T) {
	const n, dim = 75, 136
	random := rand.New(rand.NewPCG(3, 5))
	centroid, column := make([]float32, 2*dim), make([][]float64, n)
	for i := range dim {
		centroid[dim+i] = float32(random.NormFloat64())
	}
	for i := range column {
		for j := range dim {
			column[i] = append(column[i], float64(centroid[dim+j])+random.NormFloat64())
		}
	}
	query := make([]float64, dim)
	for i := range query {
		query[i] = random.NormFloat64()
	}
	for _, metric := range []vector.Metric{vector.L2, vector.Dot, vector.Cosine} {
		if metric == vector.Cosine {
			normalize(centroid[dim:])
		}
		before := math.Inf(1)
		for bits := 1; bits <= maxRabitBits; bits++ {
			off := rabitError(t, metric, bits, centroid, column, query, random)
			if off > 0.75*before || bits == 1 && off > 0.15 || bits == maxRabitBits && off > 1e-3 {
				t.Errorf("%s, %d bits: distances are off by %v, with a bit less by %v", metric, bits, off, before)
			}
			before = off
		}
	}
}

// rabitError returns the average error of the distances to codes, relative to the lengths of the vectors.
// All rows belong to the second centroid.
func rabitError(t *testing.T, metric vector.Metric, bits int, centroids []float32, column [][]float64, query []float64, random *rand.Rand) float64 {
	t.Helper()
	dim := len(query)
	v, asked := NewVectors(arrow.FLOAT32, dim, metric, len(column)), mustVector(t, query, metric)
	if _, err := v.Append(columnOf(elements[1], dim, column)); err != nil {
		t.Fatal(err)
	}
	exact := slices.Clone(v.Values)
	e := NewRabitEncoder(metric, centroids, dim, bits, random)
	partitions := make([]uint32, len(column))
	for i := range v.Values {
		partitions[i/dim] = 1
		v.Values[i] -= centroids[dim+i%dim]
	}
	codes := make([]byte, len(column)*RowBytes(e.Columns()))
	e.Encode(v, partitions, codes)
	metadata, err := e.Metadata(0)
	if err != nil {
		t.Fatal(err)
	}
	q, err := New(Spec{Kind: "RQ", Metric: metric, Dim: dim, Element: arrow.FLOAT32, Metadata: metadata, Centroids: 2})
	if err != nil {
		t.Fatal(err)
	}
	stored := &Codes{Rows: len(column), Centroid: centroids[dim:]}
	for _, c := range q.Columns() {
		at := slices.IndexFunc(e.Columns(), func(of Column) bool { return of == c })
		stored.Columns = append(stored.Columns, e.Store(codes, len(column))[at])
	}
	*stored = Cut(q, stored, 0, stored.Rows)
	p, err := q.Prepare(asked)
	if err != nil {
		t.Fatal(err)
	}
	got, off, all := make([]float32, len(column)), 0.0, 0.0
	p.Meter(stored).Measure(0, got)
	if metric == vector.Cosine {
		metric = vector.L2
	}
	for i, d := range got {
		want := distance(metric, asked.Values, exact[i*dim:(i+1)*dim])
		row := exact[i*dim : (i+1)*dim]
		off, all = off+math.Abs(float64(d)-want), all+math.Sqrt(innerProduct(row, row)*innerProduct(asked.Values, asked.Values))
	}
	return off / all
}

func mustVector(t *testing.T, values []float64, metric vector.Metric) *Vector {
	t.Helper()
	v, err := NewVector(values, arrow.FLOAT32, metric)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A limit does not change the distances of measured rows, and skipped rows are farther. Hardly any near row
// is skipped, and most far rows are.
func TestRQLeavesOutRowsThatAreFar(t *testing.T) {
	const n, dim, bits = 4000, 128, 5
	random := rand.New(rand.NewPCG(7, 5))
	for _, metric := range []vector.Metric{vector.L2, vector.Dot} {
		v := NewVectors(arrow.FLOAT32, dim, metric, n)
		for range n * dim {
			v.Values = append(v.Values, float32(random.NormFloat64()))
		}
		query := make([]float64, dim)
		for i := range query {
			query[i] = float64(v.Values[i]) + random.NormFloat64()/2
		}
		e := NewRabitEncoder(metric, make([]float32, dim), dim, bits, random).(*rabitEncoder)
		codes := make([]byte, n*RowBytes(e.Columns()))
		e.Encode(v, make([]uint32, n), codes)
		stored := &Codes{Rows: n, Columns: e.Store(codes, n), Centroid: make([]float32, dim)}
		*stored = Cut(&e.rabit, stored, 0, stored.Rows)
		p, err := e.Prepare(mustVector(t, query, metric))
		if err != nil {
			t.Fatal(err)
		}
		exact, limited := make([]float32, n), make([]float32, n)
		p.Meter(stored).Measure(0, exact)
		limit := slices.Sorted(slices.Values(exact))[100]
		for i := range limited {
			limited[i] = noLimit
		}
		near := p.Meter(stored).Near(7, n, limit, nil)
		for _, found := range near {
			limited[found.Row] = found.Distance
		}
		// The same rows are left out without bounds of estimates, which depend on the processor.
		plain, err := e.Prepare(mustVector(t, query, metric))
		if err != nil {
			t.Fatal(err)
		}
		plain.(*rabitQuery).onceBounds.Do(func() {})
		if all := plain.Meter(stored).Near(7, n, limit, nil); !slices.Equal(near, all) {
			t.Errorf("%s: %d rows are near by bounds, and %d without them", metric, len(near), len(all))
		}
		lost, left := 0, 0
		for i, d := range limited {
			switch {
			case i < 7:
			case d == noLimit && exact[i] <= limit:
				lost++
			case d == noLimit:
				left++
			case d != exact[i]:
				t.Fatalf("%s: row %d is %v far, and %v under a limit", metric, i, exact[i], d)
			}
		}
		if lost > 2 || left < n/4 {
			t.Errorf("%s: %d rows are left out, and %d that are near", metric, left, lost)
		}
	}
}

// Vectors at their centroid, and others too small or too large for factors, are encoded all the same, and have a
// distance: the zero vector none from the centroid, and a longer one at least that of a shorter one.
func TestRQEncodesAnyResidual(t *testing.T) {
	const dim = 8
	lengths := []float32{0, 1e-40, 1e-20, 1, 1e15, 1e19, 3e38}
	e := NewRabitEncoder(vector.L2, make([]float32, dim), dim, 5, rand.New(rand.NewPCG(4, 5))).(*rabitEncoder)
	v := NewVectors(arrow.FLOAT32, dim, vector.L2, len(lengths))
	for _, x := range lengths {
		for i := range dim {
			v.Values = append(v.Values, x*float32(i-3)/8)
		}
	}
	codes := make([]byte, len(lengths)*RowBytes(e.Columns()))
	e.Encode(v, make([]uint32, len(lengths)), codes)
	stored := &Codes{Rows: len(lengths), Columns: e.Store(codes, len(lengths)), Centroid: make([]float32, dim)}
	*stored = Cut(&e.rabit, stored, 0, stored.Rows)
	p, err := e.Prepare(mustVector(t, make([]float64, dim), vector.L2))
	if err != nil {
		t.Fatal(err)
	}
	distances := make([]float32, len(lengths))
	p.Meter(stored).Measure(0, distances)
	t.Log(distances)
	if distances[0] != 0 {
		t.Errorf("the zero vector is %v from the centroid", distances[0])
	}
	for i, d := range distances {
		if d != d || i > 0 && d < distances[i-1] {
			t.Errorf("vectors %v times as long are at %v", lengths, distances)
			break
		}
	}
}

// The scales that are tried lose little against the best of very many.
func TestMagnitudesHaveAboutTheDirectionOfTheResidual(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for bits := 2; bits <= maxRabitBits; bits++ {
		for _, dim := range []int{8, 128, 768} {
			r := rabitRow{encoder: &rabitEncoder{rabit: rabit{bits: bits}}, magnitudes: make([]uint8, dim)}
			length := 0.0
			for range dim {
				r.sizes = append(r.sizes, float32(math.Abs(random.NormFloat64())))
				length += float64(r.sizes[len(r.sizes)-1]) * float64(r.sizes[len(r.sizes)-1])
			}
			r.setMagnitudes()
			product, square := 0.0, 0.0
			for i, m := range r.magnitudes {
				product += float64(r.sizes[i]) * (float64(m) + 0.5)
				square += (float64(m) + 0.5) * (float64(m) + 0.5)
			}
			got, best := product/math.Sqrt(square*length), 0.0
			for scale := 0.01; scale < 1000; scale *= 1.002 {
				best = max(best, r.likeness(float32(scale))/math.Sqrt(length))
			}
			// The error of distances is about that of the angle.
			if lost := math.Acos(min(got, 1)) / math.Acos(best); lost > 1.1 {
				t.Errorf("%d bits of %d dimensions: the angle is %.4f times the smallest", bits, dim, lost)
			}
		}
	}
}

func BenchmarkRabit(b *testing.B) {
	const dim, rows = 768, 4096
	random := rand.New(rand.NewPCG(6, 5))
	v := NewVectors(arrow.FLOAT32, dim, vector.L2, rows)
	for range dim * rows {
		v.Values = append(v.Values, float32(random.NormFloat64()))
	}
	for _, bits := range []int{1, 5, 9} {
		e := NewRabitEncoder(vector.L2, make([]float32, dim), dim, bits, random)
		codes := make([]byte, rows*RowBytes(e.Columns()))
		b.Run(fmt.Sprintf("encode/%d", bits), func(b *testing.B) {
			part := &Vectors{Dim: dim, Values: v.Values[:64*dim]}
			for b.Loop() {
				e.Encode(part, make([]uint32, 64), codes)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/row")
		})
		metadata, _ := e.Metadata(0)
		q, err := New(Spec{Kind: "RQ", Metric: vector.L2, Dim: dim, Element: arrow.FLOAT32, Metadata: metadata})
		if err != nil {
			b.Fatal(err)
		}
		stored := &Codes{Rows: rows, Centroid: make([]float32, dim)}
		for _, c := range q.Columns() {
			stored.Columns = append(stored.Columns, make([]byte, rows*c.RowBytes()))
		}
		asked, _ := NewVector(make([]float64, dim), arrow.FLOAT32, vector.L2)
		b.Run(fmt.Sprintf("prepare/%d", bits), func(b *testing.B) {
			for b.Loop() {
				_, _ = q.Prepare(asked)
			}
		})
		p, _ := q.Prepare(asked)
		b.Run(fmt.Sprintf("measure/%d", bits), func(b *testing.B) {
			out := make([]float32, rows)
			for b.Loop() {
				p.Meter(stored).Measure(0, out)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
