package inverted

import (
	"context"
	"fmt"

	"tiltyard/shared/lance"
)

// A rowReader reads the rows of documents, for one search.
type rowReader struct {
	pages   pages[*rowPage]
	numbers []int64 // scratch
	end     int64   // the page after those that were read last
	further int64   // pages that were read in addition
}

// MostLocated is the number of documents that are best located together, and the maximal number of pages that they
// need.
const MostLocated = 256

// Rows of scattered documents are read in pages of their own. If so many are located that their pages follow each
// other, within nearPages, the search looks at many documents, and a read takes up to mostFurther additional pages.
const (
	nearPages   = 16
	mostFurther = 256
)

// Locate sets rows[i] to the address or id of the row of document numbers[i], and elements[i] to its place in the list
// of the row if documents are list elements, otherwise to 0. The numbers ascend.
func (m *Matches) Locate(ctx context.Context, numbers []int64, rows []uint64, elements []uint32) error {
	d := m.partition.documents
	if n := len(numbers); n == 0 || numbers[n-1] >= d.count {
		if n == 0 {
			return nil
		}
		return fmt.Errorf("%w: document %d of %d", lance.ErrCorrupt, numbers[n-1], d.count)
	}
	if d.paged {
		return m.rows.locate(ctx, m.partition, numbers, rows, elements)
	}
	for i, n := range numbers {
		rows[i], elements[i] = d.rows[n], 0
		if d.elements != nil {
			elements[i] = d.elements[n]
		}
	}
	return nil
}

// locate is Locate for paged documents.
func (r *rowReader) locate(ctx context.Context, of *partition, numbers []int64, rows []uint64, elements []uint32) error {
	r.pages.name, r.pages.bits, r.pages.make = "rows", rowBits, newRowPage
	for len(numbers) > 0 {
		n := min(len(numbers), MostLocated)
		if err := r.locateSome(ctx, of, numbers[:n], rows, elements); err != nil {
			return err
		}
		numbers, rows, elements = numbers[n:], rows[n:], elements[n:]
	}
	return nil
}

func (r *rowReader) locateSome(ctx context.Context, of *partition, numbers []int64, rows []uint64, elements []uint32) error {
	r.numbers = r.numbers[:0]
	missing := false
	for _, document := range numbers {
		number := document >> rowBits
		if n := len(r.numbers); n > 0 && r.numbers[n-1] == number {
			continue
		}
		r.numbers = append(r.numbers, number)
		_, have := r.pages.have[number]
		missing = missing || !have
	}
	if missing {
		if err := r.read(ctx, of, len(numbers) == MostLocated); err != nil {
			return err
		}
	}
	for i, document := range numbers {
		page, at := r.pages.have[document>>rowBits], document&(1<<rowBits-1)
		rows[i], elements[i] = page.rows[at], 0
		if page.elements != nil {
			elements[i] = page.elements[at]
		}
	}
	return nil
}

// read makes the pages of numbers those at hand, with further ones if it is one of many reads.
func (r *rowReader) read(ctx context.Context, of *partition, many bool) error {
	first, last := r.numbers[0], r.numbers[len(r.numbers)-1]
	if many && r.end > 0 && first-r.end <= nearPages && last-first <= 2*int64(len(r.numbers)) {
		r.further = min(max(1, 2*r.further), mostFurther)
	} else {
		r.further = 0
	}
	pages := (of.documents.count-1)>>rowBits + 1
	for number := last + 1; number < pages && number <= last+r.further; number++ {
		r.numbers = append(r.numbers, number)
	}
	r.end = r.numbers[len(r.numbers)-1] + 1
	fields := of.columns.Fields[:1:1]
	if of.elements {
		fields = append(fields, of.columns.Fields[2])
	}
	return r.pages.load(ctx, of, fields, r.numbers)
}
