// Package fragment reads the stored rows of a table version. A manifest lists fragments. A
// [Fragment] has data files with some of the columns each, a deletion file, and the ids and
// versions of its rows. The files may lie outside of the table ([Bases]).
//
// For example, a fragment of 1000 rows to which a column was added later:
//
//	data/a.lance             fields 0 (id), 1 (text)      1000 rows
//	data/b.lance             field  2 (embedding)         1000 rows
//	_deletions/4-9-….arrow   rows 17 and 230 of fragment 4, deleted from version 9
//
// [Fragment.Read] returns columns of a [Selection] of physical rows, including deleted ones;
// package snapshot drops those. It joins the parts of a column from several files, and caches open
// files and decoded runs under keys with all inputs that they depend on.
package fragment

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/cache"
	"tiltyard/shared/lance/internal/deletion"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/lance/schema"
)

// A Fragment is a set of rows with consecutive addresses. One or more data files hold its columns,
// and a deletion vector lists the deleted rows. It is immutable and safe for concurrent use.
type Fragment struct {
	cache    *cache.Cache
	manifest *manifest.Manifest
	Meta     *pb.Fragment
	Rows     int64 // physical rows, including deleted ones
	files    []*File
	width    width

	Before int64 // live rows in the fragments before it

	deletionBase *Base // location of the deletion file
	deletionErr  error // why the deletion file is not accessible

	deleted atomic.Pointer[deletion.Vector] // nil until loaded, by the holder of the turn

	loading turn            // guards the fields below
	ids     *rowid.Sequence // nil until parsed, or without stable row ids
	created *rowid.Versions // nil until parsed, or if not recorded
	updated *rowid.Versions
}

// List returns the fragments of a manifest without reading. An inaccessible file fails only the
// reads that need it.
func List(m *manifest.Manifest, places *Bases, kept *cache.Cache) []*Fragment {
	var columns columnLists
	fragments := make([]*Fragment, len(m.Fragments))
	before := int64(0)
	for i, meta := range m.Fragments {
		f := &Fragment{cache: kept, manifest: m, Meta: meta, Rows: int64(meta.PhysicalRows), Before: before, loading: newTurn()}
		before += f.LiveRows()
		if meta.DeletionFile != nil {
			f.deletionBase, f.deletionErr = places.At(meta.DeletionFile.BaseID)
		}
		bytes := uint64(0)
		for j := range meta.Files {
			file := &meta.Files[j]
			at, err := places.At(file.BaseID)
			f.files = append(f.files, newDataFile(kept, at, err, m, file, columns.of(file)))
			bytes += file.SizeBytes
		}
		f.width = widthOf(m.Schema, bytes, meta.PhysicalRows)
		fragments[i] = f
	}
	return fragments
}

// DeletedRows returns the number of deleted rows in a fragment.
func DeletedRows(f *pb.Fragment) int64 {
	if f.DeletionFile == nil {
		return 0
	}
	return int64(f.DeletionFile.DeletedRows)
}

// LiveRows returns the number of live rows in a fragment.
func LiveRows(f *pb.Fragment) int64 { return int64(f.PhysicalRows) - DeletedRows(f) }

// DeletedRows returns the number of deleted rows.
func (f *Fragment) DeletedRows() int64 { return DeletedRows(f.Meta) }

// Ready reports whether all files can be opened without I/O.
func (f *Fragment) Ready() bool {
	return !slices.ContainsFunc(f.files, func(d *File) bool { return !d.ready() })
}

// LiveRows returns the number of live rows.
func (f *Fragment) LiveRows() int64 { return LiveRows(f.Meta) }

// Address returns the address of a physical row: the fragment's id and the row.
func (f *Fragment) Address(row int64) uint64 { return f.Meta.ID<<32 | uint64(row) }

