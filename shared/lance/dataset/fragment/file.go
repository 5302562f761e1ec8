package fragment

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/cache"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
)

// A File is a data file of a fragment. The first read opens it.
type File struct {
	cache   *cache.Cache
	base    *Base
	key     string
	meta    *pb.DataFile
	columns map[int32]int32 // field id → column of the file
	within  string          // identity of the manifest, if other files may have the same name; see fileNamed
	err     error           // why the location is not accessible

	opening turn
	mu      sync.Mutex
	opened  *openFile  // guarded by mu, written only with the turn held
	view    columnFile // opened with the table's columns
}

// An openFile is a cache entry. It depends on the file's bytes alone, so all tables and versions
// that name the file share it.
type openFile struct {
	columnFile
	counted atomic.Int64 // the size in the cache
}

// newDataFile returns an unopened file. An err of its location is returned by the first read.
func newDataFile(kept *cache.Cache, at *Base, err error, m *manifest.Manifest, meta *pb.DataFile, columns map[int32]int32) *File {
	if err != nil {
		return &File{cache: kept, key: meta.Path, meta: meta, columns: columns, err: err, opening: newTurn()}
	}
	return &File{
		cache: kept, base: at, key: at.dataKey(meta.Path), meta: meta, columns: columns, within: fileNamed(m, meta.Path), opening: newTurn(),
	}
}

// columnLists converts the field lists of data files to maps. Consecutive files with equal lists
// share one map.
type columnLists struct {
	fields, indices []int32
	columns         map[int32]int32
}

// of returns the file's columns by field id: the table's columns, and the reserved ids of stored
// row ids and versions. A replaced column has another negative id and is left out.
func (l *columnLists) of(file *pb.DataFile) map[int32]int32 {
	if l.columns != nil && slices.Equal(l.fields, file.Fields) && slices.Equal(l.indices, file.ColumnIndices) {
		return l.columns
	}
	columns := make(map[int32]int32, len(file.Fields))
	for i, id := range file.Fields {
		switch {
		case id < 0 && !isLineage(id):
		case i < len(file.ColumnIndices):
			columns[id] = file.ColumnIndices[i]
		case isLegacy(file):
			columns[id] = int32(i) // legacy readers find fields by id
		}
	}
	*l = columnLists{file.Fields, file.ColumnIndices, columns}
	return columns
}

// holds reports whether the file has a leaf of the column.
func (d *File) holds(field *schema.Field) bool {
	if field.IsLeaf() {
		_, ok := d.columns[field.ID]
		return ok
	}
	return slices.ContainsFunc(field.Children, d.holds)
}

// open opens the file. The first call reads its footer.
func (d *File) open(ctx context.Context) (columnFile, error) {
	if err := d.opening.take(ctx); err != nil {
		return nil, err
	}
	defer d.opening.give()
	if d.opened != nil {
		return d.view, nil
	}
	if d.err != nil {
		return nil, fmt.Errorf("data file %s: %w", d.key, d.err)
	}
	opened, ok := cache.Get[*openFile](d.cache, d.base.URI, d.filePart())
	if !ok {
		read, err := d.openColumns(ctx)
		if err != nil {
			return nil, err
		}
		opened = &openFile{columnFile: read}
		opened.count(d)
	}
	if err := d.checkVersion(opened.Version()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opened, d.view = opened, d.viewOf(opened.columnFile)
	return d.view, nil
}

// ready reports whether open needs no I/O.
func (d *File) ready() bool {
	d.mu.Lock()
	opened := d.opened
	d.mu.Unlock()
	if opened != nil || d.err != nil {
		return true
	}
	_, there := cache.Get[*openFile](d.cache, d.base.URI, d.filePart())
	return there
}

// count caches the file with its size, which grows as columns are read.
func (o *openFile) count(d *File) {
	n := o.MemBytes()
	if counted := o.counted.Load(); (counted == 0 || n > counted+cache.RecountBytes) && o.counted.CompareAndSwap(counted, n) {
		cache.Put(d.cache, d.base.URI, d.filePart(), o, n)
	}
}

// A Selection selects physical rows of a fragment: [From, To), or the rows of Single, ascending, if
// it is not nil.
type Selection struct {
	From, To  int64
	Single    []int64
	Transient bool // do not cache the result
}

func (s Selection) len() int {
	if s.Single != nil {
		return len(s.Single)
	}
	return int(s.To - s.From)
}

// read returns one array per field, if the file holds all of them.
func (d *File) read(ctx context.Context, rows int64, fields []*schema.Field, set Selection) ([]arrow.Array, error) {
	opened, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	if opened.NumRows() != rows {
		return nil, fmt.Errorf("%w: data file %s holds %d rows, its fragment %d", lance.ErrCorrupt, d.key, opened.NumRows(), rows)
	}
	var read []arrow.Array
	if set.Single != nil {
		read, err = opened.Take(ctx, fields, set.Single)
	} else {
		if set.Transient {
			ctx = objectstore.Passing(ctx)
		}
		read, err = opened.ReadRange(ctx, fields, set.From, set.To)
	}
	d.mu.Lock()
	file := d.opened
	d.mu.Unlock()
	file.count(d)
	return read, err
}

// filePart returns the cache key of the open file.
func (d *File) filePart() string { return string(d.appendFile(make([]byte, 0, len(d.key)+24))) }

// appendFile appends the file's part of a cache key.
func (d *File) appendFile(b []byte) []byte {
	b = append(append(b, d.key...), '?')
	b = strconv.AppendUint(b, d.meta.SizeBytes, 10)
	return append(b, d.within...)
}

// runPart returns the cache key of a decoded run of a column. It names the file, the rows, the form
// in which the field is read, and the file's columns of its leaves. Field ids alone would not do:
// another table or version may use the same id for another column.
func (d *File) runPart(field *schema.Field, set Selection) string {
	b := d.appendFile(make([]byte, 0, len(d.key)+96))
	b = append(b, '#')
	b = strconv.AppendInt(b, set.From, 10)
	b = append(b, '-')
	b = strconv.AppendInt(b, set.To, 10)
	b = append(b, ' ')
	return string(field.AppendFormOf(b, d.appendColumn))
}

// appendColumn appends the file's column of a field, if any. For legacy files, which find fields by
// id, it appends the id.
func (d *File) appendColumn(b []byte, field *schema.Field) []byte {
	at, ok := d.columns[field.ID]
	if !ok {
		return b
	}
	if isLegacy(d.meta) {
		at = field.ID
	}
	return strconv.AppendInt(append(b, '@'), int64(at), 10)
}

// cached returns a run from the cache. Single rows are never cached.
func (d *File) cached(field *schema.Field, set Selection) (arrow.Array, bool) {
	if set.Single != nil || d.base == nil {
		return nil, false
	}
	return cache.Get[arrow.Array](d.cache, d.base.URI, d.runPart(field, set))
}

// keep caches a decoded run, but no single rows.
func (d *File) keep(field *schema.Field, set Selection, column arrow.Array) {
	if set.Single == nil && !set.Transient {
		cache.Put(d.cache, d.base.URI, d.runPart(field, set), column, int64(column.Data().SizeInBytes()))
	}
}
