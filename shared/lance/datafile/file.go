package datafile

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/read"
	"tiltyard/shared/lance/internal/encoding/repdef"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/internal/encoding/version20"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
)

// A File is a data file that is open for reading. It holds the file's metadata and keeps small
// parts of pages that every read needs, such as page indices and dictionaries, within a bound. Data
// files never change, so a File may be kept as long as there is memory. It is safe for concurrent
// use.
//
// The file does not record which of its columns belongs to which field of a table: each version of
// each table that names the file has its own view of it (see [File.View]). The views share
// everything else.
type File struct {
	*stored
	fields map[int32]int32 // by field id: column of the file
}

// View returns the open file for another version of a table. columns is from the manifest of that
// version: for each field id, the column of the file that stores the field. The map must not
// change.
func (f *File) View(columns map[int32]int32) *File { return &File{f.stored, columns} }

// stored is the part of an open file that is the same for all tables that use it.
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
	gap      int64      // read gap of the store: reading fewer bytes is cheaper than another request
	whole    bool       // all bytes are read, and kept, when it is opened
	tail     []byte     // its last bytes, if they are known before it is opened
	budget   *read.Budget
	trail    *trail
	schema   atomic.Pointer[schema.Schema] // with which the file was written, once it has been decoded

	mu      sync.Mutex
	columns []*fileColumn // columns used so far, each in the forms in which it was read
	// estimated is the memory of columns that were first used by an estimate; see unasked.
	estimated int
}

// Version returns the version of the file, such as 2.2.
func (f *File) Version() lance.Version { return f.version }

// NumRows returns the number of rows of each of the file's top-level fields.
func (f *File) NumRows() int64 { return f.rows }

// Size returns the size of the file in bytes.
func (f *File) Size() int64 { return f.size }

// IsHeld reports whether the File holds all bytes of the file, so that reading it needs no request.
func (f *File) IsHeld() bool { return int64(len(f.kept.bytes)) == f.size }

const (
	// maxKeptSchema is how large the stored form of a schema may be that a File keeps.
	maxKeptSchema = 64 << 10
	// schemaRatio is the approximate ratio of a decoded schema's memory to its stored size.
	schemaRatio = 8
)

