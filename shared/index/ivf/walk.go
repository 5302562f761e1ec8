package ivf

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"tiltyard/shared/index/internal/hnsw"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/process/memory"
)

const (
	// fewShare is 10: if a filter admits fewer than one in ten rows of a partition, the admitted rows are
	// measured one by one. Native Lance does the same, and a walk may find others than all of them.
	fewShare = 10
	// sampledRows is about the largest number of rows that decide whether a filter admits few. Of a partition
	// with fewer rows all are asked, as in native Lance.
	sampledRows = 1 << 11
)

// errFew reports that a filter admits few rows of a partition.
var errFew = errors.New("the filter admits few rows")

// walk searches the graph of a partition, or measures all admitted rows if these are few.
func (s *Search) walk(ctx context.Context, p *Partition, f Filter, top *vector.TopK) (int, error) {
	measured, err := s.follow(ctx, p, f, top)
	if !errors.Is(err, errFew) && !errors.Is(err, hnsw.ErrTooFar) && !s.index.fitsInPieces(err) {
		return measured, err
	}
	more, err := s.measureAdmitted(ctx, p, f, top)
	return measured + more, err
}

// follow follows the graph of a partition to the rows near to the query. It adds nothing to top if it fails.
func (s *Search) follow(ctx context.Context, p *Partition, f Filter, top *vector.TopK) (int, error) {
	ef := max(s.params.EF, s.params.Candidates)
	if s.params.EF == 0 {
		ef = s.params.Candidates + s.params.Candidates/2
	}
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return 0, err
	}
	defer room.Close() // the memory of the pages
	w := s.walkerOf(p)
	if few, err := w.admitsFew(ctx, f); few || err != nil {
		return 0, cmp.Or(err, errFew)
	}
	hits, measured, err := p.graph.Search(ctx, w, min(ef, p.Rows()), s.mostMeasured(p, f), func(h hnsw.Hit) bool {
		b := s.params.Bounds
		if b.Lower != nil && h.Distance < *b.Lower || b.Upper != nil && !(h.Distance < *b.Upper) {
			return false
		}
		_, ok := f.Accept(w.id(h.Node))
		return ok
	})
	if err != nil {
		return measured, err
	}
	for _, h := range hits[:min(len(hits), s.params.Candidates)] {
		if address, ok := f.Accept(w.id(h.Node)); ok {
			top.Add(h.Distance, address)
		}
	}
	return measured, nil
}

// mostMeasured bounds the nodes that a walk measures under a filter. If the admitted rows lie far from the
// query, the walk would measure most other rows before it reaches them.
func (s *Search) mostMeasured(p *Partition, f Filter) int {
	if f.Share >= 1 && s.params.Bounds.Lower == nil && s.params.Bounds.Upper == nil {
		return 2 * p.Rows() // a walk on the upper levels may measure a node again
	}
	return max(p.Rows()/2, 1<<10)
}

// measureAdmitted measures all rows that a filter admits. It reads the partition in pieces if searches do not
// read it as a whole, or if the request has too little memory for that.
func (s *Search) measureAdmitted(ctx context.Context, p *Partition, f Filter, top *vector.TopK) (measured int, err error) {
	admitted := func(ids []uint64, codes *quantize.Codes) {
		meter := s.query.Meter(codes)
		for i, id := range ids {
			if address, ok := f.Accept(id); ok {
				top.Add(meter.One(i), address)
				measured++
			}
		}
	}
	if !s.index.isNarrow(p.Number) {
		err := s.eachPage(ctx, p, func(one *page) { admitted(one.ids, &one.codes) })
		if !s.index.fitsInPieces(err) {
			return measured, err
		}
	}
	_, err = s.index.readPieces(ctx, p.Number, func(piece *Partition, err error) bool {
		if err == nil {
			admitted(piece.ids, &piece.codes)
		}
		return err == nil
	})
	return measured, err
}

// eachPage calls do for each page of a partition that searches read as a whole, once it has all of them.
func (s *Search) eachPage(ctx context.Context, p *Partition, do func(*page)) error {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return err
	}
	defer room.Close()
	w := s.walkerOf(p)
	if err := w.fetch(ctx, nil); err != nil {
		return err
	}
	for number := range pagesOf(p.Rows(), p.graph.shift) {
		do(w.page(uint32(number) << p.graph.shift))
	}
	return nil
}

// fitsInPieces reports whether an error refuses the memory for a partition that can be read in pieces.
func (x *Index) fitsInPieces(err error) bool {
	return memory.TooMuch(err) && quantize.ByRow(x.quantizer)
}

