package datafile

import (
	"fmt"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/read"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
)

// A leafTask reads rows of one leaf in a file of version 2.1 or 2.2.
type leafTask struct {
	file   *File
	column *fileColumn
	path   *repdef.Path
	parts  []part
	rows   int // rows of the field
	room   values.Room
	result *read.Column

	structure bool // a field around the leaf takes its structure from it
}

// A part selects the wanted rows of one page.
type part struct {
	index int
	page  *filePage
	rows  []encoding.RowRange // within the page
	items *read.Items         // once they have been decoded
}

// newLeafTask returns the task that reads rows of the field at the start of path.
func newLeafTask(f *File, c *fileColumn, path *repdef.Path, rows []encoding.RowRange, count int) (*leafTask, error) {
	size := path.RowItems()
	if c.rows() != int(f.rows)*size {
		return nil, fmt.Errorf("%w: column %d has %d items for %d rows", lance.ErrCorrupt, c.index, c.rows(), f.rows)
	}
	if size > 1 {
		scaled := make([]encoding.RowRange, len(rows))
		for i, r := range rows {
			scaled[i] = encoding.RowRange{From: r.From * size, To: r.To * size}
		}
		rows = scaled
	}
	return &leafTask{file: f, column: c, path: path, parts: c.split(rows), rows: count}, nil
}

// split divides ascending rows among the pages that hold them. Pages without any are
// left out.
func (c *fileColumn) split(rows []encoding.RowRange) []part {
	var parts []part
	for _, r := range rows {
		at := sort.SearchInts(c.starts, r.From+1) - 1
		for ; at < len(c.pages) && c.starts[at] < r.To; at++ {
			start, end := c.starts[at], c.starts[at+1]
			within := encoding.RowRange{From: max(r.From, start) - start, To: min(r.To, end) - start}
			if within.From >= within.To {
				continue
			}
			if n := len(parts); n > 0 && parts[n-1].index == at {
				parts[n-1].rows = append(parts[n-1].rows, within)
				continue
			}
			parts = append(parts, part{index: at, page: c.pages[at], rows: []encoding.RowRange{within}})
		}
	}
	return parts
}

// run decodes the parts whose bytes are available. When all are decoded, it joins them and rebuilds
// the nesting.
func (t *leafTask) run(src *source) (bool, []interval, error) {
	var wanted []interval
	for i := range t.parts {
		p := &t.parts[i]
		if p.items != nil {
			continue
		}
		// Taking nothing still returns an error once the context has ended.
		if err := t.room.Take(0); err != nil {
			return false, nil, err
		}
		err := t.readPart(src, p, &wanted)
		if err != nil {
			return false, nil, t.column.pageError(p.index, err)
		}
	}
	if len(wanted) > 0 {
		return false, wanted, nil
	}
	builder := read.NewColumnBuilder(t.path)
	builder.LeafOnly, builder.Room = !t.structure, t.room
	for i := range t.parts {
		p := &t.parts[i]
		if err := builder.Add(p.items); err != nil {
			return false, nil, t.column.pageError(p.index, err)
		}
	}
	t.parts = nil
	var err error
	if t.result, err = builder.Finish(t.rows); err != nil {
		err = fmt.Errorf("column %d: %w", t.column.index, err)
	}
	return true, nil, err
}

// readPart decodes the rows of one page, or adds the intervals that it lacks to wanted. A reader
// that lacks bytes without naming them would loop forever, so that is an error.
func (t *leafTask) readPart(src *source, p *part, wanted *[]interval) error {
	reader, err := p.page.open(t.path, t.file.budget)
	if err != nil {
		return err
	}
	before := len(*wanted)
	p.items, err = reader.Read(p.page.fetcher(src, wanted), t.room, p.rows)
	if err == nil && p.items == nil && len(*wanted) == before {
		err = fmt.Errorf("%w: nothing left to read", lance.ErrCorrupt)
	}
	return err
}

// fetcher returns a Fetch of the page's buffers, which adds missing intervals to wanted.
func (p *filePage) fetcher(src *source, wanted *[]interval) encoding.Fetch {
	return func(buffer, from, to int) []byte {
		if from == to {
			return []byte{}
		}
		want := interval{int64(p.BufferOffsets[buffer]) + int64(from), int64(to - from)}
		b := src.find(want)
		if b == nil {
			*wanted = append(*wanted, want)
		}
		return b
	}
}

// array returns the leaf's own array, which must have n items.
func (t *leafTask) array(n int) (arrow.Array, error) {
	if got := t.result.Leaf.Len(); got != n {
		return nil, fmt.Errorf("%w: column %d has %d items where others have %d", lance.ErrCorrupt, t.column.index, got, n)
	}
	return t.result.Leaf, nil
}
