// Package zonemap reads and builds ZONEMAP indices, which store the least and the greatest value for each
// zone of a column. A search reads the one small file of a segment, and returns the zones that may contain
// a value. Few zones match if the rows are sorted, or nearly sorted, by the column.
//
// A segment is one file, an ordinary data file, with a row for each zone:
//
//	zonemap.lance  min         T    the least value; NULL if there is none
//	               max         T    the greatest; NULL likewise, and NaN if there is a NaN
//	               null_count  u32  the number of NULLs
//	               nan_count   u32  the number of NaNs
//	               fragment_id, zone_start, zone_length, see package zonefile
//
// min does not count NaN. A zone with values, but without min and max, may contain any value.
//
// A column with the values 5, 2, NULL in one fragment and 9, 9 in another, in zones of two rows, is stored
// as
//
//	min          2    NULL  9
//	max          5    NULL  9
//	null_count   0    1     0
//	fragment_id  0    0     1
//	zone_start   0    2     0
//	zone_length  2    1     2
//
// Source: scalar/zonemap.rs of crate lance-index.
package zonemap

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/zonefile"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
)

// lookupFile is the name of the file of a segment.
const lookupFile = "zonemap.lance"

// A Reader answers questions from one segment. It is safe for concurrent use.
type Reader struct {
	files   index.Files
	columns *index.Columns
	zones   *zoneMap
}

// Open reads the zones of a segment. t is the type of the column; a segment of another type is
// lance.ErrUnsupported.
func Open(ctx context.Context, files index.Files, t arrow.DataType) (*Reader, error) {
	file, err := files.Open(ctx, lookupFile)
	if err != nil {
		return nil, err
	}
	r := &Reader{files: files}
	if r.columns, err = index.ColumnsOf(ctx, file, append([]string{"min", "max", "null_count", "nan_count"}, zonefile.Names...)...); err == nil {
		err = r.open(ctx, t)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lookupFile, err)
	}
	return r, nil
}

// open validates the columns of the file, and reads or finds in the cache its zones.
func (r *Reader) open(ctx context.Context, t arrow.DataType) error {
	for _, field := range r.columns.Fields[:2] {
		if !arrow.TypeEqual(field.Type, t) {
			return fmt.Errorf("%w: an index of values of type %s on a column of type %s", lance.ErrUnsupported, field.Type, t)
		}
	}
	if n := r.columns.File.NumRows(); n > zonefile.MaxZones {
		return fmt.Errorf("%w: %d zones, more than %d", lance.ErrUnsupported, n, zonefile.MaxZones)
	}
	kept, err := r.files.Keep(lookupFile+" zones", func() (any, int64, error) {
		read, err := r.columns.Read(ctx, 0, r.columns.File.NumRows())
		if err != nil {
			return nil, 0, err
		}
		z, err := newZoneMap(read)
		if err != nil {
			return nil, 0, err
		}
		return z, z.bytes(), nil
	})
	if err == nil {
		r.zones = kept.(*zoneMap)
	}
	return err
}

// Cost counts the rows of the zones that may match.
func (r *Reader) Cost(q index.Question) (index.Cost, error) {
	if err := r.zones.check(q); err != nil {
		return index.Cost{}, err
	}
	rows := r.zones.RowsOf(func(zone int) bool { return r.zones.mayHave(zone, q.Ranges) || q.Null && r.zones.nulls[zone] > 0 })
	return index.Cost{Pages: 1, Bytes: r.columns.File.Size(), Rows: rows}, nil
}

// Search returns all rows of the zones that may match. Rows that are NULL are found exactly if the segment
// stores them.
func (r *Reader) Search(ctx context.Context, q index.Question) (index.Answer, error) {
	if err := r.zones.check(q); err != nil {
		return index.Answer{}, err
	}
	found, known := index.Answer{Rows: rowset.At(), Pages: 1}, false
	if q.Null {
		var err error
		if known, err = zonefile.Nulls(ctx, r.files, lookupFile, r.columns, found.Rows); err != nil {
			return index.Answer{}, fmt.Errorf("%s: %w", lookupFile, err)
		}
	}
	found.Exact = len(q.Ranges) == 0 && known
	err := r.zones.Add(ctx, found.Rows, func(zone int) bool {
		return r.zones.mayHave(zone, q.Ranges) || q.Null && !known && r.zones.nulls[zone] > 0
	})
	return found, err
}

