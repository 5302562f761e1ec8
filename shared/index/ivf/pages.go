package ivf

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"tiltyard/shared/index/internal/hnsw"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/process/memory"
)

// A paged is the graph of a partition whose rows are cached in pages, because the whole partition may be too
// large for an entry of the cache.
//
// A partition that fits into three quarters of the cache is read as a whole, and its pages have up to
// widePage bytes. The pages of a larger partition have narrowRows rows, and a search reads only the pages
// that it visits.
type paged struct {
	*hnsw.Graph
	shift uint    // a page has 1<<shift rows
	name  string  // what the names of pages begin with
	read  []*page // all pages, if they have just been read; they may have left the cache since
}

const (
	widePage   = 8 << 20
	narrowRows = 128
)

// A page holds consecutive rows of a partition.
type page struct {
	ids   []uint64
	codes quantize.Codes
	links *hnsw.Links // by row; of the rows that are nodes
}

func (p *page) bytes() int64 { return 8*int64(len(p.ids)) + codesBytes(&p.codes) + p.links.Bytes() }

func codesBytes(c *quantize.Codes) int64 {
	n := 4 * int64(len(c.Offsets))
	for _, column := range c.Columns {
		n += int64(len(column))
	}
	return n
}

// isNarrow reports whether searches read only the pages of a partition that they visit. Without a cache, or
// with codes that depend on each other, they always read the whole partition.
func (x *Index) isNarrow(number int) bool {
	room := x.files.CacheBytes()
	return room > 0 && x.size(number) > room/4*3 && quantize.ByRow(x.quantizer)
}

// pageShift returns the binary logarithm of the rows of a page.
func (x *Index) pageShift(number int) uint {
	rows := int64(narrowRows)
	if !x.isNarrow(number) {
		rows = max(widePage/max(x.size(number)/max(x.rows[number].count, 1), 1), narrowRows)
	}
	return uint(bits.Len64(uint64(rows)) - 1)
}

// newPaged returns the paged part of a partition with a graph.
func (x *Index) newPaged(number int, graph *hnsw.Graph) *paged {
	shift := x.pageShift(number)
	return &paged{Graph: graph, shift: shift, name: fmt.Sprintf("partition %d by %d rows, page ", number, 1<<shift)}
}

func (p *paged) pageName(number int) string { return p.name + strconv.Itoa(number) }

// pageSpan returns the rows of a page.
func (x *Index) pageSpan(number, at int, shift uint) encoding.RowRange {
	from := at << shift
	return encoding.RowRange{From: from, To: min(from+1<<shift, int(x.rows[number].count))}
}

// joinPages divides a partition and its graph into pages. columns contain the rows of the partition from
// row at on.
func (x *Index) joinPages(ctx context.Context, number int, columns [][]byte, at int, rows graphRows) (*Partition, error) {
	count, nodes := int(x.rows[number].count), int(x.graphs.headers[number].Nodes())
	graph, err := x.graphs.above(ctx, number, count, rows.cut(nodes, len(rows.ids)))
	if err != nil {
		return nil, err
	}
	p := x.newPaged(number, graph)
	whole := x.codesOf(number, columns, at, count)
	for n := range pagesOf(count, p.shift) {
		span := x.pageSpan(number, n, p.shift)
		one, err := p.join(span, whole.ids[span.From:span.To], quantize.Cut(x.quantizer, &whole.codes, span.From, span.To), rows.cut(min(span.From, nodes), min(span.To, nodes)))
		if err != nil {
			return nil, err
		}
		p.read = append(p.read, one)
	}
	return &Partition{Number: number, rows: count, graph: p}, nil
}

func pagesOf(rows int, shift uint) int { return (rows + 1<<shift - 1) >> shift }

// join makes a page. It copies the ids; codes and rows must be copies already.
func (p *paged) join(span encoding.RowRange, ids []uint64, codes quantize.Codes, rows graphRows) (*page, error) {
	links, err := p.Level0(span.From, rows.ids, rows.ends, rows.neighbors)
	if err != nil {
		return nil, err
	}
	return &page{ids: slices.Clone(ids), codes: codes, links: links}, nil
}

