package fragment

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/lance/schema"
)

// Reserved field ids. Row ids and row versions that are too large for the manifest are stored in
// data file columns with these ids. No schema lists them.
//
// Source: crate lance-table, src/format/fragment.rs.
const (
	rowIDField     int32 = -3
	createdAtField int32 = -4
	updatedAtField int32 = -5
)

func isLineage(field int32) bool { return field <= rowIDField && field >= updatedAtField }

// RowIDs returns a function from physical rows to row ids: stable ids if the table has them,
// otherwise addresses.
func (f *Fragment) RowIDs(ctx context.Context) (func(row int64) uint64, error) {
	ids, err := f.StableIDs(ctx)
	if err != nil {
		return nil, err
	}
	if ids == nil {
		return f.Address, nil
	}
	return ids.At, nil
}

// StableIDs returns the stable row ids, or nil if the table has none.
func (f *Fragment) StableIDs(ctx context.Context) (*rowid.Sequence, error) {
	if f.Meta.RowIDs == nil && f.lineageFile(rowIDField) == nil {
		return nil, nil
	}
	ids, err := f.readStableIDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("row ids of fragment %d: %w", f.Meta.ID, err)
	}
	return ids, nil
}

// readStableIDs parses the row ids from the manifest or, if they were too large for it, reads them
// from a reserved column.
func (f *Fragment) readStableIDs(ctx context.Context) (*rowid.Sequence, error) {
	if err := f.loading.take(ctx); err != nil {
		return nil, err
	}
	defer f.loading.give()
	if f.ids != nil {
		return f.ids, nil
	}
	ids, err := rowid.Parse(f.Meta.RowIDs)
	if f.Meta.RowIDs == nil {
		var values []uint64
		if values, err = f.readLineage(ctx, f.lineageFile(rowIDField), rowIDField); err == nil {
			ids = rowid.New(values)
		}
	}
	if err != nil {
		return nil, err
	}
	if ids.Len() != f.Rows {
		return nil, fmt.Errorf("%w: %d ids of %d rows", lance.ErrCorrupt, ids.Len(), f.Rows)
	}
	f.ids = ids
	return ids, nil
}

// firstVersion is the version of every row in a table without row versions.
const firstVersion = 1

// CreatedAt returns a function from physical rows to the versions that created them.
func (f *Fragment) CreatedAt(ctx context.Context) (func(row int64) uint64, error) {
	return versionOf(f.versions(ctx, &f.created, f.Meta.CreatedAt, createdAtField))
}

// UpdatedAt returns a function from physical rows to the versions that last changed them.
func (f *Fragment) UpdatedAt(ctx context.Context) (func(row int64) uint64, error) {
	return versionOf(f.UpdatedVersions(ctx))
}

// UpdatedVersions returns the versions that last changed the rows, or nil if the fragment does not
// record them.
func (f *Fragment) UpdatedVersions(ctx context.Context) (*rowid.Versions, error) {
	return f.versions(ctx, &f.updated, f.Meta.UpdatedAt, updatedAtField)
}

// versionOf returns a function from physical rows to versions; unrecorded versions are
// firstVersion.
func versionOf(versions *rowid.Versions, err error) (func(row int64) uint64, error) {
	if versions == nil {
		return func(int64) uint64 { return firstVersion }, err
	}
	return versions.At, err
}

// versions returns row versions from the manifest (inline) or from a reserved column, nil if
// neither has them. It caches them in *known.
func (f *Fragment) versions(ctx context.Context, known **rowid.Versions, inline []byte, field int32) (*rowid.Versions, error) {
	spilled := f.lineageFile(field)
	if inline == nil && spilled == nil {
		return nil, nil
	}
	if err := f.loading.take(ctx); err != nil {
		return nil, err
	}
	defer f.loading.give()
	if *known != nil {
		return *known, nil
	}
	versions, err := rowid.ParseVersions(inline)
	if inline == nil {
		var values []uint64
		if values, err = f.readLineage(ctx, spilled, field); err == nil {
			versions = rowid.NewVersions(values)
		}
	}
	if err == nil && versions.Len() != f.Rows {
		err = fmt.Errorf("%w: versions of %d rows, want %d", lance.ErrCorrupt, versions.Len(), f.Rows)
	}
	if err != nil {
		return nil, fmt.Errorf("row versions of fragment %d: %w", f.Meta.ID, err)
	}
	*known = versions
	return versions, nil
}

// lineageFile returns the file with a reserved column, or nil.
func (f *Fragment) lineageFile(field int32) *File {
	for _, file := range f.files {
		if _, ok := file.columns[field]; ok {
			return file
		}
	}
	return nil
}

// readLineage reads a reserved column, which has type uint64.
func (f *Fragment) readLineage(ctx context.Context, file *File, field int32) ([]uint64, error) {
	column := &schema.Field{ID: field, Name: "row lineage", LogicalType: "uint64", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}
	read, err := file.read(ctx, f.Rows, []*schema.Field{column}, Selection{To: f.Rows})
	if err != nil {
		return nil, err
	}
	values, ok := read[0].(*array.Uint64)
	if !ok || values.NullN() > 0 {
		return nil, fmt.Errorf("%w: rows without a value", lance.ErrCorrupt)
	}
	return values.Uint64Values(), nil
}

// Indexed returns the fragment as input of a row id index.
func (f *Fragment) Indexed(ctx context.Context) (rowid.Fragment, error) {
	ids, err := f.StableIDs(ctx)
	if err != nil {
		return rowid.Fragment{}, err
	}
	if ids == nil {
		ids = rowid.Range(f.Address(0), f.Address(f.Rows))
	}
	deleted, err := f.Deletions(ctx)
	if err != nil {
		return rowid.Fragment{}, err
	}
	return rowid.Fragment{ID: uint32(f.Meta.ID), IDs: ids, Deleted: deleted.Contains}, nil
}
