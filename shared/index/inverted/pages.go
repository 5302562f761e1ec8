package inverted

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// A search with a bound needs the lengths of the documents that may score enough, and the rows of those that do.
// In a partition of many documents it reads only the pages with these, so the memory and the reads of a search do
// not grow with the number of documents:
//
//	lengths  pages of 4,096 documents. When a search needs a length, it reads the pages of the next documents
//	         that may score enough, too. See upcoming.
//	rows     pages of 1,024 documents. The caller looks up the rows of several documents at once with Locate.
//
// Pages are cached one by one.
const (
	lengthBits = 12
	rowBits    = 10
)

// wholeDocuments is the maximal number of documents that are read as a whole, by one request of a few megabytes.
const wholeDocuments = 1 << 18

// areMany reports whether the documents are paged, and returns the number of their terms. They are not if the file does
// not record that number, or if their list elements need a check.
func (p *partition) areMany(c *index.Columns) (total int64, ok bool) {
	if c.File.NumRows() <= p.upTo.documents || p.elements && !p.distinct {
		return 0, false
	}
	total, err := strconv.ParseInt(c.Schema.Metadata[totalKey], 10, 64)
	return total, err == nil && total >= 0 && total <= math.MaxUint32*c.File.NumRows()
}

// listsWithPages is lists. If the documents are paged, the first one is read meanwhile: then the file knows where the others
// are in its pages.
func (p *partition) listsWithPages(ctx context.Context, terms []string, positions bool) (lists []*posting, err error) {
	if name := p.name("docs") + " pages are known"; p.documents.paged && !p.isKept(name) {
		err := lance.Each(ctx, 2, 2, func(ctx context.Context, i int) (err error) {
			if i == 0 {
				lists, err = p.lists(ctx, terms, positions)
				return err
			}
			_, err = p.files.Keep(name, func() (any, int64, error) {
				if _, err := p.columns.Read(ctx, 0, 1); err != nil {
					return nil, 0, fmt.Errorf("%s: %w", p.name("docs"), err)
				}
				return true, 1, nil
			})
			return err
		})
		return lists, err
	}
	return p.lists(ctx, terms, positions)
}

// eachDocuments calls f with the documents, some at a time if they are paged. f must not keep them.
func (p *partition) eachDocuments(ctx context.Context, f func(*documents) error) error {
	if !p.documents.paged {
		return f(p.documents)
	}
	for from := int64(0); from < p.documents.count; from += documentStep {
		if err := p.someDocuments(ctx, from, min(from+documentStep, p.documents.count), f); err != nil {
			return err
		}
	}
	return nil
}

func (p *partition) someDocuments(ctx context.Context, from, to int64, f func(*documents) error) error {
	reading, room, err := memory.Within(ctx)
	if err != nil {
		return err
	}
	defer room.Close()
	read, err := p.columns.Read(reading, from, to)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name("docs"), err)
	}
	rows, err := numbersIn[*array.Uint64](read[0])
	if err != nil {
		return fmt.Errorf("%s: %w", p.name("docs"), err)
	}
	lengths, err := numbersIn[*array.Uint32](read[1])
	if err != nil {
		return fmt.Errorf("%s: %w", p.name("docs"), err)
	}
	d := &documents{count: to - from, rows: rows.Uint64Values(), lengths: slices.Clone(lengths.Uint32Values())}
	if p.coding.block == maxBlock {
		for i, n := range d.lengths {
			d.lengths[i] = rounded(n)
		}
	}
	return f(d)
}

// numbersIn returns a column of documents as numbers of a type, without NULLs.
func numbersIn[A arrow.Array](column arrow.Array) (A, error) {
	numbers, ok := column.(A)
	if !ok || column.NullN() > 0 {
		return numbers, fmt.Errorf("%w: documents of type %s", lance.ErrCorrupt, column.DataType())
	}
	return numbers, nil
}

// A pageOf is a page of the documents of a partition.
type pageOf interface{ bytes() int64 }

// lengthPage has the lengths of some documents, in bytes if none is longer than a byte can tell.
type lengthPage struct {
	short []uint8
	long  []uint32
}

func (p *lengthPage) bytes() int64 { return int64(len(p.short)) + lengthBytes*int64(len(p.long)) }

func (p *lengthPage) at(i int64) uint32 {
	if p.long == nil {
		return uint32(p.short[i])
	}
	return p.long[i]
}

// newLengthPage returns the page of some lengths, rounded as BM25 counts them.
func newLengthPage(c coding, columns []arrow.Array, from, to int) (*lengthPage, error) {
	column, err := numbersIn[*array.Uint32](columns[0])
	if err != nil {
		return nil, err
	}
	lengths := column.Uint32Values()[from:to]
	p := &lengthPage{}
	if slices.Max(lengths) > math.MaxUint8 {
		p.long = slices.Clone(lengths)
		if c.block == maxBlock {
			for i, n := range p.long {
				p.long[i] = rounded(n)
			}
		}
		return p, nil
	}
	p.short = make([]uint8, len(lengths))
	for i, n := range lengths {
		if c.block == maxBlock {
			n = rounded(n)
		}
		p.short[i] = uint8(n)
	}
	return p, nil
}

