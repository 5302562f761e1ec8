package quantize_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
)

// tensor returns the message of a tensor: fields 1 (type), 2 (packed shape) and 3 (data).
func tensor(kind byte, data []byte, shape ...uint64) []byte {
	var packed []byte
	for _, n := range shape {
		packed = binary.AppendUvarint(packed, n)
	}
	message := append([]byte{1 << 3, kind, 2<<3 | 2, byte(len(packed))}, packed...)
	message = binary.AppendUvarint(append(message, 3<<3|2), uint64(len(data)))
	return append(message, data...)
}

func floats(values ...float32) (data []byte) {
	for _, x := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data
}

func TestTensorsAreReadByTheirType(t *testing.T) {
	double := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.1)), math.Float64bits(-2))
	cases := []struct {
		name    string
		message []byte
		want    quantize.Tensor
	}{
		// The halves are 1, -2 and the smallest subnormal number.
		{"float16", tensor(1, []byte{0, 0x3c, 0, 0xc0, 1, 0}, 1, 3), quantize.Tensor{Element: arrow.FLOAT16, Rows: 1, Width: 3, Values: []float32{1, -2, 0x1p-24}}},
		{"float32", tensor(2, floats(1.5, -2, 3, 4), 2, 2), quantize.Tensor{Element: arrow.FLOAT32, Rows: 2, Width: 2, Values: []float32{1.5, -2, 3, 4}}},
		{"float64", tensor(3, double, 2, 1), quantize.Tensor{Element: arrow.FLOAT64, Rows: 2, Width: 1, Values: []float32{0.1, -2}}},
		{"uint8", tensor(4, []byte{7, 255}, 1, 2), quantize.Tensor{Element: arrow.UINT8, Rows: 1, Width: 2, Values: []float32{7, 255}, Bytes: []byte{7, 255}}},
		{"no rows", tensor(2, nil, 0, 4), quantize.Tensor{Element: arrow.FLOAT32, Rows: 0, Width: 4}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := quantize.DecodeTensor(c.message)
			if err != nil {
				t.Fatal(err)
			}
			same := got.Element == c.want.Element && got.Rows == c.want.Rows && got.Width == c.want.Width &&
				slices.Equal(got.Values, c.want.Values) && slices.Equal(got.Bytes, c.want.Bytes)
			if !same {
				t.Errorf("got %+v, want %+v", *got, c.want)
			}
		})
	}
}