// Deletions returns the deletion vector, nil if no row is deleted. The first call reads it.
func (f *Fragment) Deletions(ctx context.Context) (*deletion.Vector, error) {
	if f.KnowsDeletions() {
		return f.deleted.Load(), nil
	}
	if err := f.loading.take(ctx); err != nil {
		return nil, err
	}
	defer f.loading.give()
	if vector := f.deleted.Load(); vector != nil {
		return vector, nil
	}
	if f.deletionErr != nil {
		return nil, fmt.Errorf("deletion file of fragment %d: %w", f.Meta.ID, f.deletionErr)
	}
	at := f.deletionBase
	key := at.Prefix + "/" + deletion.Path(f.Meta.ID, f.Meta.DeletionFile)
	part := deletionPart(key, f.manifest, f.Rows, f.Meta.DeletionFile)
	vector, ok := cache.Get[*deletion.Vector](f.cache, at.URI, part)
	if !ok {
		var err error
		if vector, err = deletion.Read(ctx, at.Store, key, f.Meta); err != nil {
			return nil, err
		}
		cache.Put(f.cache, at.URI, part, vector, vector.MemBytes())
	}
	f.deleted.Store(vector)
	return vector, nil
}

// KnowsDeletions reports whether Deletions needs no I/O.
func (f *Fragment) KnowsDeletions() bool {
	return f.Meta.DeletionFile == nil || f.deleted.Load() != nil
}

// IsDeleted reports whether a row is deleted, after Deletions has read the vector.
func (f *Fragment) IsDeleted(row uint32) bool {
	return f.Meta.DeletionFile != nil && f.deleted.Load().Contains(row)
}

// parts returns the parts of a column, one per file. A column without parts is null in every row.
func (f *Fragment) parts(field *schema.Field) ([]part, error) {
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
	// If several files list a leaf, the first one counts.
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

// checkAbsent rejects a column without parts if that cannot mean nulls. A file of version 2.1 or
// later that lists a field with members stores it whole, in a form that the schema does not
// describe. Legacy fragments hold all columns.
func (f *Fragment) checkAbsent(field *schema.Field) error {
	if len(f.files) > 0 && isLegacy(f.files[0].meta) {
		return fmt.Errorf("%w: no file of fragment %d holds column %s", lance.ErrCorrupt, f.Meta.ID, field.Name)
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

// FileOf returns the file that holds a leaf, or nil.
func (f *Fragment) FileOf(leaf *schema.Field) *File {
	for _, file := range f.files {
		if file.holds(leaf) {
			return file
		}
	}
	return nil
}

// Borrows reports whether any data file of the fragment belongs to another table.
func (f *Fragment) Borrows() bool {
	for i := range f.Meta.Files {
		if f.Meta.Files[i].BaseID != nil && (f.files[i].base == nil || f.files[i].base.root) {
			return true
		}
	}
	return false
}

// Bytes returns the total size of the fragment's data files recorded in the manifest.
func (f *Fragment) Bytes() int64 {
	total := int64(0)
	for i := range f.Meta.Files {
		total += int64(f.Meta.Files[i].SizeBytes)
	}
	return total
}

// ShareFiles reports whether two versions have a data file in common. Only unique file names count.
func ShareFiles(a, b []*Fragment) bool {
	named := map[string]bool{}
	for _, f := range a {
		for _, file := range f.files {
			named[file.meta.Path] = file.within == ""
		}
	}
	return slices.ContainsFunc(b, func(f *Fragment) bool {
		return slices.ContainsFunc(f.files, func(file *File) bool { return named[file.meta.Path] })
	})
}

// AtHand reports whether the selected rows of a column are cached.
func (f *Fragment) AtHand(field *schema.Field, set Selection) bool {
	parts, err := f.parts(field)
	missing := func(p part) bool {
		_, there := p.file.cached(p.field, set)
		return !there
	}
	return err == nil && len(parts) > 0 && !slices.ContainsFunc(parts, missing)
}

// KeepDeletions caches a new deletion vector, so that the next reader need not read its file. key
// is the file's key in the store of uri.
func (f *Fragment) KeepDeletions(uri, key string, file *pb.DeletionFile, v *deletion.Vector) {
	cache.Put(f.cache, uri, deletionPart(key, f.manifest, f.Rows, file), v, v.MemBytes())
}