// MemBytes estimates the memory of the File. It grows as columns are used.
func (f *File) MemBytes() int64 {
	const structs = 1024
	n := int64(structs) + int64(len(f.metadata.bytes)) + 16*int64(len(f.globals)+len(f.tables)) + f.budget.Used() + f.trail.memBytes()
	if f.schema.Load() != nil {
		n += schemaRatio * f.globals[0].size
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.columns {
		for ; c != nil; c = c.other {
			n += c.memory()
		}
	}
	return n + 8*int64(len(f.columns))
}

// A fileColumn is one physical column of the file, read in one form. The readers of its pages
// depend on the form: the same column may be text for one version of a table, and blobs for another
// version in which the metadata of the field has changed.
type fileColumn struct {
	index  int32
	form   string
	other  *fileColumn // the same column in another form; nil for the last one
	pages  []*filePage
	starts []int // first row (or item) of each page, and the end of the last one

	estimate atomic.Pointer[float64] // see columnBytes
}

// A filePage is one page of a column. Its reader is made when it is first needed.
type filePage struct {
	pb.Page
	sizes []int
	small int // see encoding.PageInfo

	once   sync.Once
	reader *read.PageReader
	v20    *version20.PageReader
	err    error
}

// pageBytes is the memory of a page with its decoded encoding, and bufferBytes that of each of its
// buffers.
const pageBytes, bufferBytes = 400, 24

// memory returns the memory of the column's page structures.
func (c *fileColumn) memory() int64 {
	n := int64(64 + len(c.form))
	for _, p := range c.pages {
		n += pageBytes + bufferBytes*int64(len(p.sizes))
	}
	return n
}

// maxForms bounds the forms that are kept per column. Two are rare already; a read in another form
// parses the column again.
const maxForms = 8

// columnOf returns the column that stores a leaf, or nil if the file has none. The steps in above
// lead down to the leaf. What the pages take when the column is first needed comes from the room.
func (f *File) columnOf(field *schema.Field, above []repdef.Step, room values.Room) (*fileColumn, error) {
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
	c, _ := f.keptColumn(index, form)
	f.mu.Unlock()
	if c != nil {
		return c, nil
	}
	made, err := f.parseColumn(index, room) // without the lock, as it may wait for memory
	if err != nil {
		return nil, fmt.Errorf("column %d: %w", index, err)
	}
	made.form = string(form)
	f.mu.Lock()
	defer f.mu.Unlock()
	c, forms := f.keptColumn(index, form)
	if c != nil {
		return c, nil
	}
	if forms < maxForms {
		made.other, f.columns[index] = f.columns[index], made
	}
	return made, nil
}

// keptColumn returns the column in a form, or nil if it is not kept, and the number of kept forms.
// The caller holds the lock.
func (f *File) keptColumn(index int32, form []byte) (found *fileColumn, forms int) {
	for c := f.columns[index]; c != nil; c = c.other {
		if c.form == string(form) {
			return c, forms
		}
		forms++
	}
	return nil, forms
}

// appendForm appends the inputs of a leaf's page readers other than the pages: the type of the leaf
// and the kinds of the enclosing fields. Names are irrelevant.
func appendForm(b []byte, leaf *schema.Field, above []repdef.Step) []byte {
	for _, step := range above {
		b = append(b, '0'+byte(step.Kind))
		if step.Kind == repdef.FixedListStep {
			b = strconv.AppendInt(b, int64(step.Size), 10)
		}
		if step.Nullable {
			b = append(b, '?')
		}
	}
	return leaf.AppendForm(append(b, ' '))
}

// parseColumn decodes the metadata of a column into pages without readers.
func (f *File) parseColumn(index int32, room values.Room) (*fileColumn, error) {
	m, err := f.columnMetadata(index, room)
	if err != nil {
		return nil, err
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

// columnMetadata decodes the metadata of a column. Two bytes can describe a page, so the memory of
// the pages is charged to room first.
func (f *File) columnMetadata(index int32, room values.Room) (*pb.ColumnMetadata, error) {
	at := f.tables[index]
	b, ok := f.metadata.find(at.from, at.size)
	if !ok {
		return nil, fmt.Errorf("%w: metadata at %d is not where metadata is", lance.ErrCorrupt, at.from)
	}
	pages, buffers, err := pb.CountPages(b)
	if err == nil {
		if err := room.Take(pageBytes*pages + bufferBytes*buffers); err != nil {
			return nil, err
		}
	}
	m := new(pb.ColumnMetadata)
	if err := m.Unmarshal(b); err != nil {
		return nil, fmt.Errorf("%w: metadata: %w", lance.ErrCorrupt, err)
	}
	return m, nil
}

// maxItems bounds the items that a column may claim.
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

// smallPages is the size, in gaps of the store, up to which a page is read whole before it is known
// where in the page the wanted rows are. A larger read then saves a round of requests.
const smallPages = 4

// info returns the part of the page's entry that its reader needs.
func (p *filePage) info() encoding.PageInfo {
	return encoding.PageInfo{Sizes: p.sizes, Rows: int(p.Length), Small: p.small}
}

// pageError adds the page, and the position in the file where it begins, to an error.
func (c *fileColumn) pageError(page int, err error) error {
	at := uint64(0)
	if offsets := c.pages[page].BufferOffsets; len(offsets) > 0 {
		at = slices.Min(offsets)
	}
	return fmt.Errorf("column %d, page %d at byte %d: %w", c.index, page, at, err)
}

// rows returns the number of rows, or of items, of the column.
func (c *fileColumn) rows() int { return c.starts[len(c.starts)-1] }

// open makes the reader of a page of version 2.1 or 2.2.
func (p *filePage) open(path *repdef.Path, budget *read.Budget) (*read.PageReader, error) {
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
		p.reader, p.err = read.NewPageReader(path, layout, p.info(), budget)
	})
	return p.reader, p.err
}
