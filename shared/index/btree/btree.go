// Package btree reads indices of the kind BTREE. A segment holds all values of a column in
// order, NULLs first, each with its row, cut into pages of the same number of rows. A
// lookup table holds the first and the last value of each page. A search reads only the
// pages that can contain a match. Begin with [Open] and [Reader.Search].
//
// A segment is two files, each an ordinary data file:
//
//	page_data.lance     values T       ascending, NULLs first
//	                    ids    u64     the row of each value, never NULL
//	page_lookup.lance   min        T   the first value of each page, NULL when that is NULL
//	                    max        T   the last value of it, NULL when all are
//	                    null_count u32 how many of its values are NULL
//	                    page_idx   u32 the number of the page
//
// The metadata of the schema of page_lookup.lance has two keys: batch_size, the number of
// rows of a page (4096 by default; the last page has fewer), and range_partitioned. If the
// latter is "true", pages lie in several files, which is not supported here.
//
// A column with the values 5, 2, NULL, 9 in rows 0 to 3 and a batch_size of 2 is stored as
//
//	page_data     values  NULL 2 | 5 9       ids  2 1 | 0 3
//	page_lookup   min     NULL 5             max  2 9
//	              null_count  1 0            page_idx  0 1
//
// An id is the address that the row had when the index was built. In version 0 of the
// format it is the stable row id instead, in tables that have them.
//
// Source: scalar/btree.rs of crate lance-index.
package btree

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// Names of the files of a segment.
const (
	lookupFile = "page_lookup.lance"
	dataFile   = "page_data.lance"
)

// AddressVersion is the first version of the format in which ids are addresses even in
// tables with stable row ids.
const AddressVersion = 1

// maxReads bounds the pages that a search reads concurrently.
const maxReads = 16

// A Reader answers questions from one segment. It is safe for concurrent use.
type Reader struct {
	files  index.Files
	lookup *lookup
	data   *datafile.File
	pages  *index.Columns // of the data file
}

// Open reads the lookup table, and at the same time the metadata of the pages. t is the
// type of the column; a segment of another type is lance.ErrUnsupported.
func Open(ctx context.Context, files index.Files, t arrow.DataType) (*Reader, error) {
	r := &Reader{files: files}
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	var err error
	if r.pages, err = index.ColumnsOf(ctx, r.data, "values", "ids"); err != nil {
		return nil, fmt.Errorf("%s: %w", dataFile, err)
	}
	if err := r.check(t); err != nil {
		return nil, err
	}
	return r, nil
}

// open opens the lookup file and the data file, in parallel unless the lookup table is cached.
func (r *Reader) open(ctx context.Context) (err error) {
	kept, err := kept[*lookup](r.files, lookupName)
	if err != nil {
		return err
	}
	if r.lookup = kept; kept != nil {
		r.data, err = r.files.Open(ctx, dataFile)
		return err
	}
	group, within := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		defer index.Contain(&err)
		r.lookup, err = openLookup(within, r.files)
		return err
	})
	group.Go(func() (err error) {
		defer index.Contain(&err)
		r.data, err = r.files.Open(within, dataFile)
		return err
	})
	return group.Wait()
}

// check compares the two files with each other and with the type of the column.
func (r *Reader) check(t arrow.DataType) error {
	for _, have := range []arrow.DataType{r.lookup.min.DataType(), r.lookup.max.DataType(), r.pages.Fields[0].Type} {
		if !arrow.TypeEqual(have, t) {
			return fmt.Errorf("%w: an index of values of type %s on a column of type %s", lance.ErrUnsupported, have, t)
		}
	}
	if r.pages.Fields[1].Type.ID() != arrow.UINT64 {
		return fmt.Errorf("%w: %s: ids of type %s", lance.ErrCorrupt, dataFile, r.pages.Fields[1].Type)
	}
	rows, size := r.data.NumRows(), r.lookup.pageRows
	if want := (rows + size - 1) / size; int64(r.lookup.pages()) != want {
		return fmt.Errorf("%w: %s tells of %d pages of %d rows, %s has %d rows", lance.ErrCorrupt, lookupFile, r.lookup.pages(), size, dataFile, rows)
	}
	return nil
}

// idBytes is the size of a row's id.
const idBytes = 8

// Cost estimates a search from the lookup table. It counts every row of a page that may match, because the
// lookup table does not record how many rows of a page have the same value.
func (r *Reader) Cost(q index.Question) (index.Cost, error) {
	order, err := r.lookup.orderFor(q)
	if err != nil {
		return index.Cost{}, err
	}
	pages := r.lookup.find(q, order)
	cost, rows := index.Cost{Pages: len(pages)}, int64(0)
	for _, p := range pages {
		rows += r.rowsOf(p)
		if kept, err := r.isKept(p); err != nil {
			return index.Cost{}, err
		} else if !kept {
			cost.Read += r.rowsOf(p)
		}
		if r.lookup.matches(p, q, order) {
			cost.Rows += r.rowsOf(p)
		}
	}
	width := r.data.BytesPerRow(r.pages.Fields)
	cost.Bytes = int64(width * float64(rows))
	return cost, nil
}

