package dataset

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/deletion"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/lance/schema"
)

// A fragment is a run of rows, stored in one or more data files that each hold some of
// the columns, and a vector of the rows among them that are deleted.
type fragment struct {
	table *Table
	meta  *pb.Fragment
	rows  int64 // physical rows, deleted ones included
	files []*dataFile
	width width

	mu      sync.Mutex
	deleted *deletion.Vector // nil until loaded
	ids     *rowid.Sequence  // nil until parsed, or without stable row ids
}

// A dataFile is opened when it is first needed.
type dataFile struct {
	key     string
	meta    *pb.DataFile
	columns map[int32]int32 // field id → column of the file

	mu     sync.Mutex
	opened *datafile.File
}

func newFragment(t *Table, m *manifest.Manifest, meta *pb.Fragment) (*fragment, error) {
	f := &fragment{table: t, meta: meta, rows: int64(meta.PhysicalRows)}
	bytes := uint64(0)
	for i := range meta.Files {
		file := &meta.Files[i]
		if file.BaseID != nil {
			return nil, fmt.Errorf("data file %s lies in another base path: %w", file.Path, lance.ErrUnsupported)
		}
		d := &dataFile{key: t.prefix + "/data/" + file.Path, meta: file, columns: make(map[int32]int32, len(file.Fields))}
		for i, id := range file.Fields {
			if id >= 0 {
				d.columns[id] = file.ColumnIndices[i]
			}
		}
		bytes += file.SizeBytes
		f.files = append(f.files, d)
	}
	f.width = widthOf(m.Schema, bytes, meta.PhysicalRows)
	return f, nil
}

func (f *fragment) deletedRows() int64 {
	if f.meta.DeletionFile == nil {
		return 0
	}
	return int64(f.meta.DeletionFile.DeletedRows)
}

func (f *fragment) liveRows() int64 { return f.rows - f.deletedRows() }

// address returns the address of a physical row.
func (f *fragment) address(row int64) uint64 { return f.meta.ID<<32 | uint64(row) }

