package bloomfilter

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cespare/xxhash/v2"

	"tiltyard/shared/index"
	"tiltyard/shared/index/zoned"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
)

// What a segment has that Build writes, as in native Lance.
const (
	rowsPerZone = 8192
	probability = 0.00057 // of a value that a filter seems to have, and does not
)

// writtenBytes is about how many bytes of filters are written together.
const writtenBytes = 4 << 20

// Build writes the file of a segment. Each batch of rows has two columns: values of type t, and the
// address of each row, ascending. Types without filters are lance.ErrUnsupported.
func Build(ctx context.Context, t arrow.DataType, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error {
	if !IsHashed(t) {
		return fmt.Errorf("%w: a Bloom filter of values of type %s", lance.ErrUnsupported, t)
	}
	metadata := arrow.NewMetadata([]string{"bloomfilter_item", "bloomfilter_probability"},
		[]string{strconv.Itoa(rowsPerZone), strconv.FormatFloat(probability, 'f', -1, 64)})
	s := &summary{
		schema: arrow.NewSchema(append(zoned.Fields(),
			arrow.Field{Name: "has_null", Type: arrow.FixedWidthTypes.Boolean},
			arrow.Field{Name: "bloom_filter_data", Type: arrow.BinaryTypes.Binary}), &metadata),
		filter:   make(filter, filterBytes(rowsPerZone, probability)),
		hasNulls: array.NewBooleanBuilder(arrowmemory.DefaultAllocator),
		filters:  array.NewBinaryBuilder(arrowmemory.DefaultAllocator, arrow.BinaryTypes.Binary),
	}
	var err error
	if s.file, err = out.Create(ctx, lookupFile, s.schema); err != nil {
		return err
	}
	b, err := zoned.Build(ctx, rowsPerZone, rows, s)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := s.write(ctx, b); err != nil {
		return err
	}
	return b.Finish(ctx, s.file)
}

// Join writes the file of a segment with the zones of other files that Build has written, of rows that
// follow each other.
func Join(ctx context.Context, files []*datafile.File, out index.Output) error {
	return zoned.Join(ctx, files, lookupFile, out)
}

// filterBytes returns the size of a filter for so many values, which is a power of two.
func filterBytes(values int, probability float64) int {
	need := -8 * float64(values) / math.Log(1-math.Pow(probability, 1.0/8)) / 8
	return max(1<<bits.Len(uint(math.Ceil(need))-1), blockBytes)
}

// A summary is the filters of zones.
type summary struct {
	file   index.FileWriter
	schema *arrow.Schema

	// Of zones that are not written yet:
	hasNulls *array.BooleanBuilder
	filters  *array.BinaryBuilder

	// Of the zone that has not ended:
	filter  filter
	hasNull bool
}

// Add implements zoned.Summary.
func (s *summary) Add(values arrow.Array, from, to int) error {
	for i := from; i < to; i++ {
		if values.IsNull(i) {
			s.hasNull = true
			continue
		}
		s.filter.add(xxhash.Sum64(bytesAt(values, i)))
	}
	return nil
}

// End implements zoned.Summary.
func (s *summary) End(ctx context.Context, b *zoned.Builder) error {
	s.hasNulls.Append(s.hasNull)
	s.filters.Append(s.filter)
	clear(s.filter)
	s.hasNull = false
	if s.filters.DataLen() < writtenBytes {
		return nil
	}
	return s.write(ctx, b)
}

// Bytes implements zoned.Summary.
func (s *summary) Bytes() int64 { return int64(s.filters.DataLen() + len(s.filter)) }

// write writes the zones that are not written yet.
func (s *summary) write(ctx context.Context, b *zoned.Builder) error {
	n := int64(s.hasNulls.Len())
	if n == 0 {
		return nil
	}
	columns := append(b.Columns(), s.hasNulls.NewArray(), s.filters.NewArray())
	return s.file.Write(ctx, array.NewRecordBatch(s.schema, columns, n))
}

// add adds a value by its hash.
func (f filter) add(hash uint64) {
	block := f.block(hash)
	for i, salt := range salts {
		word := block[wordBytes*i:]
		binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)|1<<(uint32(hash)*salt>>27))
	}
}
