// Package zonefile reads and builds the common part of ZONEMAP and BLOOMFILTER indices. A segment is one file
// with a row for each zone of the table, which summarizes the values of the zone. A zone is a range of
// consecutive rows in one fragment:
//
//	fragment_id u64   the fragment
//	zone_start  u64   the first row of the zone in the fragment
//	zone_length u64   the number of rows, deleted ones included
//
// The metadata of the file's schema may have the key null_bitmap: the number, in decimal, of a global
// buffer with the addresses of all rows that are NULL, see [index.AddRows]. Early index versions lack it.
//
// Zones refer to row addresses, even in tables with stable row ids.
//
// Source: scalar/zoned.rs, scalar/zonemap.rs and scalar/bloomfilter.rs of crate lance-index.
package zonefile

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// Names are the columns of each file with zones, which [New] takes in this order.
var Names = []string{"fragment_id", "zone_start", "zone_length"}

// MaxZones bounds the zones of a segment, which are held together. With zones of the usual size this
// is 8 billion rows.
const MaxZones = 1 << 20

// MaxRows bounds the rows of a zone that is built.
const MaxRows = 1 << 20

// Metadata returns the metadata of the schema of a file.
func Metadata(ctx context.Context, files index.Files, name string) (map[string]string, error) {
	file, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	schema, err := file.Schema(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return schema.Metadata, nil
}

// SizeOf parses the number of rows per zone from the metadata of a file. It returns usual if the text is
// not a valid size.
func SizeOf(text string, usual int) int {
	if size, err := strconv.Atoi(text); err == nil && size > 0 && size <= MaxRows {
		return size
	}
	return usual
}

// Zones are the zones of a segment.
type Zones struct {
	fragments, starts, lengths []uint64
}

// New returns the zones that columns of a file describe. Rows that have no address are
// lance.ErrCorrupt.
func New(columns []arrow.Array) (*Zones, error) {
	words := make([][]uint64, len(Names))
	for i, name := range Names {
		column, ok := columns[i].(*array.Uint64)
		if !ok || column.NullN() > 0 {
			return nil, fmt.Errorf("%w: %s of type %s, or NULL", lance.ErrCorrupt, name, columns[i].DataType())
		}
		words[i] = column.Uint64Values()
	}
	z := &Zones{fragments: words[0], starts: words[1], lengths: words[2]}
	for i, fragment := range z.fragments {
		if start, n := z.starts[i], z.lengths[i]; fragment > math.MaxUint32 || start > math.MaxUint32 || n > math.MaxUint32-start {
			return nil, fmt.Errorf("%w: zone %d of %d rows from row %d of fragment %d on", lance.ErrCorrupt, i, n, start, fragment)
		}
	}
	return z, nil
}

// Len returns the number of zones.
func (z *Zones) Len() int { return len(z.fragments) }

// Length returns the number of rows in a zone, deleted ones included.
func (z *Zones) Length(i int) int64 { return int64(z.lengths[i]) }

// Bytes estimates the memory of the zones.
func (z *Zones) Bytes() int64 { return 3 * 8 * int64(z.Len()) }

// RowsOf returns the number of rows in the zones for which may is true.
func (z *Zones) RowsOf(may func(zone int) bool) (rows int64) {
	for i, n := range z.lengths {
		if may(i) {
			rows += int64(n)
		}
	}
	return rows
}

// containerBytes is the approximate memory of 65536 consecutive rows in a set.
const containerBytes = 64

// contextSteps is the number of zones tested between checks of the context.
const contextSteps = 1 << 10

// Add adds the rows of the zones for which may is true to a set, and accounts for their memory.
func (z *Zones) Add(ctx context.Context, set *rowset.Set, may func(zone int) bool) error {
	for i := 0; i < z.Len(); {
		if i%contextSteps == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		first := i
		if i++; !may(first) {
			continue
		}
		end := z.end(first)
		for i < z.Len() && z.fragments[i] == z.fragments[first] && z.starts[i] == end && may(i) {
			end = z.end(i)
			i++
		}
		if err := memory.FromContext(ctx).Take(ctx, containerBytes*int64(2+(end-z.starts[first])>>16)); err != nil {
			return err
		}
		set.AddRange(z.fragments[first], uint32(z.starts[first]), uint32(end))
	}
	return ctx.Err()
}

// end returns the first row after a zone.
func (z *Zones) end(i int) uint64 { return z.starts[i] + z.lengths[i] }

// nullsKey is the key of the number of the buffer with the rows that are NULL.
const nullsKey = "null_bitmap"

// Nulls adds the NULL rows to a set, and accounts for their memory. known is false if the file does not
// store them. name is the name of the file, which is part of the cache key.
func Nulls(ctx context.Context, files index.Files, name string, columns *index.Columns, set *rowset.Set) (known bool, err error) {
	text, ok := columns.Schema.Metadata[nullsKey]
	if !ok {
		return false, nil
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return false, fmt.Errorf("%w: %s %q is not the number of a buffer", lance.ErrCorrupt, nullsKey, text)
	}
	kept, err := files.Keep(name+" nulls", func() (any, int64, error) {
		if err := memory.FromContext(ctx).Take(ctx, columns.File.GlobalBufferSize(number)); err != nil {
			return nil, 0, err
		}
		data, err := columns.File.GlobalBuffer(ctx, number)
		return data, int64(len(data)), err
	})
	if err != nil {
		return false, err
	}
	before := set.Bytes()
	if err := index.AddRows(set, kept.([]byte)); err != nil {
		return false, err
	}
	return true, memory.FromContext(ctx).Take(ctx, set.Bytes()-before)
}