func TestTensorsThatContradictThemselvesAreRefused(t *testing.T) {
	cases := []struct {
		name    string
		message []byte
		want    error
	}{
		{"nothing", nil, lance.ErrUnsupported},
		{"another type", tensor(9, nil, 1, 1), lance.ErrUnsupported},
		{"one dimension", tensor(2, floats(1), 1), lance.ErrCorrupt},
		{"three dimensions", tensor(2, floats(1), 1, 1, 1), lance.ErrCorrupt},
		{"no width", tensor(2, nil, 1, 0), lance.ErrCorrupt},
		{"too wide", tensor(2, nil, 0, 1<<20), lance.ErrCorrupt},
		{"too many rows", tensor(2, nil, 1<<40, 1), lance.ErrCorrupt},
		{"too few numbers", tensor(2, floats(1), 1, 2), lance.ErrCorrupt},
		{"cut short", tensor(2, floats(1), 1, 1)[:8], lance.ErrCorrupt},
	}
	for _, c := range cases {
		if _, err := quantize.DecodeTensor(c.message); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func FuzzDecodeTensor(f *testing.F) {
	f.Add(tensor(1, []byte{0, 0x3c}, 1, 1))
	f.Add(tensor(2, floats(1, 2), 2, 1))
	f.Add(tensor(3, make([]byte, 8), 1, 1))
	f.Add(tensor(4, []byte{1, 2, 3, 4}, 2, 2))
	f.Fuzz(func(t *testing.T, message []byte) {
		got, err := quantize.DecodeTensor(message)
		if err != nil {
			if !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) {
				t.Errorf("an error of another kind: %v", err)
			}
			return
		}
		if taken := int64(4*len(got.Values) + len(got.Bytes)); taken > quantize.TensorMemory(int64(len(message))) {
			t.Errorf("%d bytes of memory for a message of %d", taken, len(message))
		}
	})
}

func TestRoundedValuesAreHalves(t *testing.T) {
	values := []float32{1, 0.1, 70000, -0x1p-24, 0x1.8p-20, 1e-12}
	quantize.RoundHalf(values)
	want := []float32{1, 0.099975586, float32(math.Inf(1)), -0x1p-24, 0x1.8p-20, 0}
	if !slices.Equal(values, want) {
		t.Errorf("got %v, want %v", values, want)
	}
}

func TestQueriesTakeTheElementsOfTheColumn(t *testing.T) {
	cases := []struct {
		element arrow.Type
		metric  vector.Metric
		want    quantize.Vector
	}{
		{arrow.FLOAT32, vector.L2, quantize.Vector{Values: []float32{3, 4}}},
		{arrow.FLOAT32, vector.Cosine, quantize.Vector{Values: []float32{0.6, 0.8}}},
		{arrow.FLOAT16, vector.Cosine, quantize.Vector{Values: []float32{0.60009766, 0.7998047}}},
		{arrow.FLOAT64, vector.Dot, quantize.Vector{Values: []float32{3, 4}, Wide: []float64{3, 4}}},
		{arrow.FLOAT64, vector.Cosine, quantize.Vector{Values: []float32{0.6, 0.8}, Wide: []float64{0.6, 0.8}}},
		{arrow.UINT8, vector.Hamming, quantize.Vector{Values: []float32{3, 4}, Bytes: []uint8{3, 4}}},
	}
	for _, c := range cases {
		got, err := quantize.NewVector([]float64{3, 4}, c.element, c.metric)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Values, c.want.Values) || !slices.Equal(got.Wide, c.want.Wide) || !slices.Equal(got.Bytes, c.want.Bytes) {
			t.Errorf("%s under %s: got %+v, want %+v", c.element, c.metric, *got, c.want)
		}
	}
	if _, err := quantize.NewVector([]float64{1}, arrow.INT64, vector.L2); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("a vector of integers: got %v, want ErrUnsupported", err)
	}
}

// distances returns the distances of all rows, and checks that Meter.One returns the same.
func distances(t *testing.T, s quantize.Spec, query []float64, codes *quantize.Codes) []float32 {
	t.Helper()
	q, err := quantize.New(s)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range q.Columns() {
		if want := codes.Rows * c.RowBytes(); len(codes.Columns[i]) != want {
			t.Fatalf("column %s has %d bytes, want %d", c.Name, len(codes.Columns[i]), want)
		}
	}
	v, err := quantize.NewVector(query, s.Element, s.Metric)
	if err != nil {
		t.Fatal(err)
	}
	p, err := q.Prepare(v)
	if err != nil {
		t.Fatal(err)
	}
	*codes = quantize.Cut(q, codes, 0, codes.Rows)
	meter, out := p.Meter(codes), make([]float32, codes.Rows)
	meter.Measure(0, out)
	for i, d := range out {
		if one := meter.One(i); math.Abs(float64(one-d)) > 1e-5*max(1, math.Abs(float64(d))) {
			t.Errorf("row %d is %v far, and alone %v", i, d, one)
		}
	}
	return out
}

func near(t *testing.T, name string, got []float32, want ...float32) {
	t.Helper()
	same := slices.EqualFunc(got, want, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-4 })
	if !same {
		t.Errorf("%s: got %v, want %v", name, got, want)
	}
}

func TestFlatCodesAreTheVectors(t *testing.T) {
	codes := &quantize.Codes{Rows: 3, Columns: [][]byte{floats(1, 2, 0, 0, -1, 2)}}
	spec := quantize.Spec{Kind: "FLAT", Dim: 2, Element: arrow.FLOAT32, Metadata: []byte(`{"dim": 2}`)}
	spec.Metric = vector.L2
	near(t, "l2", distances(t, spec, []float64{1, 2}, codes), 0, 5, 4)
	spec.Metric = vector.Dot
	near(t, "dot", distances(t, spec, []float64{1, 2}, codes), -4, 1, -2)
}