func (r *Reader) rowsOf(page int) int64 {
	from := int64(page) * r.lookup.pageRows
	return min(r.lookup.pageRows, r.data.NumRows()-from)
}

// Search returns exactly the rows whose values match. The memory of their ids stays accounted to the
// context's share; pages are accounted only while they are searched.
func (r *Reader) Search(ctx context.Context, q index.Question) (index.Answer, error) {
	order, err := r.lookup.orderFor(q)
	if err != nil {
		return index.Answer{}, err
	}
	wanted := r.lookup.find(q, order)
	found, err := r.searchPages(ctx, wanted, q, order)
	if err != nil {
		return index.Answer{}, err
	}
	ids := slices.Concat(found...)
	slices.Sort(ids) // sets of rows are made in their order
	return index.Answer{Exact: true, Pages: len(wanted), Rows: rowset.At(ids...)}, nil
}

// searchPages returns the ids of the matching rows for each of the given pages. Pages that are not cached
// are read in parallel.
func (r *Reader) searchPages(ctx context.Context, numbers []int, q index.Question, order index.Order) ([][]uint64, error) {
	found := make([][]uint64, len(numbers))
	var missing []int
	for i, number := range numbers {
		p, err := kept[*page](r.files, pageName(number))
		if err != nil {
			return nil, err
		}
		if p == nil {
			missing = append(missing, i)
		} else if found[i], err = p.search(ctx, q, order); err != nil {
			return nil, err
		}
	}
	if missing == nil {
		return found, nil
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for _, i := range missing {
		group.Go(func() (err error) {
			defer index.Contain(&err)
			found[i], err = r.readAndSearch(within, numbers[i], q, order)
			return err
		})
	}
	return found, group.Wait()
}

// readAndSearch reads a page and returns the ids of its matching rows.
func (r *Reader) readAndSearch(ctx context.Context, number int, q index.Question, order index.Order) ([]uint64, error) {
	reading, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	p, err := r.page(reading, number, order)
	if err != nil {
		return nil, err
	}
	return p.search(ctx, q, order)
}

// search returns the ids of the matching rows of a page. It accounts for the ids twice, because the caller
// copies them.
func (p *page) search(ctx context.Context, q index.Question, order index.Order) ([]uint64, error) {
	runs, rows := p.find(q, order), 0
	for _, run := range runs {
		rows += run.to - run.from
	}
	if err := memory.FromContext(ctx).Take(ctx, 2*idBytes*int64(rows)); err != nil {
		return nil, err
	}
	ids := make([]uint64, 0, rows)
	for _, run := range runs {
		ids = append(ids, p.ids[run.from:run.to]...)
	}
	return ids, nil
}

// find returns the matching rows of a page as runs. The runs do not overlap, because the ranges of a
// question do not.
func (p *page) find(q index.Question, order index.Order) []run {
	var runs []run
	if q.Null && p.nulls > 0 {
		runs = append(runs, run{0, p.nulls})
	}
	if p.nulls == p.values.Len() {
		return runs
	}
	for _, r := range overlapping(q.Ranges, p.values, p.nulls, p.values, p.values.Len()-1, order) {
		if found := p.within(r, order); found.from < found.to {
			runs = append(runs, found)
		}
	}
	return runs
}

// overlapping returns the ranges that overlap the interval from least[i] to most[j]. The ranges are ordered
// and disjoint, so binary search finds them.
func overlapping(ranges []index.Range, least arrow.Array, i int, most arrow.Array, j int, order index.Order) []index.Range {
	from := sort.Search(len(ranges), func(n int) bool {
		to := ranges[n].To.Value
		return to == nil || order(to, 0, least, i) >= 0
	})
	ranges = ranges[from:]
	return ranges[:sort.Search(len(ranges), func(n int) bool {
		from := ranges[n].From.Value
		return from != nil && order(from, 0, most, j) > 0
	})]
}

// A run is the rows [from, to) of a page.
type run struct{ from, to int }

// within returns the rows of a page whose values lie within a range.
func (p *page) within(r index.Range, order index.Order) run {
	n := p.values.Len() - p.nulls
	search := func(holds func(i int) bool) int {
		return p.nulls + sort.Search(n, func(i int) bool { return holds(p.nulls + i) })
	}
	found := run{p.nulls, p.values.Len()}
	if r.From.Value != nil {
		found.from = search(func(i int) bool {
			c := order(p.values, i, r.From.Value, 0)
			return c > 0 || c == 0 && !r.From.Excluded
		})
	}
	if r.To.Value != nil {
		found.to = search(func(i int) bool {
			c := order(p.values, i, r.To.Value, 0)
			return c > 0 || c == 0 && r.To.Excluded
		})
	}
	return found
}
