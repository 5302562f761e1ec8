package ivf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/internal/hnsw"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance/pb"
)

// A Recipe holds the parameters of a vector index. A number of 0 selects the default of native Lance and
// its clients.
type Recipe struct {
	Kind       string `json:"kind"`   // IVF_FLAT, IVF_HNSW_SQ …
	Metric     string `json:"metric"` // l2, cosine, dot or hamming
	Partitions int    `json:"partitions,omitempty"`
	TargetRows int    `json:"target_rows,omitempty"` // of a partition, where Partitions is 0
	SampleRate int    `json:"sample_rate,omitempty"` // rows to find a centroid of a partition with
	Iterations int    `json:"iterations,omitempty"`  // maximal number of k-means iterations
	SubVectors int    `json:"sub_vectors,omitempty"` // of a vector, in PQ
	Bits       int    `json:"bits,omitempty"`        // of a code
	Edges      int    `json:"edges,omitempty"`       // of a new node of a graph
	Candidates int    `json:"candidates,omitempty"`  // candidate neighbours of a new graph node (ef construction)
}

// IndexType implements index.Typed.
func (r Recipe) IndexType() string { return r.Kind }

// Version returns the format version of an index with this recipe.
func (r Recipe) Version() int32 {
	if r.quantizer() == "RQ" {
		return 2
	}
	return 1
}

// built has a row for each kind that can be built: the target number of rows per partition, and the
// quantizer.
//
// Source: lib.rs of crate lance-index-core, target_partition_size.
var built = map[string]struct {
	targetRows int
	quantizer  string
}{
	"IVF_FLAT": {4096, "FLAT"},
	"IVF_SQ":   {8192, "SQ"},
	"IVF_PQ":   {8192, "PQ"},
	"IVF_RQ":   {4096, "RQ"},

	"IVF_HNSW_FLAT": {1 << 20, "FLAT"},
	"IVF_HNSW_SQ":   {1 << 20, "SQ"},
	"IVF_HNSW_PQ":   {1 << 20, "PQ"},
}

