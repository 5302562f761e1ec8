package inverted

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/memory"
)

// documents are those of a partition, by their numbers.
type documents struct {
	rows     []uint64 // what is stored of the row of each
	elements []uint32 // its place in a list, if documents are elements of lists; else nil
	lengths  []uint32 // terms in each, as scores count them
	total    int64    // terms in all of them
}

// What a document takes: what is stored of its row, its place in a list, and its length.
const (
	idBytes       = 8
	lengthBytes   = 4
	elementBytes  = 4
	documentBytes = idBytes + elementBytes + lengthBytes
)

// bytes returns how much memory the documents take.
func (d *documents) bytes() int64 {
	return idBytes*int64(len(d.rows)) + elementBytes*int64(len(d.elements)) + lengthBytes*int64(len(d.lengths))
}

// elementColumn is the column of the places in lists. There are more of them, numbered, for lists
// inside of lists.
const elementColumn = "_doc_index_0"

// openDocuments reads the documents of a partition, or finds them where they are kept.
func (p *partition) openDocuments(ctx context.Context) (*documents, error) {
	kept, err := p.files.Keep(p.documentsName(), func() (any, int64, error) {
		file, err := p.files.Open(ctx, p.name("docs"))
		if err != nil {
			return nil, 0, err
		}
		d, err := readDocuments(ctx, file, p.elements)
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
	return kept.(*documents), nil
}

func readDocuments(ctx context.Context, file *datafile.File, elements bool) (*documents, error) {
	names := []string{"_rowid", "_num_tokens"}
	if elements {
		names = append(names, elementColumn)
	}
	c, err := index.ColumnsOf(ctx, file, names...)
	if err != nil {
		return nil, err
	}
	if c.Schema.Field(elementColumn) != nil && !elements {
		return nil, fmt.Errorf("%w: documents that are elements of lists", lance.ErrUnsupported)
	}
	if c.Schema.Field("_doc_index_1") != nil {
		return nil, fmt.Errorf("%w: documents that are elements of lists inside of lists", lance.ErrUnsupported)
	}
	if file.NumRows() > maxTerms {
		return nil, fmt.Errorf("%w: %d documents of one partition", lance.ErrCorrupt, file.NumRows())
	}
	read, err := c.Read(ctx, 0, file.NumRows())
	if err != nil {
		return nil, err
	}
	rows, ok := read[0].(*array.Uint64)
	lengths, counted := read[1].(*array.Uint32)
	if !ok || !counted || rows.NullN() > 0 || lengths.NullN() > 0 {
		return nil, fmt.Errorf("%w: documents of type %s and %s", lance.ErrCorrupt, read[0].DataType(), read[1].DataType())
	}
	// The lengths are copied.
	if err := memory.FromContext(ctx).Take(ctx, lengthBytes*file.NumRows()); err != nil {
		return nil, err
	}
	d := &documents{rows: rows.Uint64Values(), lengths: slices.Clone(lengths.Uint32Values())}
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

// rounded returns the length that scores count for a document in an index with blocks of 256: its
// four highest bits, the others cleared.
func rounded(length uint32) uint32 {
	kept := length
	bits := 0
	for kept >= 1<<4 {
		kept >>= 1
		bits++
	}
	return kept << bits
}
