// Package quantize measures the distances of a query vector from vectors stored as codes. It reads no
// files: the caller passes the metadata of a quantizer and the code columns of a partition.
//
// A [Quantizer] holds the parameters of the codes in one index segment. [Quantizer.Prepare] computes the
// part of a query that all partitions use. [Prepared.Meter] binds it to the codes of one partition, which
// [Cut] has arranged.
//
// An [Encoder] makes the codes of a new segment. It encodes [Vectors]. Quantizers that learn are trained
// with a sample of them.
//
// The distances equal those of native Lance. Vectors under cosine are stored at length 1, and so is the
// query: FLAT reports 1 - cos, the other quantizers the squared L2 distance of the two, which is 2 - 2 cos.
//
// Source: vector/{flat,sq,pq,bq}/storage.rs of crate lance-index.
package quantize

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/float16"
)

// A Quantizer holds the parameters of the codes in one index segment. It is immutable.
type Quantizer interface {
	// Columns returns the columns that hold the code of a row.
	Columns() []Column
	// Prepare makes a query ready for the partitions of the segment.
	Prepare(v *Vector) (Prepared, error)
	// Bytes returns the approximate memory of the quantizer.
	Bytes() int64
	// QueryBytes returns the approximate memory of a prepared query.
	QueryBytes() int64
}

// Cut copies rows of a partition, whose codes have the layout of the file, and arranges the copy. Codes of RQ
// are only cut as a whole.
func Cut(q Quantizer, codes *Codes, from, to int) Codes {
	part := Codes{Rows: to - from, Centroid: codes.Centroid}
	for i, c := range q.Columns() {
		column, width := codes.Columns[i], c.RowBytes()
		if q, ok := q.(*product); ok && q.transposed {
			cut := make([]byte, 0, (to-from)*width)
			for place := range width {
				cut = append(cut, column[place*codes.Rows+from:place*codes.Rows+to]...)
			}
			part.Columns = append(part.Columns, cut)
			continue
		}
		part.Columns = append(part.Columns, slices.Clone(column[from*width:to*width]))
	}
	if q, ok := q.(interface{ arrange(codes *Codes) }); ok {
		q.arrange(&part)
	}
	return part
}

// ByRow reports whether rows of a partition can be measured independently. They cannot if Cut reorders their
// codes together.
func ByRow(q Quantizer) bool {
	_, together := q.(interface{ arrange(codes *Codes) })
	return !together
}

// Prepared is a query prepared for all partitions of a segment. It is immutable.
type Prepared interface {
	// Meter measures the arranged codes of one partition. The result belongs to one goroutine.
	Meter(codes *Codes) Meter
}

// A Meter writes distances from a query to rows of a partition.
type Meter interface {
	// Measure writes the distances of len(out) rows, beginning with row from.
	Measure(from int, out []float32)
	// Near appends the rows [from, to) whose distance is at most the limit, ascending. It may leave out a
	// row whose distance is only probably above the limit.
	Near(from, to int, limit float32, found []Found) []Found
	// One returns the distance of one row.
	One(row int) float32
}

// A Found is a row near to a query.
type Found struct {
	Row      int
	Distance float32
}

// noLimit is the limit of a measurement that leaves out no row.
var noLimit = float32(math.Inf(1))

// nearOf implements Near for a meter that has to measure all rows.
func nearOf(m Meter, from, to int, limit float32, found []Found) []Found {
	const together = 256
	var out [together]float32
	for ; from < to; from += together {
		some := out[:min(together, to-from)]
		m.Measure(from, some)
		for i, d := range some {
			if d <= limit {
				found = append(found, Found{from + i, d})
			}
		}
	}
	return found
}

// A Column is a column of codes.
type Column struct {
	Name    string
	Element arrow.Type
	Width   int // elements per row; 0 for a plain column with one element per row
}

// RowBytes returns the bytes of a row in the column.
func (c Column) RowBytes() int {
	size := 1
	switch c.Element {
	case arrow.FLOAT16:
		size = 2
	case arrow.FLOAT32:
		size = 4
	case arrow.FLOAT64:
		size = 8
	}
	return size * max(c.Width, 1)
}