// Kinds returns the names of the kinds that can be built, in their order.
func Kinds() []string {
	var names []string
	for name := range built {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// quantizer returns how vectors are stored: FLAT, SQ, PQ or RQ.
func (r Recipe) quantizer() string { return built[r.Kind].quantizer }

// hasGraph reports whether partitions have graphs.
func (r Recipe) hasGraph() bool { return strings.HasPrefix(r.Kind, "IVF_HNSW_") }

// vectorsOf returns the type of the vectors in a column, or nil if it has none. lists is true if a row has
// a list of vectors.
func vectorsOf(column arrow.DataType) (vectors *arrow.FixedSizeListType, lists bool) {
	if list, ok := column.(*arrow.ListType); ok {
		column, lists = list.Elem(), true
	}
	vectors, _ = column.(*arrow.FixedSizeListType)
	return vectors, lists
}

// Fits reports whether a column of a type can have an index.
func Fits(column arrow.DataType) bool {
	vectors, lists := vectorsOf(column)
	if vectors == nil {
		return false
	}
	element := vectors.Elem().ID()
	return slices.Contains([]arrow.Type{arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64}, element) || element == arrow.UINT8 && !lists
}

// checkMetric returns an error if the metric does not fit the vectors of a column, or the kind.
func (r Recipe) checkMetric(vectors *arrow.FixedSizeListType, lists bool) error {
	metric, err := vector.ParseMetric(r.Metric)
	isBytes := vectors.Elem().ID() == arrow.UINT8
	switch {
	case isBytes && (err != nil || metric != vector.Hamming):
		return fmt.Errorf("distance_type %q does not fit vectors of %s; hamming does", r.Metric, vectors.Elem())
	case !isBytes && (err != nil || metric == vector.Hamming):
		return fmt.Errorf("distance_type %q does not fit vectors of %s; l2, cosine and dot do", r.Metric, vectors.Elem())
	case lists && metric != vector.Cosine:
		return fmt.Errorf("distance_type %q does not fit lists of vectors; cosine does", r.Metric)
	case isBytes && r.quantizer() != "FLAT":
		return fmt.Errorf("%s does not fit vectors of %s; IVF_FLAT and IVF_HNSW_FLAT do", r.Kind, vectors.Elem())
	}
	return nil
}

// Complete returns the recipe with all numbers that its kind needs, for one of [Kinds] and a column that
// fits. The error names the mismatch and the supported alternatives.
func (r Recipe) Complete(column arrow.DataType) (Recipe, error) {
	list, lists := vectorsOf(column)
	if err := r.checkMetric(list, lists); err != nil {
		return r, err
	}
	kind := built[r.Kind]
	r.TargetRows = orElse(r.TargetRows, kind.targetRows)
	r.SampleRate, r.Iterations = orElse(r.SampleRate, 256), orElse(r.Iterations, 50)
	checks := []check{
		{"num_partitions", r.Partitions, 0, maxPartitions}, {"target_partition_size", r.TargetRows, 1, maxRows},
		{"sample_rate", r.SampleRate, 1, maxRows}, {"max_iterations", r.Iterations, 1, maxIterations},
	}
	if r.hasGraph() {
		r.Edges, r.Candidates = orElse(r.Edges, 20), orElse(r.Candidates, 300)
		checks = append(checks, check{"m", r.Edges, 4, maxEdges}, check{"ef_construction", r.Candidates, r.Edges, maxCandidates})
	}
	switch r.quantizer() {
	case "PQ":
		return r.completeProduct(int(list.Len()), checks)
	case "SQ":
		r.Bits = orElse(r.Bits, 8)
		checks = append(checks, check{"num_bits", r.Bits, 8, 8})
	case "RQ":
		if list.Len()%8 != 0 {
			return r, fmt.Errorf("%s needs vectors whose dimensions are a multiple of 8; these have %d", r.Kind, list.Len())
		}
		r.Bits = orElse(r.Bits, 5)
		checks = append(checks, check{"num_bits", r.Bits, 1, 9})
	}
	return r, firstError(checks)
}

// completeProduct completes a recipe with product quantization for vectors of dim dimensions.
func (r Recipe) completeProduct(dim int, checks []check) (Recipe, error) {
	r.Bits = orElse(r.Bits, 8)
	usual := subVectors(dim, r.Bits)
	r.SubVectors = orElse(r.SubVectors, usual)
	if err := firstError(append(checks, check{"num_sub_vectors", r.SubVectors, 1, dim})); err != nil {
		return r, err
	}
	switch {
	case r.Bits != 4 && r.Bits != 8:
		return r, fmt.Errorf("num_bits is %d; it may be 4 or 8", r.Bits)
	case dim%r.SubVectors != 0:
		return r, fmt.Errorf("num_sub_vectors is %d; it must divide the %d dimensions, as %d does", r.SubVectors, dim, usual)
	case r.Bits == 4 && dim%2 != 0:
		return r, fmt.Errorf("num_bits is 4, for which vectors need an even number of dimensions; these have %d", dim)
	case r.Bits == 4 && r.SubVectors%2 != 0:
		return r, fmt.Errorf("num_sub_vectors is %d; with num_bits 4 it must be even", r.SubVectors)
	}
	return r, nil
}

// subVectors returns the number of sub-vectors that clients choose for dim dimensions. It is doubled if
// codes of 4 bits need an even number.
func subVectors(dim, bits int) int {
	n := 1
	switch {
	case dim%16 == 0:
		n = dim / 16
	case dim%8 == 0:
		n = dim / 8
	}
	if bits == 4 && n%2 != 0 && dim%2 == 0 {
		n *= 2
	}
	return n
}

const (
	maxRows       = 1<<32 - 1 // of a partition, which the format counts in 32 bits
	maxIterations = 1 << 16
	maxEdges      = 1 << 10
	maxCandidates = 1 << 16
)

// A check is a number with its bounds.
type check struct {
	name         string
	value        int
	least, bound int
}

func firstError(checks []check) error {
	for _, c := range checks {
		if c.value < c.least || c.value > c.bound {
			return fmt.Errorf("%s is %d; it may be %d to %d", c.name, c.value, c.least, c.bound)
		}
	}
	return nil
}

func orElse(number, otherwise int) int {
	if number == 0 {
		return otherwise
	}
	return number
}

// Details encodes the parameters of a complete recipe as the message of the manifest entry. The hints in it
// are for native Lance, in case it retrains the index.
func (r Recipe) Details() []byte {
	metric, _ := vector.ParseMetric(r.Metric) // a complete recipe has one
	d := pb.VectorIndexDetails{
		Metric: map[vector.Metric]pb.VectorMetric{
			vector.L2: pb.VectorL2, vector.Cosine: pb.VectorCosine, vector.Dot: pb.VectorDot, vector.Hamming: pb.VectorHamming,
		}[metric],
		Compression: pb.CompressionFlat,
		RuntimeHints: map[string]string{
			"lance.ivf.max_iters": strconv.Itoa(r.Iterations), "lance.ivf.sample_rate": strconv.Itoa(r.SampleRate),
		},
	}
	switch r.quantizer() {
	case "SQ":
		d.Compression, d.NumBits = pb.CompressionSQ, uint32(r.Bits)
	case "RQ":
		d.Compression, d.NumBits = pb.CompressionRQ, uint32(r.Bits)
	case "PQ":
		d.Compression, d.NumBits, d.NumSubVectors = pb.CompressionPQ, uint32(r.Bits), uint32(r.SubVectors)
		d.RuntimeHints["lance.pq.max_iters"] = strconv.Itoa(r.Iterations)
	}
	if r.hasGraph() {
		d.HNSW = &pb.HNSWDetails{MaxConnections: uint32(r.Edges), ConstructionDepth: uint32(r.Candidates), MaxLevel: hnsw.MaxLevel}
	}
	if r.TargetRows != built[r.Kind].targetRows {
		d.TargetPartitionSize = uint64(r.TargetRows)
	}
	var e pb.Encoder
	d.Marshal(&e)
	return e.B
}
