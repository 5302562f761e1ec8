package dataset

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// A dataFile is a file of a fragment, opened when it is first needed.
type dataFile struct {
	base    *base
	key     string
	meta    *pb.DataFile
	columns map[int32]int32 // field id → column of the file
	within  string          // the manifest, if the file's name is not one for all time; see fileNamed
	err     error           // why it is out of reach

	opening turn
	mu      sync.Mutex
	opened  *openFile  // changed by who has the turn, under the lock
	view    columnFile // the same with the columns
}

// An openFile is one that the cache holds, or held. It is what the file itself says, which
// all tables and versions that name it share.
type openFile struct {
	columnFile
	counted atomic.Int64 // its bytes as the cache was told
}

func newDataFile(at *base, err error, m *manifest.Manifest, meta *pb.DataFile, columns map[int32]int32) *dataFile {
	if err != nil {
		return &dataFile{key: meta.Path, meta: meta, columns: columns, err: err, opening: newTurn()}
	}
	return &dataFile{
		base: at, key: at.dataKey(meta.Path), meta: meta, columns: columns, within: fileNamed(m, meta.Path), opening: newTurn(),
	}
}

// columnLists turns the lists of fields in files into maps. Most files share one.
type columnLists struct {
	fields, indices []int32
	columns         map[int32]int32
}

// of returns the file's columns by field id: of the table's columns and of those with
// reserved ids that hold row ids. A column that was replaced has no id of either.
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
			columns[id] = int32(i) // its fields are found by their ids
		}
	}
	*l = columnLists{file.Fields, file.ColumnIndices, columns}
	return columns
}

// holds says whether the file has a leaf of the column.
func (d *dataFile) holds(field *schema.Field) bool {
	if field.IsLeaf() {
		_, ok := d.columns[field.ID]
		return ok
	}
	return slices.ContainsFunc(field.Children, d.holds)
}

// open returns the file, reading its footer the first time.
func (d *dataFile) open(ctx context.Context, cache *Cache) (columnFile, error) {
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
	opened, ok := get[*openFile](cache, d.base.URI, d.filePart())
	if !ok {
		read, err := d.openColumns(ctx)
		if err != nil {
			return nil, err
		}
		opened = &openFile{columnFile: read}
		opened.count(cache, d)
	}
	if err := d.checkVersion(opened.Version()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opened, d.view = opened, d.viewOf(opened.columnFile)
	return d.view, nil
}

// ready reports whether open has nothing to read.
func (d *dataFile) ready(cache *Cache) bool {
	d.mu.Lock()
	opened := d.opened
	d.mu.Unlock()
	if opened != nil || d.err != nil {
		return true
	}
	_, there := get[*openFile](cache, d.base.URI, d.filePart())
	return there
}

// recountBytes is by how much a file may grow before the cache is told.
const recountBytes = 64 << 10

// count tells the cache how large a file is, which grows as it is used.
func (o *openFile) count(cache *Cache, d *dataFile) {
	n := o.MemBytes()
	if counted := o.counted.Load(); (counted == 0 || n > counted+recountBytes) && o.counted.CompareAndSwap(counted, n) {
		put(cache, d.base.URI, d.filePart(), o, n)
	}
}

// rowSet is which physical rows of a fragment to read: a run, or (when rows is not nil)
// single ones, ascending.
type rowSet struct {
	from, to  int64
	rows      []int64
	transient bool // not to be kept
}

func (s rowSet) len() int {
	if s.rows != nil {
		return len(s.rows)
	}
	return int(s.to - s.from)
}

// read returns one array per field of rows that the file holds.
func (d *dataFile) read(ctx context.Context, cache *Cache, rows int64, fields []*schema.Field, set rowSet) ([]arrow.Array, error) {
	opened, err := d.open(ctx, cache)
	if err != nil {
		return nil, err
	}
	if opened.NumRows() != rows {
		return nil, fmt.Errorf("%w: data file %s holds %d rows, its fragment %d", lance.ErrCorrupt, d.key, opened.NumRows(), rows)
	}
	var read []arrow.Array
	if set.rows != nil {
		read, err = opened.Take(ctx, fields, set.rows)
	} else {
		read, err = opened.ReadRange(ctx, fields, set.from, set.to)
	}
	d.mu.Lock()
	file := d.opened
	d.mu.Unlock()
	file.count(cache, d)
	return read, err
}

// filePart names the file in the cache: what opening it depends on.
func (d *dataFile) filePart() string { return string(d.appendFile(make([]byte, 0, len(d.key)+24))) }

func (d *dataFile) appendFile(b []byte) []byte {
	b = append(append(b, d.key...), '?')
	b = strconv.AppendUint(b, d.meta.SizeBytes, 10)
	return append(b, d.within...)
}

// runPart names a decoded run of a column in the cache: the file, the rows, as what the
// manifest reads the field, and in which columns of the file it has its parts. Ids of fields
// are no names for columns: another table, or a version before or after, may mean others.
func (d *dataFile) runPart(field *schema.Field, set rowSet) string {
	b := d.appendFile(make([]byte, 0, len(d.key)+96))
	b = append(b, '#')
	b = strconv.AppendInt(b, set.from, 10)
	b = append(b, '-')
	b = strconv.AppendInt(b, set.to, 10)
	b = append(b, ' ')
	return string(field.AppendFormOf(b, d.appendColumn))
}

// appendColumn appends where the file holds a field, if it does: the column or, as legacy
// files find their fields by their ids, the id.
func (d *dataFile) appendColumn(b []byte, field *schema.Field) []byte {
	at, ok := d.columns[field.ID]
	if !ok {
		return b
	}
	if isLegacy(d.meta) {
		at = field.ID
	}
	return strconv.AppendInt(append(b, '@'), int64(at), 10)
}

// cached returns a run that was read before. Single rows are not kept.
func (d *dataFile) cached(cache *Cache, field *schema.Field, set rowSet) (arrow.Array, bool) {
	if set.rows != nil || d.base == nil {
		return nil, false
	}
	return get[arrow.Array](cache, d.base.URI, d.runPart(field, set))
}

func (d *dataFile) keep(cache *Cache, field *schema.Field, set rowSet, column arrow.Array) {
	if set.rows == nil && !set.transient {
		put(cache, d.base.URI, d.runPart(field, set), column, int64(column.Data().SizeInBytes()))
	}
}