// deletions returns the deletion vector: nil when nothing is deleted.
func (f *fragment) deletions(ctx context.Context) (*deletion.Vector, error) {
	if f.meta.DeletionFile == nil {
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deleted != nil {
		return f.deleted, nil
	}
	key := f.table.prefix + "/" + deletion.Path(f.meta.ID, f.meta.DeletionFile)
	vector, ok := get[*deletion.Vector](f.table.session.cache, f.table.uri, key)
	if !ok {
		var err error
		if vector, err = deletion.Read(ctx, f.table.store, key, f.meta); err != nil {
			return nil, err
		}
		put(f.table.session.cache, f.table.uri, key, vector, int64(vector.Len())*4)
	}
	f.deleted = vector
	return vector, nil
}

// livePositions returns the rows from..to that are not deleted, counted from from; nil
// is all of them.
func livePositions(deleted *deletion.Vector, from, to int64) []int32 {
	gone := deleted.Deleted(from, to)
	if gone == 0 {
		return nil
	}
	live := make([]int32, 0, to-from-gone)
	for start, end := range deleted.Live(from, to) {
		for row := start; row < end; row++ {
			live = append(live, int32(row-from))
		}
	}
	return live
}

// rowIDs returns the ids of the physical rows: stable ones where the table has such, else
// the addresses.
func (f *fragment) rowIDs() (func(row int64) uint64, error) {
	if f.meta.RowIDs == nil {
		return f.address, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ids == nil {
		ids, err := rowid.Parse(f.meta.RowIDs)
		if err != nil {
			return nil, fmt.Errorf("row ids of fragment %d: %w", f.meta.ID, err)
		}
		if ids.Len() != f.rows {
			return nil, fmt.Errorf("%w: fragment %d of %d rows lists %d row ids", lance.ErrCorrupt, f.meta.ID, f.rows, ids.Len())
		}
		f.ids = ids
	}
	return f.ids.At, nil
}

// open returns the file, reading its footer the first time.
func (d *dataFile) open(ctx context.Context, t *Table) (*datafile.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened != nil {
		return d.opened, nil
	}
	file, ok := get[*datafile.File](t.session.cache, t.uri, d.key)
	if !ok {
		var err error
		if file, err = datafile.Open(ctx, t.store, d.key, int64(d.meta.SizeBytes), d.columns); err != nil {
			return nil, err
		}
		put(t.session.cache, t.uri, d.key, file, file.MemBytes())
	}
	d.opened = file
	return file, nil
}

// fileOf returns the file that holds a column, nil when none does and the column is null
// in every row.
func (f *fragment) fileOf(field *schema.Field) (*dataFile, error) {
	var found *dataFile
	for _, leaf := range field.LeavesV20() {
		for _, file := range f.files {
			if _, ok := file.columns[leaf.ID]; !ok {
				continue
			}
			if found != nil && found != file {
				return nil, fmt.Errorf("column %s is spread over several data files: %w", field.Name, lance.ErrUnsupported)
			}
			found = file
		}
	}
	return found, nil
}

// rowSet is which physical rows of a fragment to read: a run, or (when rows is not nil)
// single ones, ascending.
type rowSet struct {
	from, to int64
	rows     []int64
}

func (s rowSet) len() int {
	if s.rows != nil {
		return len(s.rows)
	}
	return int(s.to - s.from)
}

// read returns one array per field, reading each file that holds some of them once, all
// files side by side.
func (f *fragment) read(ctx context.Context, fields []*schema.Field, set rowSet) ([]arrow.Array, error) {
	columns := make([]arrow.Array, len(fields))
	wanted := map[*dataFile][]int{} // positions in fields
	for i, field := range fields {
		file, err := f.fileOf(field)
		if err != nil {
			return nil, err
		}
		if file == nil {
			columns[i] = nulls(field.Type, set.len())
			continue
		}
		if column, ok := f.cached(file, field, set); ok {
			columns[i] = column
			continue
		}
		wanted[file] = append(wanted[file], i)
	}
	if len(wanted) == 0 {
		return columns, nil
	}
	group, ctx := errgroup.WithContext(ctx)
	for file, positions := range wanted {
		group.Go(func() (err error) {
			defer contain(func(e error) { err = e })
			return f.readFile(ctx, file, fields, positions, set, columns)
		})
	}
	return columns, group.Wait()
}

// readFile reads those of fields that positions name into columns.
func (f *fragment) readFile(ctx context.Context, file *dataFile, fields []*schema.Field, positions []int, set rowSet, columns []arrow.Array) error {
	opened, err := file.open(ctx, f.table)
	if err != nil {
		return err
	}
	if opened.NumRows() != f.rows {
		return fmt.Errorf("%w: data file %s holds %d rows, its fragment %d", lance.ErrCorrupt, file.key, opened.NumRows(), f.rows)
	}
	here := make([]*schema.Field, len(positions))
	for i, p := range positions {
		here[i] = fields[p]
	}
	var read []arrow.Array
	if set.rows != nil {
		read, err = opened.Take(ctx, here, set.rows)
	} else {
		read, err = opened.ReadRange(ctx, here, set.from, set.to)
	}
	if err != nil {
		return err
	}
	for i, p := range positions {
		columns[p] = read[i]
		f.keep(file, fields[p], set, read[i])
	}
	return nil
}

// Decoded runs of columns are kept under the file and the run.
func runPart(file *dataFile, field *schema.Field, set rowSet) string {
	return fmt.Sprintf("%s#%d:%d-%d", file.key, field.ID, set.from, set.to)
}

func (f *fragment) cached(file *dataFile, field *schema.Field, set rowSet) (arrow.Array, bool) {
	if set.rows != nil {
		return nil, false
	}
	return get[arrow.Array](f.table.session.cache, f.table.uri, runPart(file, field, set))
}

func (f *fragment) keep(file *dataFile, field *schema.Field, set rowSet, column arrow.Array) {
	if set.rows == nil {
		put(f.table.session.cache, f.table.uri, runPart(file, field, set), column, int64(column.Data().SizeInBytes()))
	}
}

// nulls returns n nulls of any type.
func nulls(t arrow.DataType, n int) arrow.Array {
	if t.ID() == arrow.NULL {
		return array.NewNull(n)
	}
	b := array.NewBuilder(memory.DefaultAllocator, t)
	b.AppendNulls(n)
	return b.NewArray()
}