// A walker has the pages of a partition that a search has visited. It implements [hnsw.Space].
type walker struct {
	search *Search
	part   *Partition

	gather quantize.Gatherer // nil: rows are measured by meters
	width  int               // of a code, for gather
	rows   []*byte
	pages  []*page          // by number; nil if the partition has too many
	others map[uint32]*page // by number, in place of pages
	meters map[*page]quantize.Meter
}

// mostPages is the largest number of pages that a walker keeps in a slice. For a partition with more pages
// it uses a map.
const mostPages = 1 << 12

func (s *Search) walkerOf(p *Partition) *walker {
	w := &walker{search: s, part: p, gather: quantize.GathererOf(s.query)}
	if w.gather == nil {
		w.meters = map[*page]quantize.Meter{}
	} else {
		w.width = s.index.quantizer.Columns()[0].RowBytes()
	}
	if n := pagesOf(p.Rows(), p.graph.shift); n > mostPages {
		w.others = map[uint32]*page{}
	} else {
		w.pages = make([]*page, n)
		copy(w.pages, p.graph.read)
	}
	return w
}

// admitsFew reports whether a filter admits few rows. Of a partition that searches read as a whole it asks for
// evenly spread rows.
func (w *walker) admitsFew(ctx context.Context, f Filter) (bool, error) {
	switch {
	case f.Share >= 1:
		return false, nil
	case w.search.index.isNarrow(w.part.Number):
		return f.Share*fewShare < 1, nil
	}
	if err := w.fetch(ctx, nil); err != nil {
		return false, err
	}
	asked, admitted := 0, 0
	for row := 0; row < w.part.Rows(); row += max(w.part.Rows()/sampledRows, 1) {
		asked++
		if _, ok := f.Accept(w.id(uint32(row))); ok {
			admitted++
		}
	}
	return admitted < asked/fewShare, nil
}

// page returns the page of a node, or nil if the search has not fetched it.
func (w *walker) page(node uint32) *page {
	number := node >> w.part.graph.shift
	if w.pages != nil {
		return w.pages[number]
	}
	return w.others[number]
}

// at returns the row of a node in its page.
func (w *walker) at(node uint32) int { return int(node & (1<<w.part.graph.shift - 1)) }

// id returns the row id of a node that was measured.
func (w *walker) id(node uint32) uint64 { return w.page(node).ids[w.at(node)] }

// Neighbors implements [hnsw.Space].
func (w *walker) Neighbors(node uint32) []uint32 { return w.page(node).links.Of(w.at(node)) }

// Distances implements [hnsw.Space]. It fetches the pages of the nodes.
func (w *walker) Distances(ctx context.Context, nodes []uint32, out []float32) error {
	for _, n := range nodes {
		if w.page(n) == nil {
			if err := w.fetch(ctx, nodes); err != nil {
				return err
			}
			break
		}
	}
	if w.gather == nil {
		for i, n := range nodes {
			out[i] = w.meter(w.page(n)).One(w.at(n))
		}
		return nil
	}
	w.rows = w.rows[:0]
	for _, n := range nodes {
		w.rows = append(w.rows, &w.page(n).codes.Columns[0][w.at(n)*w.width])
	}
	w.gather.Gather(w.rows, out)
	return nil
}

func (w *walker) meter(p *page) quantize.Meter {
	m, ok := w.meters[p]
	if !ok {
		m = w.search.query.Meter(&p.codes)
		w.meters[p] = m
	}
	return m
}

// fetch gets the pages of nodes, from the cache or by one round of requests. Of a partition that searches read
// as a whole, it gets all pages.
func (w *walker) fetch(ctx context.Context, nodes []uint32) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	shift := w.part.graph.shift
	var numbers []int
	if w.search.index.isNarrow(w.part.Number) {
		for _, n := range nodes {
			numbers = append(numbers, int(n>>shift))
		}
	} else {
		for number := range pagesOf(w.part.Rows(), shift) {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	var missing []int
	for _, number := range slices.Compact(numbers) {
		if w.page(uint32(number)<<shift) != nil {
			continue
		}
		kept, err := w.search.index.keptPage(w.part, number)
		switch {
		case err != nil:
			return err
		case kept == nil:
			missing = append(missing, number)
		default:
			w.set(number, kept)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	read, err := w.search.index.readPages(ctx, w.part, missing)
	if err != nil {
		return err
	}
	for i, number := range missing {
		w.set(number, read[i])
	}
	return nil
}

func (w *walker) set(number int, p *page) {
	if w.pages != nil {
		w.pages[number] = p
	} else {
		w.others[uint32(number)] = p
	}
}
