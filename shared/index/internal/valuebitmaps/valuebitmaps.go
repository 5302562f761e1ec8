// Package valuebitmaps reads and builds the only file of a BITMAP, LABEL_LIST or NGRAM segment: distinct keys,
// each with the set of its rows. It is an ordinary data file:
//
//	bitmap_page_lookup.lance   keys    T      distinct; one may be NULL
//	                           bitmaps bytes  the rows of each key, see [index.AddRows]
//
// Recent writers sort the keys, NULL first; older files are unsorted. NGRAM segments use other names, see
// [Format].
//
// Source: scalar/bitmap.rs of crate lance-index.
package valuebitmaps

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/process/memory"
)

// A Format describes the file of a segment.
type Format struct {
	File       string // its name
	Keys, Rows string // its columns
	Treemap    bool   // rows are encoded for index.AddTreemap rather than index.AddRows
	// Add adds the rows of a key to a set.
	Add func(set *rowset.Set, data []byte) error
}

// Bitmaps is the format of the kinds BITMAP and LABEL_LIST.
var Bitmaps = Format{File: "bitmap_page_lookup.lance", Keys: "keys", Rows: "bitmaps", Add: index.AddRows}

// maxKeys bounds the keys of a segment, which are held together.
const maxKeys = 1 << 24

// pageBytes is the approximate size of the row sets that are read, and cached, together.
const pageBytes = 64 << 10

// maxPageKeys bounds the number of keys per page.
const maxPageKeys = 4096

// maxReads bounds the pages that are read in parallel.
const maxReads = 16

// Keys provides the keys of a segment. It is safe for concurrent use.
type Keys struct {
	format  Format
	files   index.Files
	known   *keys
	rows    *index.Columns // the column of the rows
	perPage int64          // keys of a page
}

// keys are the keys of a segment in memory, without their rows.
type keys struct {
	values arrow.Array
	order  index.Order
	sorted []int32 // positions of the non-NULL keys, in the order of their values
	null   []int32 // the position of the NULL key, if any
}

// Open reads the keys of a segment, which must be of type t.
func Open(ctx context.Context, files index.Files, format Format, t arrow.DataType) (*Keys, error) {
	k := &Keys{format: format, files: files}
	file, err := files.Open(ctx, format.File)
	if err != nil {
		return nil, err
	}
	if k.rows, err = index.ColumnsOf(ctx, file, format.Rows); err == nil {
		err = k.open(ctx, t)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", format.File, err)
	}
	width := max(k.rows.File.BytesPerRow(k.rows.Fields), 1)
	k.perPage = min(max(int64(pageBytes/width), 1), maxPageKeys)
	return k, nil
}

// open validates the columns of the file, and reads or finds in the cache its keys.
func (k *Keys) open(ctx context.Context, t arrow.DataType) error {
	if id := k.rows.Fields[0].Type.ID(); id != arrow.BINARY && id != arrow.LARGE_BINARY {
		return fmt.Errorf("%w: rows of type %s", lance.ErrCorrupt, k.rows.Fields[0].Type)
	}
	column, err := index.ColumnsOf(ctx, k.rows.File, k.format.Keys)
	if err != nil {
		return err
	}
	if have := column.Fields[0].Type; !arrow.TypeEqual(have, t) {
		return fmt.Errorf("%w: an index of values of type %s on a column of type %s", lance.ErrUnsupported, have, t)
	}
	kept, err := k.files.Keep(k.format.File+" keys", func() (any, int64, error) {
		known, err := readKeys(ctx, column)
		if err != nil {
			return nil, 0, err
		}
		return known, int64(known.values.Data().SizeInBytes()) + 4*int64(known.values.Len()), nil
	})
	if err == nil {
		k.known = kept.(*keys)
	}
	return err
}

// readKeys reads the column of keys, and sorts the positions of the non-NULL keys.
func readKeys(ctx context.Context, column *index.Columns) (*keys, error) {
	n := column.File.NumRows()
	if n > maxKeys {
		return nil, fmt.Errorf("%w: %d keys, more than %d", lance.ErrUnsupported, n, maxKeys)
	}
	order, err := index.OrderOf(column.Fields[0].Type)
	if err != nil {
		return nil, err
	}
	if err := memory.FromContext(ctx).Take(ctx, 4*n); err != nil {
		return nil, err
	}
	read, err := column.Read(ctx, 0, n)
	if err != nil {
		return nil, err
	}
	k := &keys{values: read[0], order: order, sorted: make([]int32, 0, n)}
	for i := range k.values.Len() {
		if k.values.IsNull(i) {
			k.null = append(k.null, int32(i))
		} else {
			k.sorted = append(k.sorted, int32(i))
		}
	}
	return k, k.sort()
}

// sort sorts the keys, and rejects duplicates.
func (k *keys) sort() error {
	compare := func(a, b int32) int { return k.order(k.values, int(a), k.values, int(b)) }
	if !slices.IsSortedFunc(k.sorted, compare) {
		slices.SortFunc(k.sorted, compare)
	}
	for i := 1; i < len(k.sorted); i++ {
		if compare(k.sorted[i-1], k.sorted[i]) == 0 {
			return fmt.Errorf("%w: a key is there twice", lance.ErrCorrupt)
		}
	}
	if len(k.null) > 1 {
		return fmt.Errorf("%w: NULL is there %d times", lance.ErrCorrupt, len(k.null))
	}
	return nil
}