// openPaged returns a partition without its pages. Unless it is cached, it reads the levels above 0 of the
// graph.
func (x *Index) openPaged(ctx context.Context, number int) (*Partition, error) {
	kept, err := x.files.Keep(partName(number), func() (any, int64, error) {
		from, to := int(x.graphs.headers[number].Nodes()), int(x.graphs.rows[number].count)
		reading, room, err := memory.Within(ctx)
		if err != nil {
			return nil, 0, err
		}
		defer room.Close()
		rows, err := x.graphs.readRows(reading, number, []encoding.RowRange{{From: from, To: to}})
		if err != nil {
			return nil, 0, err
		}
		graph, err := x.graphs.above(ctx, number, int(x.rows[number].count), rows.cut(0, len(rows.ids)))
		if err != nil {
			return nil, 0, err
		}
		p := &Partition{Number: number, rows: int(x.rows[number].count), graph: x.newPaged(number, graph)}
		return p, p.bytes(), nil
	})
	if err != nil {
		return nil, err
	}
	return kept.(*Partition), nil
}

// readPages reads the pages of a partition with the given ascending numbers, and caches them. It takes the
// memory from the share of the context.
func (x *Index) readPages(ctx context.Context, p *Partition, numbers []int) ([]*page, error) {
	if !quantize.ByRow(x.quantizer) {
		whole, err := x.read(ctx, []int{p.Number})
		if err != nil {
			return nil, err
		}
		x.keepPages(whole[0])
		pages := make([]*page, len(numbers))
		for i, n := range numbers {
			pages[i] = whole[0].graph.read[n]
		}
		return pages, nil
	}
	nodes := p.graph.Nodes()
	var ranges, level0, vectors []encoding.RowRange
	for _, n := range numbers {
		span := x.pageSpan(p.Number, n, p.graph.shift)
		ranges = append(ranges, span)
		if node := (encoding.RowRange{From: span.From, To: min(span.To, nodes)}); node.From < node.To {
			level0 = append(level0, node)
		}
		first := int(x.rows[p.Number].from)
		vectors = append(vectors, encoding.RowRange{From: first + span.From, To: first + span.To})
	}
	count := encoding.CountRows(ranges)
	if err := memory.FromContext(ctx).Take(ctx, x.size(p.Number)/max(x.rows[p.Number].count, 1)*int64(count)); err != nil {
		return nil, err
	}
	var columns [][]byte
	var links graphRows
	err := sideBySide(ctx,
		func(ctx context.Context) (err error) { columns, err = x.readRows(ctx, vectors); return err },
		func(ctx context.Context) error {
			reading, room, err := memory.Within(ctx)
			if err != nil {
				return err
			}
			defer room.Close()
			links, err = x.graphs.readRows(reading, p.Number, level0)
			return err
		})
	if err != nil {
		return nil, err
	}
	pages, row, node := make([]*page, len(numbers)), 0, 0
	for i, span := range ranges {
		n := max(min(span.To, nodes)-span.From, 0)
		part := x.codesOf(p.Number, columns, row, span.To-span.From)
		codes := quantize.Cut(x.quantizer, &part.codes, 0, part.codes.Rows)
		if pages[i], err = p.graph.join(span, part.ids, codes, links.cut(node, node+n)); err != nil {
			return nil, err
		}
		row, node = row+span.To-span.From, node+n
		x.keepPage(p, numbers[i], pages[i])
	}
	return pages, nil
}

// keepPages caches the pages of a partition that has just been read, and the levels above 0 of its graph.
func (x *Index) keepPages(p *Partition) {
	for i, one := range p.graph.read {
		x.keepPage(p, i, one)
	}
	levels := *p.graph
	levels.read = nil
	header := &Partition{Number: p.Number, rows: p.rows, graph: &levels}
	_, _ = x.files.Keep(partName(p.Number), func() (any, int64, error) { return header, header.bytes(), nil })
}

func (x *Index) keepPage(p *Partition, number int, one *page) {
	_, _ = x.files.Keep(p.graph.pageName(number), func() (any, int64, error) { return one, one.bytes(), nil })
}

// keptPage returns a page from the cache, or nil.
func (x *Index) keptPage(p *Partition, number int) (*page, error) {
	kept, err := x.files.Keep(p.graph.pageName(number), func() (any, int64, error) { return nil, 0, errNotKept })
	switch {
	case errors.Is(err, errNotKept):
		return nil, nil
	case err != nil:
		return nil, err
	}
	one, ok := kept.(*page)
	if !ok {
		return nil, fmt.Errorf("%w: page %d of partition %d is %T", lance.ErrCorrupt, number, p.Number, kept)
	}
	return one, nil
}
