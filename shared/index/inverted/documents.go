package inverted

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
)

// documents are the documents of a partition, indexed by document number. Of many documents, only the counts
// are in memory: see pages.go.
type documents struct {
	count int64
	total int64 // terms in all documents
	paged bool  // rows, elements and lengths are nil

	rows     []uint64 // address or id of the row of each
	elements []uint32 // its place in a list, if documents are elements of lists; else nil
	lengths  []uint32 // terms in each document, as BM25 counts them
}

// Stored bytes per document: its row, its list element, and its length.
const (
	idBytes       = 8
	lengthBytes   = 4
	elementBytes  = 4
	documentBytes = idBytes + elementBytes + lengthBytes
)

// bytes returns the memory of the documents.
func (d *documents) bytes() int64 {
	return idBytes*int64(len(d.rows)) + elementBytes*int64(len(d.elements)) + lengthBytes*int64(len(d.lengths))
}

// elementColumn holds the list element of each document. Nested lists have additional, numbered columns.
const elementColumn = "_doc_index_0"

// openDocuments returns the documents of a partition, cached or read from storage.
func (p *partition) openDocuments(ctx context.Context) (*documents, error) {
	kept, err := p.files.Keep(p.documentsName(), func() (any, int64, error) {
		c, err := p.documentColumns(ctx)
		if err != nil {
			return nil, 0, err
		}
		if total, ok := p.areMany(c); ok {
			return &documents{count: c.File.NumRows(), total: total, paged: true}, documentBytes, nil
		}
		d, err := readDocuments(ctx, c, p.elements)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", p.name("docs"), err)
		}
		if p.coding.block == maxBlock {
			for i, n := range d.lengths {
				d.lengths[i] = rounded(n)
			}
		}
		return d, d.bytes(), nil
	})
	if err != nil {
		return nil, err
	}
	d := kept.(*documents)
	if d.paged {
		p.columns, err = p.documentColumns(ctx)
	}
	return d, err
}

// documentColumns opens the docs file, and returns the columns _rowid and _num_tokens, and the list element of
// each document if documents are elements of lists. Documents of another granularity are lance.ErrUnsupported.
func (p *partition) documentColumns(ctx context.Context) (*index.Columns, error) {
	file, err := p.files.Open(ctx, p.name("docs"))
	if err != nil {
		return nil, err
	}
	names := []string{"_rowid", "_num_tokens"}
	if p.elements {
		names = append(names, elementColumn)
	}
	c, err := index.ColumnsOf(ctx, file, names...)
	switch {
	case err != nil:
	case c.Schema.Field(elementColumn) != nil && !p.elements:
		err = fmt.Errorf("%w: documents that are elements of lists", lance.ErrUnsupported)
	case c.Schema.Field("_doc_index_1") != nil:
		err = fmt.Errorf("%w: documents that are elements of lists inside of lists", lance.ErrUnsupported)
	case file.NumRows() > maxTerms:
		err = fmt.Errorf("%w: %d documents of one partition", lance.ErrCorrupt, file.NumRows())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name("docs"), err)
	}
	return c, nil
}

// readDocuments reads the whole docs file of a partition.
func readDocuments(ctx context.Context, c *index.Columns, elements bool) (*documents, error) {
	rowCount := c.File.NumRows()
	read, err := c.Read(ctx, 0, rowCount)
	if err != nil {
		return nil, err
	}
	rows, ok := read[0].(*array.Uint64)
	lengths, counted := read[1].(*array.Uint32)
	if !ok || !counted || rows.NullN() > 0 || lengths.NullN() > 0 {
		return nil, fmt.Errorf("%w: documents of type %s and %s", lance.ErrCorrupt, read[0].DataType(), read[1].DataType())
	}
	// The lengths are copied.
	if err := memory.FromContext(ctx).Take(ctx, lengthBytes*rowCount); err != nil {
		return nil, err
	}
	d := &documents{count: rowCount, rows: rows.Uint64Values(), lengths: slices.Clone(lengths.Uint32Values())}
	if elements {
		places, ok := read[2].(*array.Uint32)
		if !ok || places.NullN() > 0 {
			return nil, fmt.Errorf("%w: elements of type %s", lance.ErrCorrupt, read[2].DataType())
		}
		d.elements = places.Uint32Values()
	}
	for _, n := range d.lengths {
		d.total += int64(n)
	}
	return d, nil
}

// rounded returns the length of a document as BM25 counts it in an index with blocks of 256: only its four
// highest bits remain.
func rounded(length uint32) uint32 {
	kept := length
	bits := 0
	for kept >= 1<<4 {
		kept >>= 1
		bits++
	}
	return kept << bits
}
