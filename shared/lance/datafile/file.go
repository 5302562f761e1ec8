package datafile

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/objectstore"
)

// A File is an open data file, to be read from: its metadata, and small parts of pages
// that every read needs, which are kept within a bound as they are first read. Data
// files never change, so a File may be kept as long as there is memory. It is safe for
// concurrent use.
//
// Which column of the file belongs to which field is no property of the file: each version
// of each table that names the file has a view of its own (see [File.View]). The views share
// all that the file itself says.
type File struct {
	*stored
	fields map[int32]int32 // by field id: column of the file
}

// View returns the open file for another version of a table, whose manifest says by
// columns which column of the file each field is stored in. The map must not change.
func (f *File) View(columns map[int32]int32) *File { return &File{f.stored, columns} }

// stored is what an open file says itself, whatever tables name it.
type stored struct {
	store    objectstore.Store
	key      string
	size     int64
	version  lance.Version
	rows     int64
	metadata extent     // of the columns, with the tables and the descriptor
	kept     extent     // data that was read along with it
	globals  []interval // where the global buffers are
	tables   []interval // where the metadata of each column is
	gap      int64      // that the store would rather read than be asked again
	budget   *encoding.Budget

	mu      sync.Mutex
	columns []*fileColumn // those that have been used, each in the forms that it was read in
}

// Version returns the version of the file, such as 2.2.
func (f *File) Version() lance.Version { return f.version }

// NumRows returns the number of rows of each of the file's top-level fields.
func (f *File) NumRows() int64 { return f.rows }

// Size returns the size of the file in bytes.
func (f *File) Size() int64 { return f.size }

// MemBytes returns about how much memory the File takes. It grows as columns are used.
func (f *File) MemBytes() int64 {
	const structs = 1024
	n := int64(structs) + int64(len(f.metadata.bytes)) + 16*int64(len(f.globals)+len(f.tables)) + f.budget.Used()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.columns {
		for ; c != nil; c = c.other {
			n += c.memory()
		}
	}
	return n + 8*int64(len(f.columns))
}

// A fileColumn is one physical column of the file, read in one form. The readers of its
// pages depend on the form: the same column may be texts for one version of a table, and
// blobs for another one that has changed the metadata of the field.
type fileColumn struct {
	index  int32
	form   string
	other  *fileColumn // the same column in another form; nil for the last one
	pages  []*filePage
	starts []int // first row (or item) of each page, and the end of the last one

	estimate atomic.Pointer[float64] // see columnBytes
}

// A filePage is one page of a column, with its reader once that has been needed.
type filePage struct {
	pb.Page
	sizes []int
	small int // see encoding.PageInfo

	once   sync.Once
	reader *encoding.PageReader
	v20    *encoding.PageReaderV20
	err    error
}

func (c *fileColumn) memory() int64 {
	const perPage = 400 // the structures here and what a reader has made of the encoding
	n := int64(64 + len(c.form))
	for _, p := range c.pages {
		n += perPage + 24*int64(len(p.sizes))
	}
	return n
}

// maxForms bounds in how many forms a column is kept. Versions of tables rarely need two;
// further ones are parsed anew for each read.
const maxForms = 8

// columnOf returns the column that a leaf is stored in, or nil when the file has none. above
// are the steps down to the leaf.
func (f *File) columnOf(field *schema.Field, above []encoding.Step) (*fileColumn, error) {
	index, ok := f.fields[field.ID]
	if !ok {
		return nil, nil
	}
	if index < 0 || int(index) >= len(f.tables) {
		return nil, fmt.Errorf("%w: field %d in column %d of %d", lance.ErrCorrupt, field.ID, index, len(f.tables))
	}
	var space [64]byte
	form := appendForm(space[:0], field, above)
	f.mu.Lock()
	defer f.mu.Unlock()
	forms := 0
	for c := f.columns[index]; c != nil; c = c.other {
		if c.form == string(form) {
			return c, nil
		}
		forms++
	}
	c, err := f.parseColumn(index)
	if err != nil {
		return nil, fmt.Errorf("column %d: %w", index, err)
	}
	if c.form = string(form); forms < maxForms {
		c.other, f.columns[index] = f.columns[index], c
	}
	return c, nil
}

