package encoding

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// A Fetch returns bytes [from, to) of buffer i of a page, or nil when they have not been
// read yet; then it notes that they are wanted. The caller reads what is wanted and
// tries again, so that a page is decoded in as many rounds of reading as it has steps
// that depend on each other, whatever else is read in the same rounds. An empty range
// is never nil. What it returns is not changed.
type Fetch func(buffer int, from, to int) []byte

// A RowRange is rows [From, To) of a page or file.
type RowRange struct {
	From, To int
}

// countRows returns how many rows the ranges hold.
func countRows(rows []RowRange) int {
	n := 0
	for _, r := range rows {
		n += r.To - r.From
	}
	return n
}

// A PageReader decodes rows of one page of version 2.1 or 2.2. It keeps small things
// that every read needs (where chunks begin, dictionaries) within the budget. It is safe
// for concurrent use.
type PageReader struct {
	rows   int
	layout layoutReader
}

// A layoutReader decodes one kind of page layout.
type layoutReader interface {
	// read decodes rows, which are ascending, disjoint and within the page. It returns
	// nil when fetch has not given all the bytes it asked for.
	read(fetch Fetch, room Room, rows []RowRange) (*Items, error)
}

// Items are decoded rows of a page: levels, and the values that are stored for them.
type Items struct {
	plan   *layerPlan
	levels levels
	values *values
	// indices into values, for leaves of a dictionary type; otherwise nil.
	indices []uint32
	// allNull says that the page stores no values; these are there to be counted.
	allNull bool
}

// count is how many items the leaf has.
func (it *Items) count() int {
	if it.indices != nil {
		return len(it.indices)
	}
	return it.values.n
}

// A PageInfo is what the metadata of a column says of a page.
type PageInfo struct {
	Sizes []int // of its buffers, in bytes
	Rows  int   // below a fixed-size list of structs: its items
	// Small is the size in bytes up to which the page is read whole when it is not known
	// yet where its rows are, which saves a round of reading.
	Small int
}

// NewPageReader returns a reader of a page that has the given layout and belongs to the
// leaf at the end of path. What is wrong with the description of the page is
// [lance.ErrCorrupt], what is not implemented [lance.ErrUnsupported].
func NewPageReader(path *Path, layout pb.Layout, info PageInfo, budget *Budget) (*PageReader, error) {
	p := &pageContext{path: path, shape: storedShape(path.Leaf.Type), sizes: info.Sizes, rows: info.Rows, small: info.Small, budget: budget}
	inner, err := newLayoutReader(p, layout)
	return &PageReader{rows: info.Rows, layout: inner}, err
}

func newLayoutReader(p *pageContext, layout pb.Layout) (layoutReader, error) {
	if _, isConstant := layout.(*pb.ConstantLayout); p.shape.kind == shapeOpaque && !isConstant {
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
	return nil, corruptf("page without a layout")
}

// Read decodes rows, which are ascending, disjoint and within the page. It returns nil
// when fetch has not given all the bytes it asked for. What they take is asked of room.
func (r *PageReader) Read(fetch Fetch, room Room, rows []RowRange) (*Items, error) {
	last := 0
	for _, rr := range rows {
		if rr.From < last || rr.To < rr.From || rr.To > r.rows {
			return nil, fmt.Errorf("rows [%d, %d) of a page of %d, after row %d", rr.From, rr.To, r.rows, last)
		}
		last = rr.To
	}
	return r.layout.read(fetch, room, rows)
}

// A pageContext is what all layouts know of their page.
type pageContext struct {
	path   *Path
	plan   *layerPlan
	shape  *shape
	sizes  []int
	rows   int
	small  int
	budget *Budget
}

// wantBuffers checks the number of buffers of the page.
func (p *pageContext) wantBuffers(n int) error {
	if len(p.sizes) != n {
		return corruptf("page of %d buffers, want %d", len(p.sizes), n)
	}
	return nil
}

// fetchAll returns a whole buffer.
func (p *pageContext) fetchAll(fetch Fetch, buffer int) []byte {
	return fetch(buffer, 0, p.sizes[buffer])
}

// readsWhole reports whether the whole page is read at once when its index is missing.
func (p *pageContext) readsWhole(rows []RowRange) bool {
	size := 0
	for _, s := range p.sizes {
		size += s
	}
	return size <= p.small || 2*countRows(rows) >= p.rows
}

// A Budget bounds the bytes that the pages of a file keep between reads.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int64) *Budget { return &Budget{limit: bytes} }

// Used returns how many bytes are kept.
func (b *Budget) Used() int64 { return b.used.Load() }

// take reserves n bytes and reports whether there is room for them.
func (b *Budget) take(n int) bool {
	if b.used.Add(int64(n)) > b.limit {
		b.used.Add(-int64(n))
		return false
	}
	return true
}

// A kept is something that is parsed once and used by later reads.
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

// toInt returns n as an int when it is one that can count things in memory.
func toInt(n uint64) (int, error) {
	if n > math.MaxInt64/64 {
		return 0, corruptf("count of %d", n)
	}
	return int(n), nil
}

// isDictionary reports whether the leaf is of a dictionary type.
func (p *pageContext) isDictionary() bool {
	return storageType(p.path.Leaf.Type).ID() == arrow.DICTIONARY
}
