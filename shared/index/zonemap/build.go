package zonemap

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/sortkey"
	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/zonefile"
	"tiltyard/shared/lance"
)

// RowsPerZone is the default number of rows per zone, as in native Lance.
const RowsPerZone = 8192

// sizeKey is the metadata key for the number of rows per zone.
const sizeKey = "rows_per_zone"

// SizeOf returns the number of rows per zone of a segment.
func SizeOf(ctx context.Context, files index.Files) (int, error) {
	metadata, err := zonefile.Metadata(ctx, files, lookupFile)
	return zonefile.SizeOf(metadata[sizeKey], RowsPerZone), err
}

// Build writes the file of a segment with zones of size rows. Each batch of rows has two columns: values of
// type t, and the address of each row, ascending. Types that are not index.Sortable are lance.ErrUnsupported.
func Build(ctx context.Context, t arrow.DataType, size int, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error {
	if !index.Sortable(t) {
		return fmt.Errorf("%w: zones of values of type %s", lance.ErrUnsupported, t)
	}
	s := newSummary(t)
	b, err := zonefile.Build(ctx, size, rows, s)
	if err != nil {
		return err
	}
	defer b.Close()
	metadata := arrow.NewMetadata([]string{sizeKey}, []string{strconv.Itoa(size)})
	schema := arrow.NewSchema(append([]arrow.Field{
		{Name: "min", Type: t, Nullable: true}, {Name: "max", Type: t, Nullable: true},
		{Name: "null_count", Type: arrow.PrimitiveTypes.Uint32}, {Name: "nan_count", Type: arrow.PrimitiveTypes.Uint32},
	}, zonefile.Fields()...), &metadata)
	file, err := out.Create(ctx, lookupFile, schema)
	if err != nil {
		return err
	}
	if n := s.min.Len(); n > 0 {
		columns := append([]arrow.Array{s.min.Array(), s.max.Array(), s.nulls.NewArray(), s.nans.NewArray()}, b.Columns()...)
		if err := file.Write(ctx, array.NewRecordBatch(schema, columns, int64(n))); err != nil {
			return err
		}
	}
	return b.Finish(ctx, file)
}

// A summary holds the least and greatest values of zones, and their numbers of NULLs and NaNs.
type summary struct {
	keyOf       sortkey.Append
	isNaN       func(a arrow.Array, i int) bool // nil for types without NaN
	aNaN, aNull []byte                          // keys
	min, max    *sortkey.Values
	nulls, nans *array.Uint32Builder

	// Of the zone that has not ended:
	least, greatest []byte // keys; nil for no value
	null, nan       uint32
	key             []byte
}

// newSummary returns a summary for values of type t. Float types get a test for NaN, and the key of NaN as
// their maximum.
func newSummary(t arrow.DataType) *summary {
	counts := func() *array.Uint32Builder { return array.NewUint32Builder(arrowmemory.DefaultAllocator) }
	s := &summary{keyOf: sortkey.Of(t, true), min: sortkey.NewValues(t), max: sortkey.NewValues(t), nulls: counts(), nans: counts()}
	s.aNull = s.keyOf(nil, array.MakeArrayOfNull(arrowmemory.DefaultAllocator, t, 1), 0)
	b := array.NewBuilder(arrowmemory.DefaultAllocator, t)
	switch b := b.(type) {
	case *array.Float16Builder:
		b.Append(float16.New(float32(math.NaN())))
		s.isNaN = func(a arrow.Array, i int) bool { return a.(*array.Float16).Value(i).IsNaN() }
	case *array.Float32Builder:
		b.Append(float32(math.NaN()))
		s.isNaN = func(a arrow.Array, i int) bool { return math.IsNaN(float64(a.(*array.Float32).Value(i))) }
	case *array.Float64Builder:
		b.Append(math.NaN())
		s.isNaN = func(a arrow.Array, i int) bool { return math.IsNaN(a.(*array.Float64).Value(i)) }
	default:
		return s
	}
	s.aNaN = s.keyOf(nil, b.NewArray(), 0)
	return s
}

// Add implements zoned.Summary.
func (s *summary) Add(values arrow.Array, from, to int) error {
	for i := from; i < to; i++ {
		switch {
		case values.IsNull(i):
			s.null++
			continue
		case s.isNaN != nil && s.isNaN(values, i):
			s.nan++
			continue
		}
		s.key = s.keyOf(s.key[:0], values, i)
		if s.least == nil || string(s.key) < string(s.least) {
			s.least = append(s.least[:0], s.key...)
		}
		if s.greatest == nil || string(s.key) > string(s.greatest) {
			s.greatest = append(s.greatest[:0], s.key...)
		}
	}
	return nil
}

// End implements zoned.Summary.
func (s *summary) End(context.Context, *zonefile.Builder) error {
	least, greatest := s.least, s.greatest
	if least == nil {
		least, greatest = s.aNull, s.aNull
	}
	if s.nan > 0 {
		greatest = s.aNaN
	}
	s.min.Append(least)
	s.max.Append(greatest)
	s.nulls.Append(s.null)
	s.nans.Append(s.nan)
	s.least, s.greatest, s.null, s.nan = nil, nil, 0, 0
	return nil
}

// Bytes implements zoned.Summary.
func (s *summary) Bytes() int64 { return s.min.Bytes() + s.max.Bytes() + 8*int64(s.nulls.Len()) }
