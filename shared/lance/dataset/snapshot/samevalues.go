package snapshot

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// SameValues returns the fragments in which a column has the same values at the same rows as in an
// older version, apart from deletions. column may be a field inside lists; see
// [schema.Schema.ResolveThrough]. It compares the files of the column, not their bytes.
func (s *Snapshot) SameValues(older *Snapshot, column string, fragments *roaring.Bitmap) (*roaring.Bitmap, error) {
	same := roaring.New()
	fields, err := s.manifest.Schema.ResolveThrough(column)
	if err != nil {
		return nil, s.NoColumn(column)
	}
	field := fields[len(fields)-1]
	if was := older.manifest.Schema.ByID(field.ID); was == nil {
		return same, nil
	}
	before := map[uint64]*pb.Fragment{}
	for _, f := range older.manifest.Fragments {
		before[f.ID] = f
	}
	for _, f := range s.manifest.Fragments {
		was := before[f.ID]
		if f.ID <= 1<<32-1 && fragments.Contains(uint32(f.ID)) && was != nil && was.PhysicalRows == f.PhysicalRows &&
			slices.Equal(pathsOf(was, field), pathsOf(f, field)) {
			same.Add(uint32(f.ID))
		}
	}
	return same, nil
}

// pathsOf returns the paths of a fragment's files that hold a field or one of its children.
func pathsOf(f *pb.Fragment, field *schema.Field) []string {
	var paths []string
	for i := range f.Files {
		if hasField(&f.Files[i], field) {
			paths = append(paths, f.Files[i].Path)
		}
	}
	return paths
}

func hasField(file *pb.DataFile, field *schema.Field) bool {
	return slices.Contains(file.Fields, field.ID) || slices.ContainsFunc(field.Children, func(child *schema.Field) bool { return hasField(file, child) })
}
