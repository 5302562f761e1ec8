package fragment

import (
	"bytes"
	"fmt"
	"slices"

	"tiltyard/shared/lance/internal/deletion"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/storage/objectstore"
)

// SameColumns reports whether two states of a fragment store fields in the same columns of the same
// files, and thus the same values in each row. fields must include the ids of nested and enclosing
// fields.
func (f *Fragment) SameColumns(o *Fragment, fields []int32) bool {
	return f.Rows == o.Rows && slices.EqualFunc(f.Holding(fields), o.Holding(fields), func(a, b *File) bool {
		return a.isSame(b) && !slices.ContainsFunc(fields, func(id int32) bool {
			column, here := a.columns[id]
			other, there := b.columns[id]
			return here != there || column != other
		})
	})
}

// Holding returns the files that hold at least one of the fields.
func (f *Fragment) Holding(fields []int32) []*File {
	return slices.DeleteFunc(slices.Clone(f.files), func(file *File) bool {
		return !slices.ContainsFunc(fields, func(id int32) bool {
			_, ok := file.columns[id]
			return ok
		})
	})
}

// Meta returns the file's manifest entry. It must not be changed.
func (d *File) Meta() *pb.DataFile { return d.meta }

// Files returns the data files of the fragment.
func (f *Fragment) Files() []*File { return f.files }

// Place returns the store and key of the file.
func (d *File) Place() (objectstore.Store, string, error) {
	if d.err != nil {
		return nil, "", fmt.Errorf("data file %s: %w", d.key, d.err)
	}
	return d.base.Store, d.key, nil
}

// isSame reports whether two entries are the same data file. An inaccessible file equals no other.
func (d *File) isSame(o *File) bool {
	return d.err == nil && o.err == nil && d.base.URI == o.base.URI && d.key == o.key
}

// SameRowIDs reports whether two states of a fragment store their stable row ids identically, so
// that each row has the same id in both.
func (f *Fragment) SameRowIDs(o *Fragment) bool {
	return bytes.Equal(f.Meta.RowIDs, o.Meta.RowIDs) && f.SameColumns(o, []int32{rowIDField})
}

// SameDeletions reports whether two states of a fragment have the same deletion file, or both none.
func (f *Fragment) SameDeletions(o *Fragment) bool {
	a, b := f.Meta.DeletionFile, o.Meta.DeletionFile
	if a == nil || b == nil {
		return a == b
	}
	return f.deletionErr == nil && o.deletionErr == nil && f.deletionBase.URI == o.deletionBase.URI &&
		a.DeletedRows == b.DeletedRows && deletion.Path(f.Meta.ID, a) == deletion.Path(o.Meta.ID, b)
}