// rowPage has the rows of some documents, and their list elements if documents are list elements.
type rowPage struct {
	rows     []uint64
	elements []uint32
}

func (p *rowPage) bytes() int64 {
	return idBytes*int64(len(p.rows)) + elementBytes*int64(len(p.elements))
}

func newRowPage(_ coding, columns []arrow.Array, from, to int) (*rowPage, error) {
	rows, err := numbersIn[*array.Uint64](columns[0])
	if err != nil {
		return nil, err
	}
	p := &rowPage{rows: slices.Clone(rows.Uint64Values()[from:to])}
	if len(columns) > 1 {
		elements, err := numbersIn[*array.Uint32](columns[1])
		if err != nil {
			return nil, err
		}
		p.elements = slices.Clone(elements.Uint32Values()[from:to])
	}
	return p, nil
}

// pages are the pages of documents that a search has at hand. It belongs to one goroutine.
type pages[P pageOf] struct {
	name string // in the cache
	bits int    // a page has 1<<bits documents
	make func(c coding, columns []arrow.Array, from, to int) (P, error)

	held memory.Hold
	have map[int64]P // by number
}

// find returns a page at hand, or in the cache.
func (v *pages[P]) find(ctx context.Context, of *partition, number int64) (page P, ok bool, err error) {
	if page, ok = v.have[number]; ok {
		return page, true, nil
	}
	kept, err := of.files.Keep(v.key(of, number), func() (any, int64, error) { return nil, 0, errNotKept })
	if errors.Is(err, errNotKept) {
		return page, false, nil
	}
	if err != nil {
		return page, false, err
	}
	page = kept.(P)
	return page, true, v.hold(ctx, map[int64]P{number: page})
}

func (v *pages[P]) key(of *partition, number int64) string {
	return fmt.Sprintf("%s %s %d", of.name("docs"), v.name, number)
}

// hold replaces the pages at hand.
func (v *pages[P]) hold(ctx context.Context, have map[int64]P) error {
	bytes := int64(0)
	for _, page := range have {
		bytes += page.bytes()
	}
	v.have = have
	return v.held.Resize(ctx, bytes)
}

// load makes the pages of some ascending numbers those at hand. It reads all that are missing by one call of the
// store.
func (v *pages[P]) load(ctx context.Context, of *partition, fields []*schema.Field, numbers []int64) error {
	have, missing := make(map[int64]P, len(numbers)), []int64(nil)
	for _, number := range numbers {
		if page, ok := v.have[number]; ok {
			have[number] = page
			continue
		}
		kept, err := of.files.Keep(v.key(of, number), func() (any, int64, error) { return nil, 0, errNotKept })
		switch {
		case errors.Is(err, errNotKept):
			missing = append(missing, number)
		case err != nil:
			return err
		default:
			have[number] = kept.(P)
		}
	}
	if err := v.read(ctx, of, fields, missing, have); err != nil {
		return err
	}
	return v.hold(ctx, have)
}

// read reads pages and adds them to have.
func (v *pages[P]) read(ctx context.Context, of *partition, fields []*schema.Field, numbers []int64, have map[int64]P) error {
	if len(numbers) == 0 {
		return nil
	}
	reading, room, err := memory.Within(ctx)
	if err != nil {
		return err
	}
	defer room.Close()
	ranges, rows := make([]encoding.RowRange, len(numbers)), 0
	for i, number := range numbers {
		ranges[i] = encoding.RowRange{From: int(number << v.bits), To: int(min((number+1)<<v.bits, of.documents.count))}
		rows += ranges[i].To - ranges[i].From
	}
	columns, err := of.columns.File.ReadRanges(reading, fields, ranges)
	if err != nil {
		return fmt.Errorf("%s: %w", of.name("docs"), err)
	}
	for i, c := range columns {
		if c.Len() != rows {
			return fmt.Errorf("%w: %s: column %s has %d rows, want %d", lance.ErrCorrupt, of.name("docs"), fields[i].Name, c.Len(), rows)
		}
		if err := memory.FromContext(reading).Take(reading, int64(c.Data().SizeInBytes())); err != nil {
			return err
		}
	}
	at := 0
	for i, number := range numbers {
		n := ranges[i].To - ranges[i].From
		page, err := v.make(of.coding, columns, at, at+n)
		if err != nil {
			return fmt.Errorf("%s: %w", of.name("docs"), err)
		}
		at += n
		have[number] = page
		if _, err := of.files.Keep(v.key(of, number), func() (any, int64, error) { return page, page.bytes(), nil }); err != nil {
			return err
		}
	}
	return nil
}
