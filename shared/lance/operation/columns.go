package operation

import (
	"slices"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// project changes the schema, but no values: it drops, renames and reorders columns. It
// removes files and indices whose columns are all gone.
func (c *change) project(op *pb.Project) error {
	s, err := schema.FromFields(op.Schema, c.base.Schema.Metadata)
	if err != nil {
		return err
	}
	if len(s.Fields) == 0 {
		return invalid("no column would be left")
	}
	for f := range s.All() {
		if was := c.base.Schema.ByID(f.ID); was == nil || was.LogicalType != f.LogicalType {
			return invalid("field %s has the id %d, which is not that of a field of its type", s.Path(f.ID), f.ID)
		}
	}
	if err := s.CheckNewNames(c.base.Schema); err != nil {
		return err
	}
	c.next.SetSchema(s)
	c.dropUselessFiles()
	return c.dropOrphanedIndices()
}

// dropUselessFiles removes files without a column of the schema from all fragments.
func (c *change) dropUselessFiles() {
	live := c.fieldIDs()
	fragments := make([]*pb.Fragment, len(c.next.Fragments))
	for i, f := range c.next.Fragments {
		if files := filesWith(f.Files, live); len(files) < len(f.Files) {
			again := *f
			again.Files = files
			f = &again
		}
		fragments[i] = f
	}
	c.next.Fragments = fragments
}

// merge replaces the schema and the list of fragments: it adds columns, whose values are in
// new files of existing fragments, and may append fragments.
func (c *change) merge(op *pb.Merge) error {
	s, err := schema.FromFields(op.Schema, op.SchemaMetadata)
	if err != nil {
		return err
	}
	before := byID(c.base.Fragments)
	n, err := c.splitMerged(op.Fragments, before)
	if err != nil {
		return err
	}
	merged := slices.Clone(op.Fragments[:n])
	if err := checkMergedSchema(c.base, s, merged); err != nil {
		return err
	}
	if err := s.CheckNewNames(c.base.Schema); err != nil {
		return err
	}
	c.next.SetSchema(s)
	for i, f := range merged {
		was := before[f.ID]
		if err := c.uncover([]*pb.Fragment{f}, rewrittenFields(was, f)); err != nil {
			return err
		}
		if c.next.StableRowIDs() && !sameFiles(was, f) {
			again := *f
			c.stampChanged(&again)
			merged[i] = &again
		}
	}
	c.next.Fragments = merged
	if err := c.add(op.Fragments[n:]); err != nil {
		return err
	}
	return c.dropOrphanedIndices()
}

// splitMerged returns how many fragments of a merge already belong to the table. These must be all
// of the table's fragments, with their rows, and come first. Position decides, because a new
// fragment has id 0, like the table's first one.
func (c *change) splitMerged(fragments []*pb.Fragment, before map[uint64]*pb.Fragment) (int, error) {
	n := len(before)
	if len(fragments) < n {
		return 0, invalid("%d fragments are left of %d", len(fragments), n)
	}
	seen := map[uint64]bool{}
	for _, f := range fragments[:n] {
		was := before[f.ID]
		if was == nil || seen[f.ID] {
			return 0, invalid("fragment %d does not belong to the table, or is listed twice; list new fragments last", f.ID)
		}
		seen[f.ID] = true
		if f.PhysicalRows != was.PhysicalRows {
			return 0, invalid("fragment %d would have %d rows, not %d", f.ID, f.PhysicalRows, was.PhysicalRows)
		}
		if c.next.StableRowIDs() && f.RowIDs == nil {
			return 0, invalid("fragment %d would lose its row ids", f.ID)
		}
		if err := checkFiles(f); err != nil {
			return 0, err
		}
	}
	for _, f := range fragments[n:] {
		if f.RowIDs != nil {
			return 0, invalid("a new fragment lists row ids; a commit assigns them, so leave them out")
		}
	}
	return n, nil
}

// checkMergedSchema rejects a schema under which readers would misread existing files: a field id
// with another meaning or type, or new ids without values.
func checkMergedSchema(base *manifest.Manifest, s *schema.Schema, merged []*pb.Fragment) error {
	highest := base.MaxFieldID()
	for f := range s.All() {
		was := base.Schema.ByID(f.ID)
		switch {
		case was == nil && f.ID <= highest:
			return invalid("new field %s has the id %d; ids up to %d have been used", s.Path(f.ID), f.ID, highest)
		case was == nil:
			if old := fieldAt(base.Schema, s.Path(f.ID)); old != nil && !materialized(merged, f) {
				return invalid("field %s gets the id %d without values in every fragment", s.Path(f.ID), f.ID)
			}
		case was.ParentID != f.ParentID || siblingNamed(base.Schema, was, f.Name):
			return invalid("field id %d of %s is now %s", f.ID, base.Schema.Path(f.ID), s.Path(f.ID))
		case (was.LogicalType != f.LogicalType || was.Nullable != f.Nullable) && !rewrittenEverywhere(base, merged, f.ID):
			return invalid("field %s changes without being rewritten in every fragment", s.Path(f.ID))
		}
	}
	return nil
}

func fieldAt(s *schema.Schema, path string) *schema.Field {
	chain, err := s.Resolve(path)
	if err != nil {
		return nil
	}
	return chain[len(chain)-1]
}

// siblingNamed reports whether another field with the same parent as f has the name.
func siblingNamed(s *schema.Schema, f *schema.Field, name string) bool {
	beside := s.Fields
	if parent := s.ByID(f.ParentID); parent != nil {
		beside = parent.Children
	}
	return slices.ContainsFunc(beside, func(o *schema.Field) bool { return o.Name == name && o.ID != f.ID })
}

// materialized reports whether every fragment has a file with the field or a part of it.
func materialized(fragments []*pb.Fragment, field *schema.Field) bool {
	var ids []int32
	for f := range (&schema.Schema{Fields: []*schema.Field{field}}).All() {
		ids = append(ids, f.ID)
	}
	return !slices.ContainsFunc(fragments, func(f *pb.Fragment) bool {
		return !slices.ContainsFunc(f.Files, func(file pb.DataFile) bool {
			return slices.ContainsFunc(file.Fields, func(id int32) bool { return slices.Contains(ids, id) })
		})
	})
}

// rewrittenEverywhere reports whether every fragment stores the field in another file than
// before.
func rewrittenEverywhere(base *manifest.Manifest, merged []*pb.Fragment, id int32) bool {
	now := byID(merged)
	return !slices.ContainsFunc(base.Fragments, func(was *pb.Fragment) bool {
		path, ok := fieldPaths(now[was.ID])[id]
		return !ok || path == fieldPaths(was)[id]
	})
}

// fieldPaths returns the path of the file of each field of a fragment.
func fieldPaths(f *pb.Fragment) map[int32]string {
	paths := map[int32]string{}
	for i := range f.Files {
		for _, id := range f.Files[i].Fields {
			if id >= 0 {
				paths[id] = f.Files[i].Path
			}
		}
	}
	return paths
}

// rewrittenFields returns the fields that moved to other files of the fragment.
func rewrittenFields(was, now *pb.Fragment) []uint32 {
	if sameFiles(was, now) {
		return nil
	}
	var fields []uint32
	after := fieldPaths(now)
	for id, path := range fieldPaths(was) {
		if other, ok := after[id]; ok && other != path {
			fields = append(fields, uint32(id))
		}
	}
	return fields
}

// sameFiles reports whether two states of a fragment consist of the same files. It ignores
// recorded sizes, which some writers add later.
func sameFiles(a, b *pb.Fragment) bool {
	return slices.EqualFunc(a.Files, b.Files, func(x, y pb.DataFile) bool {
		y.SizeBytes = x.SizeBytes
		return x.Equal(&y)
	})
}

// replaceFiles gives new files for some columns to fragments.
func (c *change) replaceFiles(op *pb.DataReplacement) error {
	files := map[uint64]*pb.DataFile{}
	for i := range op.Replacements {
		r := &op.Replacements[i]
		if !slices.Equal(r.NewFile.Fields, op.Replacements[0].NewFile.Fields) {
			return invalid("the new files hold different fields")
		}
		if files[r.FragmentID] != nil {
			return invalid("fragment %d gets two files", r.FragmentID)
		}
		files[r.FragmentID] = &r.NewFile
	}
	live := c.fieldIDs()
	fragments := slices.Clone(c.next.Fragments)
	for i, f := range fragments {
		file := files[f.ID]
		if file == nil {
			continue
		}
		delete(files, f.ID)
		replaced, err := c.replaceFile(f, file, live)
		if err != nil {
			return err
		}
		fragments[i] = replaced
	}
	for id := range files {
		return invalid("there is no fragment %d for the new file", id)
	}
	c.next.Fragments = fragments
	return nil
}

// replaceFile adds a file to a fragment. It replaces a file with the same fields, or takes
// precedence over files that also hold other fields. If no file holds any of its fields, it is just
// added.
func (c *change) replaceFile(was *pb.Fragment, file *pb.DataFile, live map[int32]bool) (*pb.Fragment, error) {
	fresh := coveredFields(c.next.Schema, file)
	f := *was
	f.Files = slices.Clone(was.Files)
	covered := map[int32]bool{}
	inPlace := false
	for i := range f.Files {
		old := &f.Files[i]
		for id := range coveredFields(c.next.Schema, old) {
			covered[id] = true
		}
		if slices.Equal(old.Fields, file.Fields) && old.MajorVersion == file.MajorVersion && old.MinorVersion == file.MinorVersion {
			old.Path, old.SizeBytes, old.BaseID, inPlace = file.Path, file.SizeBytes, file.BaseID, true
		}
	}
	had := 0
	for id := range fresh {
		if covered[id] {
			had++
		}
	}
	switch {
	case had == 0:
		f.Files = append(f.Files, *file)
	case !inPlace && had == len(fresh):
		entomb(f.Files, fresh)
		f.Files = append(filesWith(f.Files, live), *file)
	case !inPlace:
		return nil, invalid("fragment %d has some of the fields of the new file %s and lacks others", f.ID, file.Path)
	}
	ids := make([]uint32, 0, len(fresh))
	for id := range fresh {
		ids = append(ids, uint32(id))
	}
	if err := c.uncover([]*pb.Fragment{was}, ids); err != nil {
		return nil, err
	}
	if c.next.StableRowIDs() {
		c.stampChanged(&f)
	}
	return &f, nil
}

// entomb replaces the ids of superseded fields in file entries by tombstones. It copies the lists,
// because other versions share them.
func entomb(files []pb.DataFile, fields map[int32]bool) {
	for i := range files {
		ids := slices.Clone(files[i].Fields)
		for j, id := range ids {
			if fields[id] {
				ids[j] = tombstone
			}
		}
		files[i].Fields = ids
	}
}

// coveredFields returns the fields of the schema that a file holds: its own, and the fields
// around them, which have no columns in files of version 2.1 and later.
func coveredFields(s *schema.Schema, file *pb.DataFile) map[int32]bool {
	ids := map[int32]bool{}
	for _, id := range file.Fields {
		if id < 0 {
			continue
		}
		ids[id] = true
		for f := s.ByID(id); f != nil; f = s.ByID(f.ParentID) {
			ids[f.ID] = true
		}
	}
	return ids
}
