// Package read turns pages of data files of version 2.1 and 2.2 into Arrow arrays. A [PageReader]
// decodes rows of one page from the bytes that it fetches, and a [ColumnBuilder] joins the decoded
// rows of several pages to a column. Each layout has a file that shows its buffers: miniblock.go,
// fullzip.go, constant.go, blob.go.
package read

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/pb"
)

// A PageReader decodes rows of one page of version 2.1 or 2.2. It keeps small parts that every read
// needs (chunk indices, dictionaries) within the budget. It is safe for concurrent use.
type PageReader struct {
	rows   int
	layout layoutReader
}

// A layoutReader decodes one kind of page layout.
type layoutReader interface {
	// read decodes rows, which ascend, do not overlap and lie within the page. It returns nil if
	// fetch lacked some of the bytes.
	read(fetch encoding.Fetch, room values.Room, rows []encoding.RowRange) (*Items, error)
}

// Items are decoded rows of a page: levels, and the stored values.
type Items struct {
	values.Items
	plan   *repdef.Plan
	levels repdef.Levels
	// allNull marks a page without stored values; the values here only count rows.
	allNull bool
}

// NewPageReader returns the reader of a page with the given layout, which belongs to the leaf at
// the end of path. A faulty description of the page is [lance.ErrCorrupt], an unsupported one
// [lance.ErrUnsupported].
func NewPageReader(path *repdef.Path, layout pb.Layout, info encoding.PageInfo, budget *Budget) (*PageReader, error) {
	p := &pageContext{path: path, shape: values.ShapeToRead(path.Leaf.Type), sizes: info.Sizes, rows: info.Rows, small: info.Small, budget: budget}
	inner, err := newLayoutReader(p, layout)
	return &PageReader{rows: info.Rows, layout: inner}, err
}

// newLayoutReader returns the reader of the page's layout. Types that cannot be stored occur in
// all-null constant pages only.
func newLayoutReader(p *pageContext, layout pb.Layout) (layoutReader, error) {
	if _, isConstant := layout.(*pb.ConstantLayout); p.shape.Kind == values.Opaque && !isConstant {
		return nil, fmt.Errorf("%w: columns of type %s", lance.ErrUnsupported, p.path.Leaf.Type)
	}
	switch layout := layout.(type) {
	case *pb.MiniBlockLayout:
		return newMiniBlock(p, layout)
	case *pb.FullZipLayout:
		return newFullZip(p, layout)
	case *pb.ConstantLayout:
		return newConstant(p, layout)
	case *pb.BlobLayout:
		return newBlobPage(p, layout)
	}
	return nil, lance.Corruptf("page without a layout")
}

// Read decodes rows, which ascend, do not overlap and lie within the page. It returns nil if fetch
// lacked some of the bytes. It takes the memory for the rows from room.
func (r *PageReader) Read(fetch encoding.Fetch, room values.Room, rows []encoding.RowRange) (*Items, error) {
	last := 0
	for _, rr := range rows {
		if rr.From < last || rr.To < rr.From || rr.To > r.rows {
			return nil, fmt.Errorf("rows [%d, %d) of a page of %d, after row %d", rr.From, rr.To, r.rows, last)
		}
		last = rr.To
	}
	return r.layout.read(fetch, room, rows)
}

// A pageContext is the data about a page that all layouts need.
type pageContext struct {
	path   *repdef.Path
	plan   *repdef.Plan
	shape  *values.Shape
	sizes  []int
	rows   int
	small  int
	budget *Budget
}

// wantBuffers checks the number of buffers of the page.
func (p *pageContext) wantBuffers(n int) error {
	if len(p.sizes) != n {
		return lance.Corruptf("page of %d buffers, want %d", len(p.sizes), n)
	}
	return nil
}

// fetchAll returns a whole buffer.
func (p *pageContext) fetchAll(fetch encoding.Fetch, buffer int) []byte {
	return fetch(buffer, 0, p.sizes[buffer])
}

// readsWhole reports whether the whole page is fetched while its index is missing.
func (p *pageContext) readsWhole(rows []encoding.RowRange) bool {
	size := 0
	for _, s := range p.sizes {
		size += s
	}
	return size <= p.small || 2*encoding.CountRows(rows) >= p.rows
}

// A Budget bounds the bytes that the pages of a file keep between reads.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget of the given number of bytes.
func NewBudget(bytes int64) *Budget { return &Budget{limit: bytes} }

// Used returns the bytes in use.
func (b *Budget) Used() int64 { return b.used.Load() }

// take reserves n bytes and reports whether there is room for them.
func (b *Budget) take(n int) bool {
	if b.used.Add(int64(n)) > b.limit {
		b.used.Add(-int64(n))
		return false
	}
	return true
}

// A kept is a value that one read parses and later reads use.
type kept[T any] struct {
	p atomic.Pointer[T]
}

// put keeps v, of the given size, if the budget has room.
func (k *kept[T]) put(v *T, size int, budget *Budget) {
	if k.p.Load() == nil && budget.take(size) {
		if !k.p.CompareAndSwap(nil, v) {
			budget.used.Add(-int64(size))
		}
	}
}

// toInt returns n as an int, or an error if it is too large for a count of things in memory.
func toInt(n uint64) (int, error) {
	if n > math.MaxInt64/64 {
		return 0, lance.Corruptf("count of %d", n)
	}
	return int(n), nil
}

// isDictionary reports whether the leaf is of a dictionary type.
func (p *pageContext) isDictionary() bool {
	return values.StorageType(p.path.Leaf.Type).ID() == arrow.DICTIONARY
}
