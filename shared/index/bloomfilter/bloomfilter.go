// Package bloomfilter reads and builds BLOOMFILTER indices: one Bloom filter per zone of a column. A search
// returns the zones whose filter may contain one of the requested values. It reads the filters of all
// zones, about four bytes per row.
//
// A segment is one file, an ordinary data file, with a row for each zone:
//
//	bloomfilter.lance  fragment_id, zone_start, zone_length, see package zonefile
//	                   has_null           bool   one of the values is NULL
//	                   bloom_filter_data  bytes  the filter, see [filter]
//
// Source: scalar/bloomfilter.rs of crate lance-index.
package bloomfilter

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/zonefile"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// lookupFile is the name of the file of a segment.
const lookupFile = "bloomfilter.lance"

// pageBytes is the approximate size of the filters that are read, and cached, together.
const pageBytes = 1 << 20

// maxReads bounds the pages that are read in parallel.
const maxReads = 16

// A Reader answers questions from one segment. It is safe for concurrent use.
type Reader struct {
	files   index.Files
	zones   *zones
	column  arrow.DataType
	columns *index.Columns // of the zones
	filters *index.Columns
	perPage int64 // filters of a page
}

// zones holds the extents of the zones and their NULL flags, but not the filters.
type zones struct {
	*zonefile.Zones
	nulls *array.Boolean
}

// Open reads the zones of a segment, but not their filters. t is the type of the column, which the file
// does not record.
func Open(ctx context.Context, files index.Files, t arrow.DataType) (*Reader, error) {
	file, err := files.Open(ctx, lookupFile)
	if err != nil {
		return nil, err
	}
	r := &Reader{files: files, column: t}
	if r.columns, err = index.ColumnsOf(ctx, file, append([]string{"has_null"}, zonefile.Names...)...); err == nil {
		if r.filters, err = index.ColumnsOf(ctx, file, "bloom_filter_data"); err == nil {
			err = r.open(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", lookupFile, err)
	}
	return r, nil
}

// open validates the columns of the file, and reads or finds in the cache everything but the filters.
func (r *Reader) open(ctx context.Context) error {
	if !IsHashed(r.column) {
		return fmt.Errorf("%w: a Bloom filter of values of type %s", lance.ErrUnsupported, r.column)
	}
	if t := r.filters.Fields[0].Type; t.ID() != arrow.BINARY {
		return fmt.Errorf("%w: filters of type %s", lance.ErrCorrupt, t)
	}
	file := r.filters.File
	if n := file.NumRows(); n > zonefile.MaxZones {
		return fmt.Errorf("%w: %d zones, more than %d", lance.ErrUnsupported, n, zonefile.MaxZones)
	}
	r.perPage = max(int64(pageBytes/max(file.BytesPerRow(r.filters.Fields), 1)), 1)
	kept, err := r.files.Keep(lookupFile+" zones", func() (any, int64, error) {
		read, err := r.columns.Read(ctx, 0, file.NumRows())
		if err != nil {
			return nil, 0, err
		}
		nulls, ok := read[0].(*array.Boolean)
		if !ok || nulls.NullN() > 0 {
			return nil, 0, fmt.Errorf("%w: has_null of type %s, or NULL", lance.ErrCorrupt, read[0].DataType())
		}
		z, err := zonefile.New(read[1:])
		if err != nil {
			return nil, 0, err
		}
		return &zones{z, nulls}, z.Bytes() + int64(z.Len())/8, nil
	})
	if err == nil {
		r.zones = kept.(*zones)
	}
	return err
}

// Cost counts the rows of all zones, because only the filters can exclude one.
func (r *Reader) Cost(q index.Question) (index.Cost, error) {
	cost := index.Cost{Pages: 1, Bytes: r.zones.Bytes()}
	if len(q.Ranges) > 0 {
		cost.Pages, cost.Bytes = r.pages(), r.filters.File.Size()
	}
	cost.Rows = r.zones.RowsOf(func(zone int) bool { return len(q.Ranges) > 0 || q.Null && r.zones.nulls.Value(zone) })
	return cost, nil
}

// pages returns the number of pages of filters.
func (r *Reader) pages() int { return int((int64(r.zones.Len()) + r.perPage - 1) / r.perPage) }

// Search returns all rows of the zones that may match. Rows that are NULL are found exactly if the segment
// stores them.
func (r *Reader) Search(ctx context.Context, q index.Question) (index.Answer, error) {
	found, known := index.Answer{Rows: rowset.At(), Pages: 1}, false
	if q.Null {
		var err error
		if known, err = zonefile.Nulls(ctx, r.files, lookupFile, r.columns, found.Rows); err != nil {
			return index.Answer{}, fmt.Errorf("%s: %w", lookupFile, err)
		}
	}
	found.Exact = len(q.Ranges) == 0 && known
	may := make([]bool, r.zones.Len())
	if len(q.Ranges) > 0 {
		found.Pages = r.pages()
		hashes, all, err := hashesOf(ctx, q.Ranges, r.column)
		if err == nil {
			err = r.test(ctx, hashes, all, may)
		}
		if err != nil {
			return index.Answer{}, fmt.Errorf("%s: %w", lookupFile, err)
		}
	}
	return found, r.zones.Add(ctx, found.Rows, func(zone int) bool {
		return may[zone] || q.Null && !known && r.zones.nulls.Value(zone)
	})
}

// test sets may[i] for each zone whose filter may contain one of the hashes, or for each zone if all is
// true.
func (r *Reader) test(ctx context.Context, hashes []uint64, all bool, may []bool) error {
	if all {
		for i := range may {
			may[i] = true
		}
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for page := range r.pages() {
		group.Go(func() (err error) {
			defer index.Contain(&err)
			from := int64(page) * r.perPage
			to := min(from+r.perPage, int64(len(may)))
			if err := r.testPage(ctx, from, to, hashes, may[from:to]); err != nil {
				return fmt.Errorf("zones %d to %d: %w", from, to, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// testPage sets may for the zones in rows [from, to) of the file. Their filters may be cached from an
// earlier search.
func (r *Reader) testPage(ctx context.Context, from, to int64, hashes []uint64, may []bool) error {
	reading, room, err := memory.Within(ctx)
	if err != nil {
		return err
	}
	defer room.Close()
	kept, err := r.files.Keep(fmt.Sprintf("%s filters %d to %d", lookupFile, from, to), func() (any, int64, error) {
		read, err := r.filters.Read(reading, from, to)
		if err != nil {
			return nil, 0, err
		}
		filters, ok := read[0].(*array.Binary)
		if !ok {
			return nil, 0, fmt.Errorf("%w: filters of type %s", lance.ErrCorrupt, read[0].DataType())
		}
		for i := range filters.Len() {
			if filters.IsNull(i) || !isFilter(filters.Value(i)) {
				return nil, 0, fmt.Errorf("%w: zone %d has no filter of whole blocks", lance.ErrCorrupt, from+int64(i))
			}
		}
		return filters, int64(filters.Data().SizeInBytes()), nil
	})
	if err != nil {
		return err
	}
	filters := kept.(*array.Binary)
	for i := range may {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		may[i] = filter(filters.Value(i)).mayHaveOne(hashes)
	}
	return nil
}
