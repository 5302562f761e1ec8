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
	"tiltyard/shared/index/internal/zonefile"
	"tiltyard/shared/lance"
)

// A Recipe holds the parameters of the filters of a segment.
type Recipe struct {
	Rows        int     `json:"rows"`        // of a zone
	Probability float64 `json:"probability"` // of a value that a filter seems to have, and does not
}

// Usual is the default recipe, as in native Lance.
var Usual = Recipe{Rows: 8192, Probability: 0.00057}

// NewRecipe returns the recipe with the given parameters; nil selects a default. It returns false if the
// filters would be too large.
func NewRecipe(rows *int64, probability *float64) (Recipe, bool) {
	r := Usual
	if rows != nil {
		r.Rows = int(*rows)
	}
	if probability != nil {
		r.Probability = *probability
	}
	return r, r.bits() <= 8*maxFilterBytes
}

// The names of its numbers in the metadata of the file.
const (
	rowsKey        = "bloomfilter_item"
	probabilityKey = "bloomfilter_probability"
)

// maxFilterBytes bounds a filter that is built.
const maxFilterBytes = 4 << 20

// RecipeOf returns the recipe of a segment, or the default recipe if the filters of the segment are too
// large.
func RecipeOf(ctx context.Context, files index.Files) (Recipe, error) {
	metadata, err := zonefile.Metadata(ctx, files, lookupFile)
	return recipeOf(metadata), err
}

// recipeOf reads the parameters from the metadata of a file. Invalid values are replaced by the defaults.
func recipeOf(metadata map[string]string) Recipe {
	r := Recipe{Rows: zonefile.SizeOf(metadata[rowsKey], Usual.Rows), Probability: Usual.Probability}
	if p, err := strconv.ParseFloat(metadata[probabilityKey], 64); err == nil && p > 0 && p < 1 {
		r.Probability = p
	}
	if r.bits() > 8*maxFilterBytes {
		return Usual
	}
	return r
}

// bits returns the number of bits of a filter, by the formula for split block Bloom filters with 8 bits per
// value.
func (r Recipe) bits() float64 {
	return -8 * float64(r.Rows) / math.Log1p(-math.Pow(r.Probability, 1.0/8))
}

// filterBytes returns the size of a filter, which is a power of two.
func (r Recipe) filterBytes() int {
	return max(1<<bits.Len(uint(math.Ceil(r.bits()/8))-1), blockBytes)
}

// writtenBytes is the approximate size of the filters that are written together.
const writtenBytes = 4 << 20

// Build writes the file of a segment by a recipe. Each batch of rows has two columns: values of type t, and
// the address of each row, ascending. Types without filters are lance.ErrUnsupported.
func Build(ctx context.Context, t arrow.DataType, r Recipe, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error {
	if !IsHashed(t) {
		return fmt.Errorf("%w: a Bloom filter of values of type %s", lance.ErrUnsupported, t)
	}
	metadata := arrow.NewMetadata([]string{rowsKey, probabilityKey},
		[]string{strconv.Itoa(r.Rows), strconv.FormatFloat(r.Probability, 'f', -1, 64)})
	s := &summary{
		schema: arrow.NewSchema(append(zonefile.Fields(),
			arrow.Field{Name: "has_null", Type: arrow.FixedWidthTypes.Boolean},
			arrow.Field{Name: "bloom_filter_data", Type: arrow.BinaryTypes.Binary}), &metadata),
		filter:   make(filter, r.filterBytes()),
		hasNulls: array.NewBooleanBuilder(arrowmemory.DefaultAllocator),
		filters:  array.NewBinaryBuilder(arrowmemory.DefaultAllocator, arrow.BinaryTypes.Binary),
	}
	var err error
	if s.file, err = out.Create(ctx, lookupFile, s.schema); err != nil {
		return err
	}
	b, err := zonefile.Build(ctx, r.Rows, rows, s)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := s.write(ctx, b); err != nil {
		return err
	}
	return b.Finish(ctx, s.file)
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
func (s *summary) End(ctx context.Context, b *zonefile.Builder) error {
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
func (s *summary) write(ctx context.Context, b *zonefile.Builder) error {
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