// RowBytes returns the bytes of a row in all columns.
func RowBytes(columns []Column) int {
	n := 0
	for _, c := range columns {
		n += c.RowBytes()
	}
	return n
}

// Codes are the codes of a partition.
type Codes struct {
	Rows     int
	Columns  [][]byte  // the bytes of each column, of Rows times Column.RowBytes
	Centroid []float32 // of the partition
	Offsets  []float32 // by row, from [Cut]: the part of a distance of PQ that does not depend on the query
}

// A Spec describes the quantizer of a segment, as read from its files.
type Spec struct {
	Kind      string // FLAT, PQ, SQ or RQ
	Metric    vector.Metric
	Dim       int        // of the vectors
	Element   arrow.Type // of the vectors
	Metadata  []byte     // JSON
	Buffer    []byte     // the global buffer that BufferOf names; nil for none
	Centroids int        // number of partitions
}

// BufferOf returns the number of the global buffer that metadata of a quantizer refers to, 0 for none.
func BufferOf(metadata []byte) (int, error) {
	var named struct {
		Codebook *int `json:"codebook_position"`
		Rotation *int `json:"rotate_mat_position"`
	}
	if err := json.Unmarshal(metadata, &named); err != nil {
		return 0, fmt.Errorf("%w: metadata of the quantizer: %w", lance.ErrCorrupt, err)
	}
	switch {
	case named.Codebook != nil:
		return *named.Codebook, nil
	case named.Rotation != nil:
		return *named.Rotation, nil
	}
	return 0, nil
}

// New returns the quantizer of a segment. Contradictory metadata are [lance.ErrCorrupt], an unknown kind
// [lance.ErrUnsupported].
func New(s Spec) (Quantizer, error) {
	switch s.Kind {
	case "FLAT":
		return newFlat(s)
	case "SQ":
		return newScalar(s)
	case "PQ":
		return newProduct(s)
	case "RQ":
		return newRabit(s)
	}
	return nil, fmt.Errorf("%w: quantizer %q", lance.ErrUnsupported, s.Kind)
}

// decode reads the metadata of a quantizer.
func decode(s Spec, into any) error {
	if err := json.Unmarshal(s.Metadata, into); err != nil {
		return fmt.Errorf("%w: metadata of the %s quantizer: %w", lance.ErrCorrupt, s.Kind, err)
	}
	return nil
}

// A Vector is a query vector as an index measures it: with the elements of the column, and at length
// 1 under cosine.
type Vector struct {
	Values []float32 // rounded to float16 if the column holds such
	Wide   []float64 // in a column of float64: the exact values
	Bytes  []uint8   // in a column of bytes
}

// NewVector converts a query vector to the elements of a column.
func NewVector(values []float64, element arrow.Type, metric vector.Metric) (*Vector, error) {
	v := &Vector{Values: make([]float32, len(values))}
	switch element {
	case arrow.FLOAT16, arrow.FLOAT32:
		for i, x := range values {
			v.Values[i] = float32(x)
		}
		if element == arrow.FLOAT16 {
			RoundHalf(v.Values)
		}
		if metric == vector.Cosine {
			normalize(v.Values)
		}
		if element == arrow.FLOAT16 {
			RoundHalf(v.Values)
		}
	case arrow.FLOAT64:
		v.Wide = append([]float64{}, values...)
		if metric == vector.Cosine {
			normalize(v.Wide)
		}
		for i, x := range v.Wide {
			v.Values[i] = float32(x)
		}
	case arrow.UINT8:
		v.Bytes = make([]uint8, len(values))
		for i, x := range values {
			v.Values[i], v.Bytes[i] = float32(x), uint8(x)
		}
	default:
		return nil, fmt.Errorf("%w: vectors of %s", lance.ErrUnsupported, element)
	}
	return v, nil
}

// RoundHalf rounds values to float16.
func RoundHalf(values []float32) {
	for i, h := range vector.RoundToFloat16(values) {
		values[i] = float16.Widen(h)
	}
}

// normalize scales a vector to length 1. A zero vector becomes NaN, which is near to no vector.
func normalize[T float32 | float64](values []T) {
	var square T
	for _, x := range values {
		square += x * x
	}
	length := T(math.Sqrt(float64(square)))
	for i := range values {
		values[i] /= length
	}
}
