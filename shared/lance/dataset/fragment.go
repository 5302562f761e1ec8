package dataset

import (
	"context"
	"fmt"
	"slices"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/deletion"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/lance/schema"
)

// A fragment is a run of rows, stored in one or more data files that each hold some of
// the columns, and a vector of the rows among them that are deleted.
type fragment struct {
	table    *Table
	manifest *manifest.Manifest
	meta     *pb.Fragment
	rows     int64 // physical rows, deleted ones included
	files    []*dataFile
	width    width

	before int64 // rows of the fragments before it that are not deleted

	deletionBase *base // where the deletion file is
	deletionErr  error // why it is out of reach

	loading turn             // of those below
	deleted *deletion.Vector // nil until loaded
	ids     *rowid.Sequence  // nil until parsed, or without stable row ids
	created *rowid.Versions  // the same
	updated *rowid.Versions
}

// newFragments returns the fragments of a manifest. Files that are out of reach are told
// by the reads that need them.
func newFragments(t *Table, m *manifest.Manifest) []*fragment {
	places := newBases(t, m)
	var columns columnLists
	fragments := make([]*fragment, len(m.Fragments))
	before := int64(0)
	for i, meta := range m.Fragments {
		f := &fragment{table: t, manifest: m, meta: meta, rows: int64(meta.PhysicalRows), before: before, loading: newTurn()}
		before += f.liveRows()
		if meta.DeletionFile != nil {
			f.deletionBase, f.deletionErr = places.at(meta.DeletionFile.BaseID)
		}
		bytes := uint64(0)
		for j := range meta.Files {
			file := &meta.Files[j]
			at, err := places.at(file.BaseID)
			f.files = append(f.files, newDataFile(at, err, m, file, columns.of(file)))
			bytes += file.SizeBytes
		}
		f.width = widthOf(m.Schema, bytes, meta.PhysicalRows)
		fragments[i] = f
	}
	return fragments
}

func deletedRows(f *pb.Fragment) int64 {
	if f.DeletionFile == nil {
		return 0
	}
	return int64(f.DeletionFile.DeletedRows)
}

func liveRows(f *pb.Fragment) int64 { return int64(f.PhysicalRows) - deletedRows(f) }

func (f *fragment) deletedRows() int64 { return deletedRows(f.meta) }

// ready reports whether all files can be opened without reading anything.
func (f *fragment) ready() bool {
	return !slices.ContainsFunc(f.files, func(d *dataFile) bool { return !d.ready(f.table.session.cache) })
}

func (f *fragment) liveRows() int64 { return liveRows(f.meta) }

// address returns the address of a physical row.
func (f *fragment) address(row int64) uint64 { return f.meta.ID<<32 | uint64(row) }

// deletions returns the deletion vector: nil when nothing is deleted.
func (f *fragment) deletions(ctx context.Context) (*deletion.Vector, error) {
	if f.meta.DeletionFile == nil {
		return nil, nil
	}
	if err := f.loading.take(ctx); err != nil {
		return nil, err
	}
	defer f.loading.give()
	if f.deleted != nil {
		return f.deleted, nil
	}
	if f.deletionErr != nil {
		return nil, fmt.Errorf("deletion file of fragment %d: %w", f.meta.ID, f.deletionErr)
	}
	at, cache := f.deletionBase, f.table.session.cache
	key := at.Prefix + "/" + deletion.Path(f.meta.ID, f.meta.DeletionFile)
	part := deletionPart(key, f.manifest, f.rows, f.meta.DeletionFile)
	vector, ok := get[*deletion.Vector](cache, at.URI, part)
	if !ok {
		var err error
		if vector, err = deletion.Read(ctx, at.Store, key, f.meta); err != nil {
			return nil, err
		}
		put(cache, at.URI, part, vector, int64(vector.Len())*4)
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

// parts returns where a column is: the parts of it by the files that hold them, none
// when no file does and the column is null in every row.
func (f *fragment) parts(field *schema.Field) ([]part, error) {
	var parts []part
	for _, file := range f.files {
		if !file.holds(field) {
			continue
		}
		parts = append(parts, part{file: file, field: field})
	}
	switch len(parts) {
	case 0:
		return nil, f.checkAbsent(field)
	case 1:
		return parts, nil
	}
	taken := map[int32]bool{}
	for i, p := range parts {
		kept, err := field.Keep(func(leaf *schema.Field) bool {
			_, here := p.file.columns[leaf.ID]
			here = here && !taken[leaf.ID]
			taken[leaf.ID] = taken[leaf.ID] || here
			return here
		})
		if err != nil {
			return nil, err
		}
		parts[i].field = kept
	}
	return parts, nil
}

// checkAbsent refuses a column that no file holds the leaves of, although one lists a field
// around them: files of version 2.1 and later list a field with members only where these are
// stored together, in a way that the schema does not say. Fragments of legacy files hold all
// columns.
func (f *fragment) checkAbsent(field *schema.Field) error {
	if len(f.files) > 0 && isLegacy(f.files[0].meta) {
		return fmt.Errorf("%w: no file of fragment %d holds column %s", lance.ErrCorrupt, f.meta.ID, field.Name)
	}
	if field.IsLeaf() {
		return nil
	}
	for _, file := range f.files {
		if _, listed := file.columns[field.ID]; listed && file.meta.MajorVersion == 2 && file.meta.MinorVersion > 0 {
			return fmt.Errorf("%w: data file %s holds column %s of type %s as a whole", lance.ErrUnsupported, file.key, field.Name, field.Type)
		}
	}
	for _, child := range field.Children {
		if err := f.checkAbsent(child); err != nil {
			return err
		}
	}
	return nil
}