func TestScalarCodesAreStepsBetweenTheBounds(t *testing.T) {
	// A step is 1, from -100 to 155.
	spec := quantize.Spec{Kind: "SQ", Dim: 2, Element: arrow.FLOAT32, Metadata: []byte(`{"dim": 2, "num_bits": 8, "bounds": {"start": -100, "end": 155}}`)}
	codes := &quantize.Codes{Rows: 3, Columns: [][]byte{{100, 100, 103, 96, 255, 0}}}
	spec.Metric = vector.L2
	near(t, "l2 from the origin", distances(t, spec, []float64{0, 0}, codes), 0, 25, 155*155+100*100)
	near(t, "l2 from beyond the bounds", distances(t, spec, []float64{1000, -1000}, codes), 155*155+100*100, 152*152+96*96, 0)
	spec.Metric = vector.Dot
	near(t, "dot", distances(t, spec, []float64{2, 1}, codes), 1, 1-(2*3-4), 1-(2*155-100))
}

// product returns a quantizer of vectors with 4 dimensions in two sub-vectors. Code c stands for the
// sub-vector (c, -c) in the first place, and for (2c, c) in the second.
func product(metric vector.Metric, bits int, transposed bool) quantize.Spec {
	var book []float32
	for c := range 1 << bits {
		book = append(book, float32(c), -float32(c))
	}
	for c := range 1 << bits {
		book = append(book, 2*float32(c), float32(c))
	}
	return quantize.Spec{
		Kind: "PQ", Metric: metric, Dim: 4, Element: arrow.FLOAT32,
		Metadata: fmt.Appendf(nil, `{"nbits": %d, "num_sub_vectors": 2, "dimension": 4, "transposed": %t}`, bits, transposed),
		Buffer:   tensor(2, floats(book...), 1<<bits, 4),
	}
}

func TestProductCodesNameSubVectors(t *testing.T) {
	centroid := []float32{1, 1, 1, 1}
	query := []float64{2, 0, 3, 2}
	// The residual of the query is (1, -1, 2, 1): codes 1 and 1 are exactly there. The rows are
	// (1, 1), (0, 0) and (3, 2).
	want := []float32{0, 1 + 1 + 4 + 1, 4 + 4 + 4 + 1}
	byRow, byPlace, packed := []byte{1, 1, 0, 0, 3, 2}, []byte{1, 0, 3, 1, 0, 2}, []byte{0x11, 0x00, 0x23}
	for name, c := range map[string]struct {
		spec  quantize.Spec
		codes []byte
	}{
		"8 bits, transposed": {product(vector.L2, 8, true), byPlace},
		"8 bits, row by row": {product(vector.L2, 8, false), byRow},
		"4 bits, transposed": {product(vector.L2, 4, true), packed},
		"4 bits, row by row": {product(vector.L2, 4, false), packed},
	} {
		near(t, name, distances(t, c.spec, query, &quantize.Codes{Rows: 3, Columns: [][]byte{c.codes}, Centroid: centroid}), want...)
	}
	// Under dot it is the query itself that is compared: 1 - dot.
	dot := distances(t, product(vector.Dot, 8, true), query, &quantize.Codes{Rows: 3, Columns: [][]byte{byPlace}, Centroid: centroid})
	near(t, "dot", dot, 1-(2*1+3*2+2*1), 1, 1-(2*3+3*4+2*2))
}

// With random codes of many places, all rows at once are measured as each row alone, also far from the origin.
func TestCodesOfManyPlacesAreSummed(t *testing.T) {
	const dim, rows = 14, 33
	random := rand.New(rand.NewPCG(3, 4))
	book := make([]float32, dim<<8)
	for i := range book {
		book[i] = float32(random.NormFloat64())
	}
	codes := &quantize.Codes{Rows: rows, Columns: [][]byte{make([]byte, dim*rows)}, Centroid: make([]float32, dim)}
	for i := range codes.Columns[0] {
		codes.Columns[0][i] = byte(random.Uint32())
	}
	query := make([]float64, dim)
	for i := range query {
		codes.Centroid[i] = 100
		query[i] = float64(float32(100 + random.NormFloat64()))
	}
	spec := quantize.Spec{
		Kind: "PQ", Metric: vector.L2, Dim: dim, Element: arrow.FLOAT32, Buffer: tensor(2, floats(book...), 256, dim),
		Metadata: fmt.Appendf(nil, `{"nbits": 8, "num_sub_vectors": %d, "dimension": %d, "transposed": true}`, dim, dim),
	}
	got := distances(t, spec, query, codes)
	for row, d := range got {
		want := 0.0
		for place, x := range query {
			code := int(codes.Columns[0][place*rows+row])
			away := x - float64(codes.Centroid[place]) - float64(book[place*256+code])
			want += away * away
		}
		if math.Abs(float64(d)-want) > 1e-3 {
			t.Errorf("row %d is %v far, want %v", row, d, want)
		}
	}
}