// Search returns the rows of the keys that a question matches, and the number of pages read for them. The
// memory of the rows stays accounted to the context's share.
func (k *Keys) Search(ctx context.Context, q index.Question) (*rowset.Set, int, error) {
	parts, join := q.All, (*rowset.Set).Intersect
	if len(q.Any) > 0 {
		parts, join = q.Any, (*rowset.Set).Unite
	}
	if len(parts) == 0 {
		places, err := k.find(q)
		if err != nil {
			return nil, 0, err
		}
		return k.rowsAt(ctx, places)
	}
	sets, pages := make([]*rowset.Set, len(parts)), make([]int, len(parts))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for i, part := range parts {
		group.Go(func() (err error) {
			defer index.Contain(&err)
			sets[i], pages[i], err = k.Search(within, part)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, 0, err
	}
	for i, set := range sets[1:] {
		join(sets[0], set)
		pages[0] += pages[i+1]
	}
	return sets[0], pages[0], nil
}

// Cost estimates a search from the encoded size of the row sets. A sparse set takes at most two bytes per
// row and a dense one less, so the number of rows is a guess.
func (k *Keys) Cost(q index.Question) (index.Cost, error) {
	if len(q.All)+len(q.Any) == 0 {
		places, err := k.find(q)
		bytes := int64(k.rows.File.BytesPerRow(k.rows.Fields) * float64(len(places)))
		return index.Cost{Pages: len(k.pagesOf(places)), Bytes: bytes, Rows: bytes / 2}, err
	}
	var total index.Cost
	for i, part := range slices.Concat(q.All, q.Any) {
		cost, err := k.Cost(part)
		if err != nil {
			return cost, err
		}
		total.Pages += cost.Pages
		total.Bytes += cost.Bytes
		switch {
		case len(q.Any) > 0:
			total.Rows += cost.Rows
		case i == 0 || cost.Rows < total.Rows:
			total.Rows = cost.Rows
		}
	}
	return total, nil
}

// find returns the ascending positions of the keys that a question matches.
func (k *Keys) find(q index.Question) ([]int32, error) {
	var places []int32
	if q.Null {
		places = append(places, k.known.null...)
	}
	for _, r := range q.Ranges {
		for _, b := range []index.Bound{r.From, r.To} {
			if b.Value != nil && !arrow.TypeEqual(b.Value.DataType(), k.known.values.DataType()) {
				return nil, fmt.Errorf("%w: a value of type %s asked of an index of %s", lance.ErrUnsupported, b.Value.DataType(), k.known.values.DataType())
			}
		}
		places = append(places, k.known.within(r)...)
	}
	slices.Sort(places)
	return slices.Compact(places), nil
}

// within returns the places of the keys within a range.
func (k *keys) within(r index.Range) []int32 {
	from, to := 0, len(k.sorted)
	if r.From.Value != nil {
		from = sort.Search(len(k.sorted), func(i int) bool {
			c := k.order(k.values, int(k.sorted[i]), r.From.Value, 0)
			return c > 0 || c == 0 && !r.From.Excluded
		})
	}
	if r.To.Value != nil {
		to = sort.Search(len(k.sorted), func(i int) bool {
			c := k.order(k.values, int(k.sorted[i]), r.To.Value, 0)
			return c > 0 || c == 0 && r.To.Excluded
		})
	}
	if from >= to {
		return nil
	}
	return k.sorted[from:to]
}

// A page holds keys whose rows are read together.
type page struct {
	from, to int64   // of the file
	places   []int32 // of the requested keys
}

// pagesOf groups ascending positions of keys by page.
func (k *Keys) pagesOf(places []int32) []page {
	var pages []page
	for len(places) > 0 {
		from := int64(places[0]) / k.perPage * k.perPage
		to, n := min(from+k.perPage, k.rows.File.NumRows()), 1
		for n < len(places) && int64(places[n]) < to {
			n++
		}
		pages, places = append(pages, page{from, to, places[:n]}), places[n:]
	}
	return pages
}

// rowsAt returns the union of the rows of the keys at some ascending positions, and the number of pages
// read.
func (k *Keys) rowsAt(ctx context.Context, places []int32) (*rowset.Set, int, error) {
	var mu sync.Mutex
	union, pages := rowset.At(), k.pagesOf(places)
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for _, p := range pages {
		group.Go(func() (err error) {
			defer index.Contain(&err)
			rows, err := k.rowsOf(within, p)
			if err != nil {
				return fmt.Errorf("%s: keys %d to %d: %w", k.format.File, p.from, p.to, err)
			}
			mu.Lock()
			defer mu.Unlock()
			union.Unite(rows)
			return nil
		})
	}
	return union, len(pages), group.Wait()
}

// rowsOf returns the rows of keys of a page, which may be cached from an earlier search.
func (k *Keys) rowsOf(ctx context.Context, p page) (*rowset.Set, error) {
	reading, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	kept, err := k.files.Keep(fmt.Sprintf("%s rows %d to %d", k.format.File, p.from, p.to), func() (any, int64, error) {
		read, err := k.rows.Read(reading, p.from, p.to)
		if err != nil {
			return nil, 0, err
		}
		if read[0].NullN() > 0 {
			return nil, 0, fmt.Errorf("%w: a key without rows", lance.ErrCorrupt)
		}
		return read[0], int64(read[0].Data().SizeInBytes()), nil
	})
	if err != nil {
		return nil, err
	}
	rows := rowset.At()
	for _, place := range p.places {
		before := rows.Bytes()
		if err := k.format.Add(rows, valueAt(kept.(arrow.Array), int(int64(place)-p.from))); err != nil {
			return nil, err
		}
		if err := memory.FromContext(ctx).Take(ctx, rows.Bytes()-before); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func valueAt(a arrow.Array, i int) []byte {
	if large, ok := a.(*array.LargeBinary); ok {
		return large.Value(i)
	}
	return a.(*array.Binary).Value(i)
}
