package btree

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
)

// maxPageRows bounds the rows of a page, because a page is read as a whole.
const maxPageRows = 1 << 20

// maxPages bounds the pages of a segment, because the lookup table is in memory as a whole.
// With pages of the usual size this is 4 billion rows.
const maxPages = 1 << 20

// A lookup maps values to pages.
type lookup struct {
	pageRows int64
	min, max arrow.Array
	nulls    []uint32 // number of NULLs in each page
	values   int      // the first page with a non-NULL value
	order    index.Order
}

func (l *lookup) pages() int { return len(l.nulls) }

// lookupName is the cache key of the lookup table.
const lookupName = lookupFile + " values"

// openLookup returns the lookup table of a segment, cached or read from storage.
func openLookup(ctx context.Context, files index.Files) (*lookup, error) {
	kept, err := files.Keep(lookupName, func() (any, int64, error) {
		file, err := files.Open(ctx, lookupFile)
		if err != nil {
			return nil, 0, err
		}
		l, err := readLookup(ctx, file)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", lookupFile, err)
		}
		return l, l.bytes(), nil
	})
	if err != nil {
		return nil, err
	}
	return kept.(*lookup), nil
}

func (l *lookup) bytes() int64 {
	return int64(l.min.Data().SizeInBytes()+l.max.Data().SizeInBytes()) + 4*int64(len(l.nulls))
}

// readLookup reads and validates the lookup table. Pages must be numbered 0, 1, 2 … in the order of the
// rows.
func readLookup(ctx context.Context, file *datafile.File) (*lookup, error) {
	c, err := index.ColumnsOf(ctx, file, "min", "max", "null_count", "page_idx")
	if err != nil {
		return nil, err
	}
	l := &lookup{}
	if l.pageRows, err = pageRows(c.Schema.Metadata); err != nil {
		return nil, err
	}
	if file.NumRows() > maxPages {
		return nil, fmt.Errorf("%w: %d pages, more than %d", lance.ErrUnsupported, file.NumRows(), maxPages)
	}
	read, err := c.Read(ctx, 0, file.NumRows())
	if err != nil {
		return nil, err
	}
	l.min, l.max = read[0], read[1]
	nulls, ok := read[2].(*array.Uint32)
	numbers, numbered := read[3].(*array.Uint32)
	if !ok || !numbered || nulls.NullN() > 0 || numbers.NullN() > 0 {
		return nil, fmt.Errorf("%w: null_count or page_idx of another type, or NULL", lance.ErrCorrupt)
	}
	l.nulls = nulls.Uint32Values()
	for i, number := range numbers.Uint32Values() {
		if int64(number) != int64(i) {
			return nil, fmt.Errorf("%w: page %d is at place %d", lance.ErrCorrupt, number, i)
		}
	}
	return l, l.check()
}

// pageRows returns the number of rows of a page.
func pageRows(metadata map[string]string) (int64, error) {
	if parted := metadata["range_partitioned"]; parted != "" && parted != "false" {
		return 0, fmt.Errorf("%w: pages in several files", lance.ErrUnsupported)
	}
	rows, err := strconv.ParseInt(metadata["batch_size"], 10, 64)
	if err != nil || rows < 1 {
		return 0, fmt.Errorf("%w: batch_size %q is not a number of rows", lance.ErrCorrupt, metadata["batch_size"])
	}
	if rows > maxPageRows {
		return 0, fmt.Errorf("%w: pages of %d rows, more than %d", lance.ErrUnsupported, rows, maxPageRows)
	}
	return rows, nil
}

// check checks that the pages are in the order of their values, because searches rely on
// it.
func (l *lookup) check() (err error) {
	if !arrow.TypeEqual(l.min.DataType(), l.max.DataType()) {
		return fmt.Errorf("%w: pages from %s to %s", lance.ErrCorrupt, l.min.DataType(), l.max.DataType())
	}
	if l.order, err = index.OrderOf(l.min.DataType()); err != nil {
		return err
	}
	for l.values < l.pages() && l.max.IsNull(l.values) {
		if l.min.IsValid(l.values) {
			return fmt.Errorf("%w: page %d has a first value and no last", lance.ErrCorrupt, l.values)
		}
		l.values++
	}
	for i := l.values; i < l.pages(); i++ {
		first := i == l.values
		switch {
		case l.max.IsNull(i), l.min.IsNull(i) && !first, (l.nulls[i] > 0) != l.min.IsNull(i):
			return fmt.Errorf("%w: page %d has NULLs after values", lance.ErrCorrupt, i)
		case l.min.IsValid(i) && l.order(l.min, i, l.max, i) > 0, !first && l.order(l.max, i-1, l.min, i) > 0:
			return fmt.Errorf("%w: page %d is not in the order of values", lance.ErrCorrupt, i)
		}
	}
	return nil
}

// orderFor returns the order of the values, after a check that the question has values of
// their type.
func (l *lookup) orderFor(q index.Question) (index.Order, error) {
	for _, r := range q.Ranges {
		for _, b := range []index.Bound{r.From, r.To} {
			if b.Value != nil && !arrow.TypeEqual(b.Value.DataType(), l.min.DataType()) {
				return nil, fmt.Errorf("%w: a value of type %s asked of an index of %s", lance.ErrUnsupported, b.Value.DataType(), l.min.DataType())
			}
		}
	}
	return l.order, nil
}

// find returns the numbers, ascending, of the pages that can have matching rows.
func (l *lookup) find(q index.Question, order index.Order) []int {
	var pages []int
	if q.Null {
		for i, n := range l.nulls {
			if n > 0 {
				pages = append(pages, i)
			}
		}
	}
	seen := make(map[int]bool, len(pages))
	for _, p := range pages {
		seen[p] = true
	}
	for _, r := range q.Ranges {
		from, to := l.values, l.pages()
		if r.From.Value != nil {
			from += sort.Search(to-from, func(i int) bool { return order(l.max, l.values+i, r.From.Value, 0) >= 0 })
		}
		for i := from; i < to && (r.To.Value == nil || l.min.IsNull(i) || order(l.min, i, r.To.Value, 0) <= 0); i++ {
			if !seen[i] {
				seen[i], pages = true, append(pages, i)
			}
		}
	}
	sort.Ints(pages)
	return pages
}

// matches reports whether all rows of a page match, judged by its first and last value.
func (l *lookup) matches(page int, q index.Question, order index.Order) bool {
	if l.max.IsNull(page) {
		return q.Null
	}
	if l.min.IsNull(page) {
		return false
	}
	return slices.ContainsFunc(overlapping(q.Ranges, l.min, page, l.max, page, order), func(r index.Range) bool {
		from, to := r.From, r.To
		return (from.Value == nil || order(from.Value, 0, l.min, page) < 0 || !from.Excluded && order(from.Value, 0, l.min, page) == 0) &&
			(to.Value == nil || order(to.Value, 0, l.max, page) > 0 || !to.Excluded && order(to.Value, 0, l.max, page) == 0)
	})
}