// A zoneMap is the content of the file.
type zoneMap struct {
	*zonefile.Zones
	min, max    arrow.Array
	order       index.Order
	nulls, nans []uint32
}

// newZoneMap validates the columns of a file: counts must not be NULL, and min must not exceed max.
func newZoneMap(columns []arrow.Array) (*zoneMap, error) {
	z := &zoneMap{min: columns[0], max: columns[1]}
	nulls, ok := columns[2].(*array.Uint32)
	nans, counted := columns[3].(*array.Uint32)
	if !ok || !counted || nulls.NullN() > 0 || nans.NullN() > 0 {
		return nil, fmt.Errorf("%w: null_count or nan_count of another type, or NULL", lance.ErrCorrupt)
	}
	z.nulls, z.nans = nulls.Uint32Values(), nans.Uint32Values()
	var err error
	if z.order, err = index.OrderOf(z.min.DataType()); err != nil {
		return nil, err
	}
	if z.Zones, err = zonefile.New(columns[4:]); err != nil {
		return nil, err
	}
	for i := range z.Len() {
		if z.min.IsValid(i) && z.max.IsValid(i) && z.order(z.min, i, z.max, i) > 0 {
			return nil, fmt.Errorf("%w: the least value of zone %d is greater than the greatest", lance.ErrCorrupt, i)
		}
	}
	return z, nil
}

// bytes estimates the memory of the zones.
func (z *zoneMap) bytes() int64 {
	return z.Bytes() + int64(z.min.Data().SizeInBytes()+z.max.Data().SizeInBytes()) + 8*int64(z.Len())
}

// check checks that a question has values of the type of the column.
func (z *zoneMap) check(q index.Question) error {
	for _, r := range q.Ranges {
		for _, b := range []index.Bound{r.From, r.To} {
			if b.Value != nil && !arrow.TypeEqual(b.Value.DataType(), z.min.DataType()) {
				return fmt.Errorf("%w: a value of type %s asked of an index of %s", lance.ErrUnsupported, b.Value.DataType(), z.min.DataType())
			}
		}
	}
	return nil
}

// mayHave reports whether a zone may contain a value within one of the ranges.
func (z *zoneMap) mayHave(zone int, ranges []index.Range) bool {
	return slices.ContainsFunc(ranges, func(r index.Range) bool { return z.overlaps(zone, r) })
}

// overlaps reports whether a zone may contain a value in a range.
func (z *zoneMap) overlaps(zone int, r index.Range) bool {
	switch {
	case z.nans[zone] > 0 && !(isNumber(r.From) && isNumber(r.To)):
		return true // by their sign, NaN are above or below all numbers
	case z.min.IsNull(zone) || z.max.IsNull(zone):
		return z.Length(zone) > int64(z.nulls[zone])+int64(z.nans[zone])
	}
	if r.From.Value != nil {
		if c := z.order(z.max, zone, r.From.Value, 0); c < 0 || c == 0 && r.From.Excluded {
			return false
		}
	}
	if r.To.Value != nil {
		if c := z.order(z.min, zone, r.To.Value, 0); c > 0 || c == 0 && r.To.Excluded {
			return false
		}
	}
	return true
}

// isNumber reports whether a bound exists and is not NaN.
func isNumber(b index.Bound) bool {
	switch value := b.Value.(type) {
	case nil:
		return false
	case *array.Float16:
		return !value.Value(0).IsNaN()
	case *array.Float32:
		return !math.IsNaN(float64(value.Value(0)))
	case *array.Float64:
		return !math.IsNaN(value.Value(0))
	}
	return true
}
