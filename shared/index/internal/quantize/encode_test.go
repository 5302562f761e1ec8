package quantize

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/index/vector"
)

// columnOf returns vectors as a column.
func columnOf(element arrow.DataType, dim int, rows [][]float64) arrow.Array {
	b := array.NewFixedSizeListBuilder(arrowmemory.DefaultAllocator, int32(dim), element)
	for _, row := range rows {
		b.Append(row != nil)
		for i := range dim {
			x := 0.0
			if row != nil {
				x = row[i]
			}
			switch items := b.ValueBuilder().(type) {
			case *array.Float16Builder:
				items.Append(float16.New(float32(x)))
			case *array.Float32Builder:
				items.Append(float32(x))
			case *array.Float64Builder:
				items.Append(x)
			}
		}
	}
	return b.NewArray()
}

var elements = []arrow.DataType{arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64}

func TestVectorsWithoutPlaceAreLeftOut(t *testing.T) {
	for _, element := range elements {
		column := columnOf(element, 2, [][]float64{{9, 9}, {3, 4}, nil, {0, 0}, {1, math.NaN()}, {math.Inf(1), 1}, {0, 2}})
		column = array.NewSlice(column, 1, 7)
		for metric, want := range map[vector.Metric][]int32{vector.L2: {0, 2, 5}, vector.Dot: {0, 2, 5}, vector.Cosine: {0, 5}} {
			v := NewVectors(element.ID(), 2, metric, 4)
			got, err := v.Append(column)
			if err != nil || len(got) != len(want) || v.Rows() != len(want) {
				t.Fatalf("%s, %s: got rows %v, %v; want %v", element, metric, got, err, want)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s, %s: got rows %v, want %v", element, metric, got, want)
				}
			}
			first := float32(3)
			if metric == vector.Cosine {
				first = 0.6
			}
			if math.Abs(float64(v.Values[0]-first)) > 1e-3 {
				t.Errorf("%s, %s: the first element is %v, want %v", element, metric, v.Values[0], first)
			}
		}
	}
	if _, err := NewVectors(arrow.FLOAT32, 3, vector.L2, 1).Append(columnOf(elements[1], 2, nil)); err == nil {
		t.Error("vectors of another length were taken")
	}
}

// encoders returns an encoder of each kind, trained with vectors.
func encoders(t *testing.T, v *Vectors) map[string]Decoder {
	t.Helper()
	made := map[string]Decoder{"FLAT": NewFlatEncoder(v.Element, v.Dim), "SQ": NewScalarEncoder(v)}
	for name, o := range map[string]ProductOptions{"PQ": {Places: v.Dim / 2, Bits: 8}, "PQ 4": {Places: v.Dim, Bits: 4}} {
		o.Iterations, o.Random = 20, rand.New(rand.NewPCG(1, 1))
		e, err := TrainProduct(t.Context(), v, o)
		if err != nil {
			t.Fatal(err)
		}
		made[name] = e
	}
	return made
}

// A code represents a vector near its original, and distances to the code agree with that.
func TestCodesAreMeasuredAsTheVectorsTheyWereMadeOf(t *testing.T) {
	const dim, n = 8, 600
	random := rand.New(rand.NewPCG(8, 8))
	rows := make([][]float64, n)
	for i := range rows {
		for range dim {
			rows[i] = append(rows[i], random.NormFloat64())
		}
	}
	for _, element := range elements {
		for _, metric := range []vector.Metric{vector.L2, vector.Cosine, vector.Dot} {
			v := NewVectors(element.ID(), dim, metric, n)
			if _, err := v.Append(columnOf(element, dim, rows)); err != nil {
				t.Fatal(err)
			}
			for name, e := range encoders(t, v) {
				codes := make([]byte, n*RowBytes(e.Columns()))
				e.Encode(v, make([]uint32, n), codes)
				checkCodes(t, name, e, v, codes)
			}
		}
	}
}

func checkCodes(t *testing.T, name string, e Decoder, v *Vectors, codes []byte) {
	t.Helper()
	metadata, err := e.Metadata(1)
	if err != nil {
		t.Fatal(err)
	}
	number, err := BufferOf(metadata)
	if err != nil || (number == 1) != (e.Buffer() != nil) {
		t.Fatalf("%s: metadata %s name buffer %d, %v", name, metadata, number, err)
	}
	quantizer, err := New(Spec{
		Kind: strings.Fields(name)[0], Metric: v.Metric, Dim: v.Dim, Element: v.Element, Metadata: metadata, Buffer: e.Buffer(), Centroids: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	n, width := v.Rows(), RowBytes(e.Columns())
	stored := Codes{Rows: n, Columns: e.Store(codes, n), Centroid: make([]float32, v.Dim)}
	query := []float64{1, -1, 0.5, 0.25, -2, 0, 1, 1}
	asked, err := NewVector(query, v.Element, v.Metric)
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := quantizer.Prepare(asked)
	if err != nil {
		t.Fatal(err)
	}
	got, decoded := make([]float32, n), make([]float32, v.Dim)
	stored = Cut(quantizer, &stored, 0, stored.Rows)
	prepared.Meter(&stored).Measure(0, got)
	metric := v.Metric
	if metric == vector.Cosine && name != "FLAT" {
		metric = vector.L2
	}
	for row := range n {
		e.Decode(codes[row*width:(row+1)*width], decoded)
		if want := distance(metric, asked.Values, decoded); math.Abs(want-float64(got[row])) > 0.02*max(1, math.Abs(want)) && math.Abs(want-float64(got[row])) > tolerance[name] {
			t.Fatalf("%s, %s: row %d is %v far, want %v", name, v.Metric, row, got[row], want)
		}
		if off := distance(vector.L2, v.Values[row*v.Dim:(row+1)*v.Dim], decoded); off > loss[name] {
			t.Fatalf("%s, %s: the code of row %d stands for a vector that is %v far", name, v.Metric, row, off)
		}
	}
}

// tolerance is how far a distance may be off: SQ quantizes the query too.
var tolerance = map[string]float64{"FLAT": 0.01, "SQ": 0.6, "PQ": 0.05, "PQ 4": 0.05}

// loss bounds the distance between a vector and its decoded code.
var loss = map[string]float64{"FLAT": 1e-12, "SQ": 0.02, "PQ": 3, "PQ 4": 6}

func distance(metric vector.Metric, a, b []float32) float64 {
	sum := 0.0
	for i, x := range a {
		y := float64(b[i])
		if metric == vector.L2 {
			sum += (float64(x) - y) * (float64(x) - y)
		} else {
			sum += float64(x) * y
		}
	}
	if metric == vector.L2 {
		return sum
	}
	return 1 - sum
}
