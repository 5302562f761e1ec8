package dataset

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowid"
	"tiltyard/shared/lance/schema"
)

// Ids of the columns in data files that hold what is known of rows, when that has grown
// too large for the manifest. The fields are in no schema.
//
// Source: crate lance-table, src/format/fragment.rs.
const (
	rowIDField     int32 = -3
	createdAtField int32 = -4
	updatedAtField int32 = -5
)

func isLineage(field int32) bool { return field <= rowIDField && field >= updatedAtField }

// rowIDs returns the ids of the physical rows: stable ones where the table has such, else
// the addresses.
func (f *fragment) rowIDs(ctx context.Context) (func(row int64) uint64, error) {
	ids, err := f.stableIDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("row ids of fragment %d: %w", f.meta.ID, err)
	}
	if ids == nil {
		return f.address, nil
	}
	return ids.At, nil
}

// stableIDs returns the stable row ids, or nil when the rows have none.
func (f *fragment) stableIDs(ctx context.Context) (*rowid.Sequence, error) {
	spilled := f.lineageFile(rowIDField)
	if f.meta.RowIDs == nil && spilled == nil {
		return nil, nil
	}
	if err := f.loading.take(ctx); err != nil {
		return nil, err
	}
	defer f.loading.give()
	if f.ids != nil {
		return f.ids, nil
	}
	ids, err := rowid.Parse(f.meta.RowIDs)
	if f.meta.RowIDs == nil {
		var values []uint64
		if values, err = f.readLineage(ctx, spilled, rowIDField); err == nil {
			ids = rowid.New(values)
		}
	}
	if err != nil {
		return nil, err
	}
	if ids.Len() != f.rows {
		return nil, fmt.Errorf("%w: %d ids of %d rows", lance.ErrCorrupt, ids.Len(), f.rows)
	}
	f.ids = ids
	return ids, nil
}

// firstVersion is that of all rows of a table that does not keep versions of rows.
const firstVersion = 1

// createdAt returns the versions that the physical rows were made in.
func (f *fragment) createdAt(ctx context.Context) (func(row int64) uint64, error) {
	return f.versions(ctx, &f.created, f.meta.CreatedAt, createdAtField)
}

// updatedAt returns the versions that the physical rows were last changed in.
func (f *fragment) updatedAt(ctx context.Context) (func(row int64) uint64, error) {
	return f.versions(ctx, &f.updated, f.meta.UpdatedAt, updatedAtField)
}

// versions returns a sequence of versions, which is kept at known, from the manifest or
// else from a column.
func (f *fragment) versions(ctx context.Context, known **rowid.Versions, inline []byte, field int32) (func(row int64) uint64, error) {
	spilled := f.lineageFile(field)
	if inline == nil && spilled == nil {
		return func(int64) uint64 { return firstVersion }, nil
	}
	if err := f.loading.take(ctx); err != nil {
		return nil, err
	}
	defer f.loading.give()
	if *known != nil {
		return (*known).At, nil
	}
	versions, err := rowid.ParseVersions(inline)
	if inline == nil {
		var values []uint64
		if values, err = f.readLineage(ctx, spilled, field); err == nil {
			versions = rowid.NewVersions(values)
		}
	}
	if err == nil && versions.Len() != f.rows {
		err = fmt.Errorf("%w: versions of %d rows, want %d", lance.ErrCorrupt, versions.Len(), f.rows)
	}
	if err != nil {
		return nil, fmt.Errorf("row versions of fragment %d: %w", f.meta.ID, err)
	}
	*known = versions
	return versions.At, nil
}

// lineageFile returns the file that has one of the reserved columns, or nil.
func (f *fragment) lineageFile(field int32) *dataFile {
	for _, file := range f.files {
		if _, ok := file.columns[field]; ok {
			return file
		}
	}
	return nil
}

// readLineage reads one of the reserved columns, which are of type uint64.
func (f *fragment) readLineage(ctx context.Context, file *dataFile, field int32) ([]uint64, error) {
	column := &schema.Field{ID: field, Name: "row lineage", LogicalType: "uint64", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}
	read, err := file.read(ctx, f.table.session.cache, f.rows, []*schema.Field{column}, rowSet{to: f.rows})
	if err != nil {
		return nil, err
	}
	values, ok := read[0].(*array.Uint64)
	if !ok || values.NullN() > 0 {
		return nil, fmt.Errorf("%w: rows without a value", lance.ErrCorrupt)
	}
	return values.Uint64Values(), nil
}