// appendForm appends what the readers of a leaf's pages depend on, beside the pages: the
// type of the leaf, and the kinds of the fields around it. Names do not matter to them.
func appendForm(b []byte, leaf *schema.Field, above []encoding.Step) []byte {
	for _, step := range above {
		b = append(b, '0'+byte(step.Kind))
		if step.Kind == encoding.FixedListStep {
			b = strconv.AppendInt(b, int64(step.Size), 10)
		}
		if step.Nullable {
			b = append(b, '?')
		}
	}
	return leaf.AppendForm(append(b, ' '))
}

func (f *File) parseColumn(index int32) (*fileColumn, error) {
	at := f.tables[index]
	b, ok := f.metadata.find(at.from, at.size)
	if !ok {
		return nil, fmt.Errorf("%w: metadata at %d is not where metadata is", lance.ErrCorrupt, at.from)
	}
	var m pb.ColumnMetadata
	if err := m.Unmarshal(b); err != nil {
		return nil, fmt.Errorf("%w: metadata: %w", lance.ErrCorrupt, err)
	}
	c := &fileColumn{index: index, starts: make([]int, 1, len(m.Pages)+1)}
	for i := range m.Pages {
		p := &filePage{Page: m.Pages[i], small: int(smallPages * f.gap)}
		if err := p.check(f.size); err != nil {
			return nil, fmt.Errorf("page %d: %w", i, err)
		}
		end := c.starts[i] + int(p.Length)
		if p.Length > maxItems || end > maxItems {
			return nil, fmt.Errorf("%w: page %d ends at row %d", lance.ErrCorrupt, i, p.Length)
		}
		c.pages = append(c.pages, p)
		c.starts = append(c.starts, end)
	}
	return c, nil
}

// maxItems bounds how many items a column may claim to have.
const maxItems = 1 << 48

// check checks that the buffers of a page lie within the file.
func (p *filePage) check(size int64) error {
	p.sizes = make([]int, len(p.BufferSizes))
	for i, n := range p.BufferSizes {
		if n > uint64(size) || n > 0 && p.BufferOffsets[i] > uint64(size)-n {
			return fmt.Errorf("%w: buffer of %d bytes at %d of %d", lance.ErrCorrupt, n, p.BufferOffsets[i], size)
		}
		p.sizes[i] = int(n)
	}
	return nil
}

// smallPages is how many gaps a page may be long to be read whole, to save a round of
// reading, before it is known where in it the rows are.
const smallPages = 4

func (p *filePage) info() encoding.PageInfo {
	return encoding.PageInfo{Sizes: p.sizes, Rows: int(p.Length), Small: p.small}
}

// pageError says which page an error is about, and where in the file it begins.
func (c *fileColumn) pageError(page int, err error) error {
	at := uint64(0)
	if offsets := c.pages[page].BufferOffsets; len(offsets) > 0 {
		at = slices.Min(offsets)
	}
	return fmt.Errorf("column %d, page %d at byte %d: %w", c.index, page, at, err)
}

// rows returns how many rows or items the column has.
func (c *fileColumn) rows() int { return c.starts[len(c.starts)-1] }

// open makes the reader of a page of version 2.1 or 2.2.
func (p *filePage) open(path *encoding.Path, budget *encoding.Budget) (*encoding.PageReader, error) {
	p.once.Do(func() {
		if p.Encoding.TypeURL != pb.TypePageLayout {
			p.err = fmt.Errorf("%w: page encoded as %q", lance.ErrUnsupported, p.Encoding.TypeURL)
			return
		}
		layout, err := pb.UnmarshalLayout(p.Encoding.Value)
		if err != nil {
			p.err = fmt.Errorf("%w: page layout: %w", lance.ErrCorrupt, err)
			return
		}
		p.reader, p.err = encoding.NewPageReader(path, layout, p.info(), budget)
	})
	return p.reader, p.err
}