// rabitMetadata returns the metadata of RQ, with signs bytes of rotation signs.
func rabitMetadata(estimator, rotation string, dim, bits, signs int) string {
	return fmt.Sprintf(`{"fast_rotation_signs":[%s],"rotation_type":%q,"code_dim":%d,"num_bits":%d,"packed":true,"query_estimator":%q}`,
		strings.TrimSuffix(strings.Repeat("1,", signs), ","), rotation, dim, bits, estimator)
}

func TestMetadataThatContradictsItselfIsRefused(t *testing.T) {
	book := tensor(2, floats(make([]float32, 16*4)...), 16, 4)
	cases := []struct {
		name, kind, metadata string
		metric               vector.Metric
		want                 error
	}{
		{"another kind", "XQ", `{}`, vector.L2, lance.ErrUnsupported},
		{"no JSON", "FLAT", `{`, vector.L2, lance.ErrCorrupt},
		{"FLAT of other dimensions", "FLAT", `{"dim": 3}`, vector.L2, lance.ErrCorrupt},
		{"SQ of other dimensions", "SQ", `{"dim": 3, "num_bits": 8}`, vector.L2, lance.ErrCorrupt},
		{"SQ of 4 bits", "SQ", `{"dim": 4, "num_bits": 4}`, vector.L2, lance.ErrUnsupported},
		{"SQ under hamming", "SQ", `{"dim": 4, "num_bits": 8}`, vector.Hamming, lance.ErrUnsupported},
		{"PQ under hamming", "PQ", `{"nbits": 4, "num_sub_vectors": 2, "dimension": 4}`, vector.Hamming, lance.ErrUnsupported},
		{"PQ of 5 bits", "PQ", `{"nbits": 5, "num_sub_vectors": 2, "dimension": 4}`, vector.L2, lance.ErrUnsupported},
		{"PQ of other dimensions", "PQ", `{"nbits": 4, "num_sub_vectors": 2, "dimension": 8}`, vector.L2, lance.ErrCorrupt},
		{"PQ of no sub-vectors", "PQ", `{"nbits": 8, "num_sub_vectors": 0, "dimension": 4}`, vector.L2, lance.ErrCorrupt},
		{"PQ of uneven sub-vectors", "PQ", `{"nbits": 8, "num_sub_vectors": 3, "dimension": 4}`, vector.L2, lance.ErrCorrupt},
		{"PQ of half a byte", "PQ", `{"nbits": 4, "num_sub_vectors": 1, "dimension": 4}`, vector.L2, lance.ErrCorrupt},
		{"RQ under hamming", "RQ", rabitMetadata("raw_query", "fast", 8, 1, 4), vector.Hamming, lance.ErrUnsupported},
		{"RQ of an older format", "RQ", rabitMetadata("residual_query", "fast", 8, 1, 4), vector.L2, lance.ErrUnsupported},
		{"RQ with another rotation", "RQ", rabitMetadata("raw_query", "slow", 8, 1, 4), vector.L2, lance.ErrUnsupported},
		{"RQ without a matrix", "RQ", rabitMetadata("raw_query", "matrix", 8, 1, 4), vector.L2, lance.ErrCorrupt},
		{"RQ of no bits", "RQ", rabitMetadata("raw_query", "fast", 8, 0, 4), vector.L2, lance.ErrUnsupported},
		{"RQ of 10 bits", "RQ", rabitMetadata("raw_query", "fast", 8, 10, 4), vector.L2, lance.ErrUnsupported},
		{"RQ of other dimensions", "RQ", rabitMetadata("raw_query", "fast", 16, 1, 8), vector.L2, lance.ErrCorrupt},
		{"RQ with too few signs", "RQ", rabitMetadata("raw_query", "fast", 8, 1, 3), vector.L2, lance.ErrCorrupt},
		{"RQ with a sign of two bytes", "RQ", `{"fast_rotation_signs":[1,2,3,256],"rotation_type":"fast","code_dim":8,"num_bits":1,"packed":true,"query_estimator":"raw_query"}`, vector.L2, lance.ErrCorrupt},
		{"PQ with a short codebook", "PQ", `{"nbits": 8, "num_sub_vectors": 2, "dimension": 4}`, vector.L2, lance.ErrCorrupt},
	}
	for _, c := range cases {
		spec := quantize.Spec{Kind: c.kind, Metric: c.metric, Dim: 4, Element: arrow.FLOAT32, Metadata: []byte(c.metadata), Buffer: book}
		if c.kind == "RQ" {
			spec.Dim, spec.Buffer = 8, nil
		}
		_, err := quantize.New(spec)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func TestMetadataNamesItsBuffer(t *testing.T) {
	for metadata, want := range map[string]int{`{}`: 0, `{"codebook_position": 3}`: 3, `{"rotate_mat_position": 2}`: 2} {
		if got, err := quantize.BufferOf([]byte(metadata)); err != nil || got != want {
			t.Errorf("%s: got %d, %v; want %d", metadata, got, err, want)
		}
	}
	if _, err := quantize.BufferOf([]byte(`[`)); !errors.Is(err, lance.ErrCorrupt) {
		t.Errorf("no JSON: got %v, want ErrCorrupt", err)
	}
}

// Whatever the metadata of a quantizer are, it either refuses them or measures every code that fits its
// columns, within the memory that it declares.
func FuzzNew(f *testing.F) {
	kinds := []string{"FLAT", "SQ", "PQ", "RQ"}
	for metric := range byte(3) {
		f.Add(byte(0), metric, uint16(4), []byte(`{"dim": 4}`), []byte(nil), uint64(1))
		f.Add(byte(1), metric, uint16(2), []byte(`{"dim": 2, "num_bits": 8, "bounds": {"start": -100, "end": 155}}`), []byte(nil), uint64(2))
		for _, bits := range []int{4, 8} {
			s := product(vector.Metric(metric), bits, bits == 4)
			f.Add(byte(2), metric, uint16(s.Dim), s.Metadata, s.Buffer, uint64(3))
		}
		for bits := 1; bits <= 9; bits++ {
			f.Add(byte(3), metric, uint16(72), []byte(rabitMetadata("raw_query", "fast", 72, bits, 36)), []byte(nil), uint64(4))
		}
		f.Add(byte(3), metric, uint16(8), []byte(rabitMetadata("raw_query", "matrix", 8, 2, 0)), tensor(2, make([]byte, 8*8*4), 8, 8), uint64(5))
	}
	f.Fuzz(func(t *testing.T, kind, metric byte, dim uint16, metadata, buffer []byte, seed uint64) {
		if len(buffer) == 0 {
			buffer = nil
		}
		const most = 512 // dimensions
		s := quantize.Spec{
			Kind: kinds[kind%4], Metric: vector.Metric(metric % 4), Dim: int(dim % most), Element: arrow.FLOAT32, Metadata: metadata, Buffer: buffer, Centroids: 1,
		}
		q, err := quantize.New(s)
		if err != nil {
			if !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) {
				t.Errorf("an error of another kind: %v", err)
			}
			return
		}
		if q.Bytes() > int64(len(metadata))+quantize.TensorMemory(int64(len(buffer))) || q.QueryBytes() > 1024*9*(most+64) {
			t.Errorf("%d bytes, and %d for a query", q.Bytes(), q.QueryBytes())
		}
		random := rand.New(rand.NewPCG(seed, 1))
		codes := &quantize.Codes{Rows: 37, Centroid: make([]float32, s.Dim)}
		for _, c := range q.Columns() {
			column := make([]byte, codes.Rows*c.RowBytes())
			for i := range column {
				column[i] = byte(random.Uint32())
			}
			codes.Columns = append(codes.Columns, column)
		}
		v, err := quantize.NewVector(make([]float64, s.Dim), s.Element, s.Metric)
		if err != nil {
			t.Fatal(err)
		}
		p, err := q.Prepare(v)
		if err != nil {
			return
		}
		*codes = quantize.Cut(q, codes, 0, codes.Rows)
		p.Meter(codes).Measure(0, make([]float32, codes.Rows))
	})
}
