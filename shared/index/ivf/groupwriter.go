package ivf

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/kmeans"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
)

// groupedBytes is the size of centroids, as float32, from which a segment has groups. A search then reads a part of
// them. Fewer are read as a whole.
const groupedBytes = 4 << 20

// groupsPer is the number of groups as a multiple of the root of the number of partitions. Searches read all means of
// groups, and about as many centroids.
const groupsPer = 2

// Groups are found with up to groupSample centroids for each, in at most groupIterations: their quality matters less
// than that of partitions. groupBatch partitions are written at a time.
const (
	groupSample     = 64
	groupIterations = 10
	groupBatch      = 1 << 10
)

// hasGroups reports whether the segment has groups. Partitions with graphs are few, and bits have no means.
func (w *writer) hasGroups() bool {
	return !w.hasGraph() && w.element != arrow.UINT8 && w.stored() > 0 && 4*int64(len(w.centroids)) > w.grouped
}

// stored returns the number of rows of the storage file.
func (w *writer) stored() int64 {
	if len(w.places.rows) == 0 {
		return 0
	}
	return w.places.rows[len(w.places.rows)-1].to()
}

// writeGroups writes the groups file.
func (w *writer) writeGroups(ctx context.Context, out index.Output) error {
	n := len(w.places.rows)
	root := int(math.Ceil(math.Sqrt(float64(n))))
	clusters := groupsPer * root
	sample := min(n, groupSample*clusters)
	const perPartition = 32 // of numbers and distances
	held, err := memory.Take(ctx, 4*int64(w.dim)*int64(2*sample+4*clusters+3*groupBatch)+perPartition*int64(n))
	if err != nil {
		return err
	}
	defer held.Release()
	means, err := w.means(ctx, clusters, sample)
	if err != nil {
		return err
	}
	around := model{centroids: quantize.NewTensor(w.element, w.dim, means)}
	numbers := make([]uint32, 0, n)
	for _, group := range w.membersOf(means) {
		around.add(int64(len(group)))
		numbers = append(numbers, group...)
	}
	schema := w.groupSchema()
	file, err := out.Create(ctx, groupsFile, schema)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(numbers, groupBatch) {
		if err := file.Write(ctx, w.groupRows(schema, batch)); err != nil {
			return err
		}
	}
	number, err := file.AddBuffer(around.encode(0))
	if err != nil {
		return err
	}
	file.SetMetadata(groupsKey, strconv.Itoa(number))
	file.SetMetadata(rowsKey, strconv.FormatInt(w.stored(), 10))
	if err := setJSON(file, kindKey, w.kind()); err != nil {
		return err
	}
	return file.Close(ctx)
}

// means returns the means of groups of near centroids, by a sample of the centroids.
func (w *writer) means(ctx context.Context, clusters, count int) ([]float32, error) {
	random, n := rand.New(rand.NewPCG(uint64(clusters), uint64(w.dim))), len(w.places.rows)
	sample := make([]float32, 0, count*w.dim)
	for _, i := range random.Perm(n)[:count] {
		sample = append(sample, w.centroids[i*w.dim:(i+1)*w.dim]...)
	}
	means, err := kmeans.Train(ctx, sample, w.dim, kmeans.Options{
		Clusters: clusters, Iterations: groupIterations, Metric: vector.L2, Balanced: true, Random: random,
	})
	quantize.Round(w.element, means)
	return means, err
}

// membersOf returns the partitions of each group.
func (w *writer) membersOf(means []float32) [][]uint32 {
	n := len(w.places.rows)
	numbers, distances := make([]uint32, n), make([]float32, n)
	vector.NewTable(vector.L2, means, w.dim).Nearest(w.centroids, nil, numbers, distances)
	members := make([][]uint32, len(means)/w.dim)
	for partition, group := range numbers {
		members[group] = append(members[group], uint32(partition))
	}
	return members
}

// groupSchema returns the columns of the groups file.
func (w *writer) groupSchema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "partition", Type: arrow.PrimitiveTypes.Uint32}, {Name: "from", Type: arrow.PrimitiveTypes.Uint64},
		{Name: "count", Type: arrow.PrimitiveTypes.Uint32},
		{Name: "centroid", Type: arrow.FixedSizeListOf(int32(w.dim), elementTypes[w.element])},
	}, nil)
}

// groupRows returns the rows of some partitions.
func (w *writer) groupRows(schema *arrow.Schema, partitions []uint32) arrow.RecordBatch {
	from, count := make([]uint64, len(partitions)), make([]uint32, len(partitions))
	centroids := make([]float32, 0, len(partitions)*w.dim)
	for i, p := range partitions {
		from[i], count[i] = uint64(w.places.rows[p].from), uint32(w.places.rows[p].count)
		centroids = append(centroids, w.centroids[int(p)*w.dim:][:w.dim]...)
	}
	return array.NewRecordBatch(schema, []arrow.Array{
		numbersOf(arrow.PrimitiveTypes.Uint32, arrow.Uint32Traits.CastToBytes(partitions)),
		numbersOf(arrow.PrimitiveTypes.Uint64, arrow.Uint64Traits.CastToBytes(from)),
		numbersOf(arrow.PrimitiveTypes.Uint32, arrow.Uint32Traits.CastToBytes(count)),
		codesOf(schema.Field(3).Type, quantize.NewTensor(w.element, w.dim, centroids).Data(), len(partitions)),
	}, int64(len(partitions)))
}
